"""The same key from many threads at one moment, thousands of times."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.test import Client
from pytest_django.fixtures import Settings

from foundation.ids import parse_public_id
from providers.channels import Channel
from tests.acme import Api, query
from tests.racing import many_races, rounds, tell, together

CHANNELS = ["email", "sms", "in_app"]
CHANNEL_NUMBERS = [Channel.from_key(key).value for key in CHANNELS]
# Of so many threads with one key, some bring another body.
THREADS = 9
OTHERS = 3
OTHER_BODY = {"amount": "125.01", "currency": "USD", "due_date": "2026-12-20"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """One submit: its key and body, its answer, and when it was under way."""

    key: str
    is_other: bool
    answer: Any
    started: float
    ended: float

    @property
    def notification_id(self) -> UUID:
        return parse_public_id("ntf", self.answer.json()["notification_id"])

    @property
    def is_first(self) -> bool:
        replayed = "Idempotent-Replayed" in self.answer.headers
        return self.answer.status_code == 202 and not replayed


def submit(api: Api, key: str, *, is_other: bool) -> Submitted:
    changes = {"variables": OTHER_BODY} if is_other else {}
    started = time.monotonic()
    answer = api.submit(idempotency_key=key, channels=CHANNELS, **changes)
    return Submitted(
        key=key,
        is_other=is_other,
        answer=answer,
        started=started,
        ended=time.monotonic(),
    )


def submit_all(api: Api, keys: list[str]) -> list[Submitted]:
    """Submit every key from all threads, which wait for each other before each."""
    start = threading.Barrier(THREADS)

    def run(*, is_other: bool) -> list[Submitted]:
        mine, done = Api(Client(), api.headers), []
        for key in keys:
            start.wait(timeout=30)
            done.append(submit(mine, key, is_other=is_other))
        return done

    return together(
        [partial(run, is_other=number < OTHERS) for number in range(THREADS)]
    )


WRITTEN = """
SELECT k.key, k.resource,
       (SELECT array_agg(d.channel ORDER BY d.channel) FROM delivery d
         WHERE d.notification_id = k.resource) AS channels,
       (SELECT array_agg(d.channel ORDER BY d.channel)
          FROM delivery d JOIN outbox o ON o.delivery_id = d.id
         WHERE d.notification_id = k.resource) AS queued
  FROM idempotency_key k WHERE k.key = ANY (%s)
"""
ALL_THAT_IS = """
SELECT (SELECT count(*) FROM notification) AS notifications,
       (SELECT count(*) FROM delivery) AS deliveries,
       (SELECT count(*) FROM outbox) AS queued
"""


def check_key(submits: Sequence[Submitted]) -> Submitted:
    """Hold the answers of one key against each other; return the first one's."""
    (first,) = [each for each in submits if each.is_first]
    for each in submits:
        if each.is_other == first.is_other:
            assert each.answer.status_code == 202, each.answer.content
            assert each.answer.content == first.answer.content
        else:
            assert each.answer.status_code == 409, each.answer.content
            assert each.answer.json()["type"] == "/problems/idempotency-key-reused"
    return first


@many_races
def test_every_duplicate_gets_the_first_answer_and_every_other_body_a_conflict(
    api: Api, races: int, settings: Settings
) -> None:
    """F02, F03, I3, O-REL-3"""
    # All of them are to one number.
    settings.SMS_A_DAY = 0
    seen: Counter[str] = Counter()
    started = time.monotonic()

    for numbers in rounds(races):
        keys = [f"race-{number}" for number in numbers[:: THREADS - 1]]
        submits = submit_all(api, keys)

        written = {row.pop("key"): row for row in query(WRITTEN, keys)}
        assert len(written) == len(keys)
        for key in keys:
            same_key = [each for each in submits if each.key == key]
            first = check_key(same_key)
            assert written[key] == {
                "resource": first.notification_id,
                "channels": CHANNEL_NUMBERS,
                "queued": CHANNEL_NUMBERS,
            }
            seen.update(how_they_ended(first, same_key))

    (there_is,) = query(ALL_THAT_IS)
    number = races // (THREADS - 1)
    assert there_is == {
        "notifications": number,
        "deliveries": number * len(CHANNELS),
        "queued": number * len(CHANNELS),
    }
    took = time.monotonic() - started
    tell(f"{races:,} duplicates of {number:,} keys, {took:.0f} s: {dict(seen)}")
    assert seen["replayed"] + seen["refused"] == races
    assert min(seen["won by the other body"], seen["won by the usual body"]) > 0
    assert seen["under way together with the first"] >= races // 4


def how_they_ended(first: Submitted, submits: Sequence[Submitted]) -> Iterator[str]:
    body = "other" if first.is_other else "usual"
    yield f"won by the {body} body"
    for each in submits:
        if each is first:
            continue
        yield "replayed" if each.answer.status_code == 202 else "refused"
        if each.started < first.ended:
            yield "under way together with the first"
