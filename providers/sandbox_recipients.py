"""Addresses that tell the sandbox how to behave; docs/sandbox.md lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from providers.channels import Channel


class Behaviour(StrEnum):
    """What a test recipient asks for."""

    ACCEPT = "accept"
    TRANSIENT = "transient"
    RATE_LIMITED = "rate-limited"
    PERMANENT = "permanent"
    DEAD_TOKEN = "dead-token"  # noqa: S105 -- a word in an address
    BAD_MESSAGE = "bad-message"
    ACCOUNT_FAULT = "account-fault"
    TIMEOUT = "timeout"
    OPTED_OUT = "opted-out"
    SLOW = "slow"


@dataclass(frozen=True, slots=True)
class Script:
    """A behaviour, and how many times (or, for SLOW, how many seconds)."""

    behaviour: Behaviour
    count: int = 1


_WORDS = "|".join(Behaviour)
_PATTERNS = {
    Channel.EMAIL: re.compile(rf"({_WORDS})(?:\+(\d{{1,3}}))?@simulate\.example"),
    Channel.PUSH: re.compile(rf"sandbox-({_WORDS})(?:-(\d{{1,3}}))?"),
    Channel.IN_APP: re.compile(rf"simulate-({_WORDS})(?:-(\d{{1,3}}))?"),
}
# +1 202 555 01xy, numbers that belong to nobody: x is the behaviour, y the count.
_PHONE = re.compile(r"\+120255501(\d)(\d)")
_PHONE_DIGITS = {
    "0": Behaviour.ACCEPT,
    "1": Behaviour.TRANSIENT,
    "2": Behaviour.RATE_LIMITED,
    "3": Behaviour.PERMANENT,
    "4": Behaviour.BAD_MESSAGE,
    "5": Behaviour.ACCOUNT_FAULT,
    "6": Behaviour.TIMEOUT,
    "7": Behaviour.OPTED_OUT,
    "8": Behaviour.SLOW,
}


def read_script(*, channel: Channel, address: str, user_id: str) -> Script | None:
    """Return what the recipient asks for; None for an ordinary one."""
    if channel is Channel.SMS:
        return _read_phone(address)
    recipient = user_id if channel is Channel.IN_APP else address
    found = _PATTERNS[channel].fullmatch(recipient)
    if found is None:
        return None
    return Script(Behaviour(found[1]), int(found[2] or 1))


def _read_phone(address: str) -> Script | None:
    found = _PHONE.fullmatch(address)
    if found is None or found[1] not in _PHONE_DIGITS:
        return None
    return Script(_PHONE_DIGITS[found[1]], int(found[2]))
