"""What an adapter is given, what it answers, and what it says about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from providers.channels import Channel
from tenants.categories import Priority

if TYPE_CHECKING:
    from foundation.statements import Cursor

# The only hosts to which a secret may go unencrypted.
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class Outcome(StrEnum):
    """What became of one attempt."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    RATE_LIMITED = "rate_limited"
    TRANSIENT_ERROR = "transient_error"
    PERMANENT_ERROR = "permanent_error"
    UNKNOWN = "unknown"


# What speaks against whoever was called, unless it is about the recipient.
FAILED = frozenset({Outcome.TRANSIENT_ERROR, Outcome.UNKNOWN})


class Scope(StrEnum):
    """What an outcome is about, and so what else will meet it again."""

    MESSAGE = "message"
    RECIPIENT = "recipient"
    # Nothing will ever arrive at it: no such mailbox, no mobile number.
    ADDRESS = "address"
    TOKEN = "token"  # noqa: S105 -- a push token that is dead
    OPT_OUT = "opt_out"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendResult:
    """One attempt's outcome; `code` is the provider's word, without personal data."""

    outcome: Outcome
    scope: Scope = Scope.MESSAGE
    code: str = ""
    retry_after: timedelta | None = None
    provider_message_id: str = ""
    # False where the message was held back and the provider knows nothing of it.
    is_called: bool = True
    # The provider takes the message for pumped traffic (tenants.pumping_alarms).
    is_pumping_block: bool = False
    # What a LocalAdapter wants written together with the settlement.
    item: object | None = None

    @property
    def is_account_fault(self) -> bool:
        """Tell whether every other message would be refused as well."""
        is_permanent = self.outcome is Outcome.PERMANENT_ERROR
        return is_permanent and self.scope is Scope.ACCOUNT


class Finding(StrEnum):
    """What a provider says of a message whose sending had no answer."""

    FOUND = "found"
    # Conclusive: it has not got it, and will not have it later.
    NOT_FOUND = "not_found"
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The answer of one look-up."""

    finding: Finding
    provider_message_id: str = ""
    # What kept the provider from telling; it counts against its health like a call's.
    trouble: SendResult | None = None

    @property
    def code(self) -> str:
        return self.trouble.code if self.trouble else ""

    @property
    def is_called(self) -> bool:
        return self.trouble is None or self.trouble.is_called


def cannot_tell(trouble: SendResult | None = None) -> Found:
    """Return the answer of who does not know, perhaps because of some trouble."""
    return Found(finding=Finding.CANNOT_TELL, trouble=trouble)


class Verdict(Enum):
    """The outcomes that mean something; the code tables of the adapters hold these."""

    ACCEPTED = (Outcome.ACCEPTED, Scope.MESSAGE)
    RATE_LIMITED = (Outcome.RATE_LIMITED, Scope.MESSAGE)
    # Provably not accepted, and may work later.
    TRANSIENT = (Outcome.TRANSIENT_ERROR, Scope.MESSAGE)
    # The same, for a reason of this address: a full mailbox, greylisting.
    BUSY_RECIPIENT = (Outcome.TRANSIENT_ERROR, Scope.RECIPIENT)
    # The request left us and nothing proves what became of it.
    UNKNOWN = (Outcome.UNKNOWN, Scope.MESSAGE)
    BAD_MESSAGE = (Outcome.PERMANENT_ERROR, Scope.MESSAGE)
    BAD_RECIPIENT = (Outcome.REJECTED, Scope.RECIPIENT)
    DEAD_ADDRESS = (Outcome.REJECTED, Scope.ADDRESS)
    DEAD_TOKEN = (Outcome.REJECTED, Scope.TOKEN)
    OPTED_OUT = (Outcome.REJECTED, Scope.OPT_OUT)
    # Credentials, sender, configuration: not this message's fault.
    ACCOUNT_FAULT = (Outcome.PERMANENT_ERROR, Scope.ACCOUNT)

    def result(
        self,
        *,
        code: str = "",
        retry_after: timedelta | None = None,
        provider_message_id: str = "",
        item: object | None = None,
    ) -> SendResult:
        """Return this verdict as the result of an attempt."""
        outcome, scope = self.value
        return SendResult(
            outcome=outcome,
            scope=scope,
            code=code,
            retry_after=retry_after,
            provider_message_id=provider_message_id,
            item=item,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundMessage:
    """One rendered delivery on its way to one address."""

    delivery_id: UUID
    notification_id: UUID
    tenant_id: int
    user_id: str
    channel: Channel
    priority: Priority
    category: str
    address: str
    parts: Mapping[str, str]
    locale: str
    attempt: int
    expires_at: datetime | None
    is_test: bool
    address_id: UUID | None
    # Where one click ends such messages; "" for what nobody may be unsubscribed from.
    unsubscribe_url: str = ""


class Adapter(ABC):
    """One account at one provider; the OPTIONS of the settings are its arguments.

    Made on the event loop that uses it, so that it may hold connections; made by the
    system checks too, so that its constructor opens none. Whatever a provider can
    answer is a SendResult; an exception is a bug.
    """

    channels: ClassVar[frozenset[Channel]]
    # For how long after the first request the provider drops another one that carries
    # the same delivery id; None where it does not. IDEMPOTENCY_WINDOW of an account
    # says otherwise.
    idempotency_window: ClassVar[timedelta | None] = None
    # The adapter's own limit on all that comes before the last byte of the body: a
    # hang up to there is transient. The account's TIMEOUT, after which the outcome
    # is unknown, has to be longer.
    seconds_before_body: float = 0.0
    # Whether what it says of addresses is made up, and nothing to be remembered.
    is_simulated: ClassVar[bool] = False

    @abstractmethod
    async def send(self, message: OutboundMessage) -> SendResult:
        """Make one attempt."""

    async def aclose(self) -> None:  # noqa: B027 -- not every adapter holds something
        """Let go of connections; nothing is sent afterwards."""


class SearchableAdapter(Adapter):
    """An adapter that can ask its provider what became of a message."""

    # For how long after a call what it created may be missing from what `find` sees.
    seconds_until_listed: ClassVar[float] = 0.0

    @abstractmethod
    async def find(self, message: OutboundMessage, *, since: datetime) -> Found:
        """Look for a message that was first sent at `since`, and send nothing."""


class LocalAdapter(Adapter):
    """An adapter from which nothing leaves the process.

    Its result carries an item, which settle persists in the transaction that records
    the outcome: the outcome is never unknown.
    """

    @abstractmethod
    def persist(self, cursor: Cursor, items: Sequence[object]) -> None:
        """Write the items of the attempts that were accepted."""
