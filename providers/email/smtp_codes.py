"""What SMTP replies mean: RFC 5321 reply codes and RFC 3463 enhanced codes, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from providers.base import SendResult, Verdict

RATE_LIMITED = Verdict.RATE_LIMITED
TRANSIENT = Verdict.TRANSIENT
BUSY_RECIPIENT = Verdict.BUSY_RECIPIENT
BAD_MESSAGE = Verdict.BAD_MESSAGE
BAD_RECIPIENT = Verdict.BAD_RECIPIENT
DEAD_ADDRESS = Verdict.DEAD_ADDRESS
ACCOUNT_FAULT = Verdict.ACCOUNT_FAULT

# Whatever enhanced code comes with these, they are about our credentials: Postfix
# sends 530 5.7.0 for a missing AUTH, which elsewhere is a policy refusal.
AUTHENTICATION_REPLIES = frozenset({432, 530, 534, 535, 538})

# Without an enhanced code that is listed below, any other 4xx is TRANSIENT and any
# other 5xx BAD_MESSAGE.
REPLIES: Mapping[int, Verdict] = {
    450: BUSY_RECIPIENT,  # the mailbox is not available
    521: BAD_RECIPIENT,  # the domain takes no mail
    550: BAD_RECIPIENT,
    551: BAD_RECIPIENT,
    553: BAD_RECIPIENT,
    556: BAD_RECIPIENT,  # the domain takes no mail
}

# Looked up by the whole code, then by class and subject ("5.7"). Class 4 means "try
# again" whatever its detail says (Postfix answers 450 4.1.1 while it verifies an
# address), except for the codes that say our account is at fault: trying again
# changes nothing about those.
ENHANCED: Mapping[str, Verdict] = {
    "5.1.0": BAD_RECIPIENT,
    "5.1.1": DEAD_ADDRESS,  # no such mailbox
    "5.1.2": BAD_RECIPIENT,  # no such domain
    "5.1.3": DEAD_ADDRESS,  # syntax
    "5.1.4": BAD_RECIPIENT,  # ambiguous
    "5.1.6": DEAD_ADDRESS,  # moved
    "5.1.7": ACCOUNT_FAULT,  # our sender's syntax
    "5.1.8": ACCOUNT_FAULT,  # our sender's system
    "5.1.10": DEAD_ADDRESS,  # the domain takes no mail
    "5.2.1": BAD_RECIPIENT,  # mailbox disabled
    "4.1": BUSY_RECIPIENT,
    "4.1.7": TRANSIENT,  # our sender
    "4.1.8": TRANSIENT,  # our sender
    "4.2": BUSY_RECIPIENT,
    "4.4.1": BUSY_RECIPIENT,  # their host does not answer
    "4.4.3": BUSY_RECIPIENT,  # nor their name server
    "4.4.4": BUSY_RECIPIENT,
    "5.2.2": BUSY_RECIPIENT,  # mailbox full
    "5.2.3": BAD_MESSAGE,  # too large
    "5.2.4": BUSY_RECIPIENT,  # a list did not expand
    "5.3.0": BAD_RECIPIENT,
    "5.3.1": BAD_RECIPIENT,
    "5.3.2": BAD_RECIPIENT,
    "5.3.3": BAD_RECIPIENT,
    "5.3.4": BAD_MESSAGE,  # too large
    "5.3.5": BAD_RECIPIENT,
    "5.4.1": BAD_RECIPIENT,
    "5.4.2": BAD_RECIPIENT,
    "5.4.3": BAD_RECIPIENT,
    "5.4.4": BAD_RECIPIENT,  # unroutable
    "5.4.5": BAD_RECIPIENT,
    "5.4.6": BAD_MESSAGE,  # loop
    "5.4.7": BAD_MESSAGE,  # the relay ran out of time
    "5.4.14": BAD_MESSAGE,  # loop
    "5.5": BAD_MESSAGE,  # protocol
    "5.6": BAD_MESSAGE,  # content
    "5.6.7": BAD_RECIPIENT,  # a non-ASCII address it cannot take
    "5.7": BAD_MESSAGE,  # policy; see _BLOCKED
    "5.7.15": TRANSIENT,  # priority too low
    "5.7.16": TRANSIENT,
    "5.7.30": ACCOUNT_FAULT,
    "5.7.31": ACCOUNT_FAULT,
    "4.7.28": RATE_LIMITED,
    "5.7.28": RATE_LIMITED,  # mail flood
    "4.7.29": ACCOUNT_FAULT,  # Gmail: TLS required
    "4.7.32": ACCOUNT_FAULT,  # Gmail: From is not aligned
    # Credentials and encryption (8 to 14), DKIM, SPF, DMARC, ARC, null MX (20 to 27).
    **{
        f"{mail_class}.7.{detail}": ACCOUNT_FAULT
        for mail_class in (4, 5)
        for detail in (*range(8, 15), *range(20, 28))
    },
    "5.7.29": ACCOUNT_FAULT,
}

GREYLISTED_FOR = timedelta(minutes=5)
_GREYLISTING_CODES = {"4.7.0", "4.7.1"}
_GREYLISTING = re.compile(r"gr[ae]y-?list", re.IGNORECASE)
# A policy refusal in these words is about our address or domain, not this message.
_BLOCKED = re.compile(r"\bblock|\bbanned\b|\b(black|deny)?listed\b", re.IGNORECASE)
_ENHANCED_CODE = re.compile(r"([245]\.\d{1,3}\.\d{1,3})(?!\d)")


def classify_reply(
    *, reply: int, text: str, before_recipient: bool = False
) -> SendResult:
    """Say what a reply of 400 to 599 means for the message.

    What is refused for good before a recipient was named (at the greeting, EHLO,
    AUTH or MAIL) says nothing about the message: it is the account's fault.
    """
    enhanced = _enhanced_code(reply, text)
    verdict = _verdict(reply, enhanced, text)
    if before_recipient and verdict in (BAD_MESSAGE, BAD_RECIPIENT, DEAD_ADDRESS):
        verdict = ACCOUNT_FAULT
    greylisted = verdict in (TRANSIENT, BUSY_RECIPIENT) and (
        enhanced in _GREYLISTING_CODES or _GREYLISTING.search(text)
    )
    if greylisted:
        verdict = BUSY_RECIPIENT
    return verdict.result(
        code=f"{reply} {enhanced}".strip(),
        retry_after=GREYLISTED_FOR if greylisted else None,
    )


def _enhanced_code(reply: int, text: str) -> str:
    found = _ENHANCED_CODE.match(text)
    # One of another class than the reply contradicts it: the reply is the protocol.
    if found is None or found[1][0] != str(reply)[0]:
        return ""
    return found[1]


def _verdict(reply: int, enhanced: str, text: str) -> Verdict:
    if reply in AUTHENTICATION_REPLIES:
        return ACCOUNT_FAULT
    verdict = ENHANCED.get(enhanced) or ENHANCED.get(enhanced.rpartition(".")[0])
    if verdict is None:
        return REPLIES.get(reply, TRANSIENT if reply < 500 else BAD_MESSAGE)
    if verdict is BAD_MESSAGE and enhanced.startswith("5.7.") and _BLOCKED.search(text):
        return ACCOUNT_FAULT
    return verdict
