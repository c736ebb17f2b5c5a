"""The ledger of consents: who said what, when, where, and to which words.

Append-only. A person is there by a keyed hash of their user id, so that the ledger
outlives an erasure and can still be read for whoever asks with the id at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain

from foundation.ids import new_id
from foundation.statements import Cursor
from preferences.models import ConsentEvent
from providers.channels import Channel
from tenants.data_keys import blind_index, seal


class Change(StrEnum):
    """What became of a consent."""

    GIVEN = "given"
    WITHDRAWN = "withdrawn"


class Source(StrEnum):
    """Where a person, or somebody for them, said so."""

    API = "api"
    UNSUBSCRIBE_LINK = "unsubscribe_link"
    PREFERENCE_PAGE = "preference_page"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """A change for one channel (None: all) and one category ("": all)."""

    channel: Channel | None
    category: str
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Who said so and where; `wording` names the words that they were shown, `evidence`
    is kept sealed."""

    tenant_id: int
    user_id: str
    source: Source
    actor: str
    wording: str = ""
    evidence: str = field(default="", repr=False)


_RECORD = """
INSERT INTO consent_event
       (id, tenant_id, person_key, channel, category, change, source, wording, actor,
        evidence)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""

Choices = Mapping[str, Mapping[str, bool]]


def record_consents(
    cursor: Cursor, statement: Statement, consents: Sequence[Consent]
) -> None:
    """Append what was said, in the caller's transaction."""
    if not consents:
        return
    person_key = person_key_of(statement.tenant_id, statement.user_id)
    cursor.executemany(
        _RECORD, [_row(statement, person_key, consent) for consent in consents]
    )


def person_key_of(tenant_id: int, user_id: str) -> bytes:
    """Return the hash by which the ledger knows a person."""
    return blind_index(tenant_id=tenant_id, purpose="person", value=user_id)


def list_consents(*, tenant_id: int, user_id: str, limit: int) -> list[ConsentEvent]:
    """Return what a person said, the latest first."""
    return list(
        ConsentEvent.objects.filter(
            tenant_id=tenant_id, person_key=person_key_of(tenant_id, user_id)
        ).order_by("-id")[:limit]
    )


def changed_opt_outs(before: Sequence[str], after: Sequence[str]) -> list[Consent]:
    """Tell which channels were closed altogether, and which opened again."""
    return [
        Consent(
            channel=Channel.from_key(key),
            category="",
            change=Change.WITHDRAWN if key in after else Change.GIVEN,
        )
        for key in sorted(set(before) ^ set(after))
    ]


def changed_choices(before: Choices, after: Choices) -> list[Consent]:
    """Tell of each category and channel what was chosen otherwise.

    A wish that is taken back is a withdrawal; a refusal that is taken back is no
    consent: from then on it is as the tenant has it.
    """
    places = sorted(set(chain(_places(before), _places(after))))
    changed = []
    for category, channel in places:
        was = before.get(category, {}).get(channel)
        now = after.get(category, {}).get(channel)
        if was is now or (was is False and now is None):
            continue
        changed.append(
            Consent(
                channel=Channel.from_key(channel),
                category=category,
                change=Change.GIVEN if now else Change.WITHDRAWN,
            )
        )
    return changed


def _places(choices: Choices) -> list[tuple[str, str]]:
    return [(category, channel) for category, by in choices.items() for channel in by]


def _row(
    statement: Statement, person_key: bytes, consent: Consent
) -> tuple[object, ...]:
    event_id = new_id()
    evidence = None
    if statement.evidence:
        evidence = seal(
            tenant_id=statement.tenant_id,
            table="consent_event",
            row=event_id,
            plaintext=statement.evidence.encode(),
        )
    return (
        event_id,
        statement.tenant_id,
        person_key,
        None if consent.channel is None else consent.channel.value,
        consent.category,
        consent.change.value,
        statement.source.value,
        statement.wording,
        statement.actor,
        evidence,
    )
