"""What FCM answers to a message it is asked to send, as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from providers.base import SendResult, Verdict
from providers.http_codes import verdict_of_status

RATE_LIMITED = Verdict.RATE_LIMITED
TRANSIENT = Verdict.TRANSIENT
UNKNOWN = Verdict.UNKNOWN
BAD_MESSAGE = Verdict.BAD_MESSAGE
DEAD_TOKEN = Verdict.DEAD_TOKEN
ACCOUNT_FAULT = Verdict.ACCOUNT_FAULT

# By HTTP status and FcmError.errorCode or, where there is none that is listed, the
# status of google.rpc. Source:
# https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode
CODES: Mapping[tuple[int, str], Verdict] = {
    (400, "INVALID_ARGUMENT"): BAD_MESSAGE,  # DEAD_TOKEN if it is about the token
    (401, "UNAUTHENTICATED"): ACCOUNT_FAULT,
    # No or wrong APNs key or web push key in the project; the first is its old name.
    (401, "APNS_AUTH_ERROR"): ACCOUNT_FAULT,
    (401, "THIRD_PARTY_AUTH_ERROR"): ACCOUNT_FAULT,
    (403, "PERMISSION_DENIED"): ACCOUNT_FAULT,
    (403, "SENDER_ID_MISMATCH"): DEAD_TOKEN,  # the token is another project's
    # Without an FcmError it is the project that is not there, and no token is dead.
    (404, "NOT_FOUND"): ACCOUNT_FAULT,
    (404, "UNREGISTERED"): DEAD_TOKEN,
    (429, "QUOTA_EXCEEDED"): RATE_LIMITED,
    (429, "RESOURCE_EXHAUSTED"): RATE_LIMITED,
    (500, "INTERNAL"): UNKNOWN,
    (500, "UNSPECIFIED_ERROR"): UNKNOWN,
    (503, "UNAVAILABLE"): TRANSIENT,  # overloaded: documented as not processed
}

# Quotas are counted by the minute; whoever comes back at once to an overloaded FCM
# risks to be shut out.
QUOTA_QUIET = timedelta(minutes=1)
SHORTEST_QUIET = timedelta(seconds=10)
_WORD = re.compile(r"[A-Z][A-Z_]{1,63}")


def classify_error(
    *, status: int, body: Mapping[str, Any], retry_after: timedelta | None
) -> SendResult:
    """Say what an answer other than 2xx means for the message."""
    error = body.get("error")
    error = error if isinstance(error, dict) else {}
    words = [word for word in _words(error) if (status, word) in CODES]
    if not words:
        return _classify_status(status, next(_words(error), ""), retry_after)
    verdict = CODES[status, words[0]]
    if verdict is BAD_MESSAGE and is_about_token(error):
        verdict = DEAD_TOKEN
    return verdict.result(code=words[0], retry_after=_quiet(verdict, retry_after))


def is_about_token(error: Mapping[str, Any]) -> bool:
    """Tell a malformed token from a malformed message, both INVALID_ARGUMENT.

    What would be wrong with the message is checked before the call; even so the
    violations have to name the token and nothing else. Without any it is said in the
    text only: "The registration token is not a valid FCM registration token".
    """
    violations = [
        violation.get("field") if isinstance(violation, dict) else None
        for detail in _details(error, "BadRequest")
        for violation in _listed(detail.get("fieldViolations"))
    ]
    if violations:
        return all(field == "message.token" for field in violations)
    by_fcm = any(True for _ in _details(error, "FcmError"))
    return by_fcm and "registration token" in str(error.get("message")).lower()


def _classify_status(
    status: int, word: str, retry_after: timedelta | None
) -> SendResult:
    code = f"http_{status} {word}".strip()
    # Without Google's words it may come from something in between.
    verdict = (
        UNKNOWN if status == 429 else verdict_of_status(status, retry_after=retry_after)
    )
    return verdict.result(code=code, retry_after=retry_after)


def _quiet(verdict: Verdict, retry_after: timedelta | None) -> timedelta | None:
    if verdict is RATE_LIMITED and retry_after is None:
        return QUOTA_QUIET
    if verdict in (RATE_LIMITED, TRANSIENT):
        return max(retry_after or SHORTEST_QUIET, SHORTEST_QUIET)
    return retry_after


def _words(error: Mapping[str, Any]) -> Iterator[str]:
    """Walk what the error calls itself, the most telling first."""
    details = [detail.get("errorCode") for detail in _details(error, "FcmError")]
    for word in (*details, error.get("status")):
        if isinstance(word, str) and _WORD.fullmatch(word):
            yield word


def _details(error: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    for detail in _listed(error.get("details")):
        if isinstance(detail, dict) and str(detail.get("@type")).endswith(f".{kind}"):
            yield detail


def _listed(found: object) -> list[Any]:
    return found if isinstance(found, list) else []
