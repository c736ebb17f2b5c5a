"""Services cancel while consumers claim."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.test import Client

from foundation.ids import parse_public_id
from tests.acme import Api, query
from tests.kafka import is_all_finished, wait_until
from tests.racing import HANDFUL, consumers, many_races, race, rounds, tell

ORDINARY = "an@example.com"
UNKNOWN_AT_FIRST = "timeout+1@simulate.example"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a cancellation was told about its one delivery."""

    notification_id: UUID
    result: str
    status: str


def cancel_each(api: Api, numbers: Sequence[int]) -> list[Told]:
    """Accept a handful, then cancel each of it."""
    mine = Api(Client(), api.headers)
    accepted = []
    for number in numbers:
        address = UNKNOWN_AT_FIRST if number % HANDFUL == 0 else ORDINARY
        recipient = {"user_id": "usr_x", "email": address}
        key = f"race-{number}"
        accepted.append(mine.accept(idempotency_key=key, recipient=recipient))
    return [cancel(mine, identifier) for identifier in reversed(accepted)]


def cancel(api: Api, identifier: str) -> Told:
    answer = api.cancel(identifier)
    assert answer.status_code in {200, 409}, answer.content
    (channel,) = answer.json()["channels"]
    assert (answer.status_code == 409) == (channel["result"] == "too_late")
    return Told(
        notification_id=parse_public_id("ntf", identifier),
        result=channel["result"],
        status=channel["status"],
    )


# Every attempt is counted here, and none is lost: the sandbox saw as many calls.
WHAT_BECAME = """
SELECT d.notification_id, d.status, d.maybe_sent, d.attempt_count,
       (SELECT count(*) FROM sandbox_message s WHERE s.delivery_id = d.id) AS calls
  FROM delivery d WHERE d.notification_id = ANY (%s)
"""


def is_true(told: Told, became: dict[str, Any]) -> bool:
    """Hold an answer against the row and the calls when all was over."""
    end, calls = (became["status"], bool(became["maybe_sent"])), int(became["calls"])
    if calls != became["attempt_count"]:
        return False
    match told.result, told.status:
        case "cancelled", "cancelled":
            return end == ("cancelled", False) and calls == 0
        case "stopped_outcome_unknown", "cancelled":
            return end == ("cancelled", True) and calls == 1
        case "too_late", "sending" | "sent":
            return end[0] == "sent" and calls == 1 + end[1]
    return False


@many_races
def test_every_cancel_is_answered_with_the_truth(
    api: Api, retry_soon: None, claim_by: str, races: int
) -> None:
    """F52, O-TIM-4, I5"""
    seen: Counter[str] = Counter()
    started = time.monotonic()

    with consumers():
        for numbers in rounds(races):
            answers = race(numbers, lambda handful: cancel_each(api, handful))
            wait_until(is_all_finished)

            rows = query(WHAT_BECAME, [told.notification_id for told in answers])
            became = {row["notification_id"]: row for row in rows}
            assert len(became) == len(rows) == len(numbers)
            for told in answers:
                assert is_true(told, became[told.notification_id]), (told, became)
            seen.update(f"{told.result}: {told.status}" for told in answers)

    took = time.monotonic() - started
    tell(f"{races:,} cancels against claims by {claim_by}, {took:.0f} s: {dict(seen)}")
    # Each side wins, and `sending` is a cancel that came upon a claim under way.
    assert seen["cancelled: cancelled"] >= races // 100
    assert seen["too_late: sending"] >= races // 100
    assert seen["stopped_outcome_unknown: cancelled"] >= races // 100
