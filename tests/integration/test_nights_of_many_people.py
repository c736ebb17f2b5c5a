"""I4: whatever is asked for and whenever, nobody is woken but by codes and alerts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from random import Random
from typing import Any

import pytest

from tests.acme import Api, query
from tests.database_clock import Clock
from tests.sleepers import SALE, choose, register

HOUR = timedelta(hours=1)
STEPS = 30
ZONES = [
    "UTC",
    "Asia/Ho_Chi_Minh",
    "America/New_York",
    "Europe/London",
    "Australia/Lord_Howe",
    "Africa/Cairo",
    "Asia/Kathmandu",
]
MESSAGES: Mapping[str, Mapping[str, Any]] = {
    "advertisement": {**SALE, "channels": ["email"]},
    "urgent advertisement": {**SALE, "priority": "high"},
    "invoice": {"channels": ["email"]},
    "alert": {"channels": ["push"], "priority": "high"},
    "code": {
        "template": {"name": "login_code"},
        "variables": {"code": "1"},
        "channels": ["email"],
    },
}
MAY_WAKE = {"alert", "code"}
# The database reads the wall clock: another judge than the rule that is tested.
CALLS = """
SELECT s.id, n.user_id, n.reference, s.created_at,
       (s.created_at AT TIME ZONE %s)::time AS shown
  FROM sandbox_message s JOIN notification n ON n.id = s.notification_id
 WHERE n.user_id = %s
"""


@dataclass
class Person:
    """Somebody who lives somewhere and wants, for now, to be left alone at times."""

    user_id: str
    zone: str
    start: time | None = None
    end: time | None = None

    def is_asleep(self, shown: time) -> bool:
        if self.start is None or self.end is None:
            return False
        if self.start < self.end:
            return self.start <= shown < self.end
        return not self.end <= shown < self.start


def half_hour(number: int) -> time:
    return time(number // 2 % 24, number % 2 * 30)


@dataclass
class World:
    """People, what they are sent and how they sleep, all of it by chance."""

    api: Api
    chance: Random
    people: list[Person]
    submitted: list[str] = field(default_factory=list)
    seen: set[Any] = field(default_factory=set)
    woken_by: set[str] = field(default_factory=set)

    def change_hours(self, person: Person) -> None:
        begin, length = self.chance.randrange(48), self.chance.randint(1, 40)
        person.start, person.end = half_hour(begin), half_hour(begin + length)
        hours = {"start": f"{person.start:%H:%M}", "end": f"{person.end:%H:%M}"}
        choose(self.api, hours, user_id=person.user_id)

    def settle_down(self, person: Person) -> None:
        register(self.api, zone=person.zone, user_id=person.user_id)
        self.change_hours(person)

    def go_on(self, now: datetime) -> None:
        """Send something to two of them; now and then one changes their mind."""
        for person in self.chance.sample(self.people, 2):
            self.submit(person, now)
        if self.chance.random() < 0.3:
            self.change_hours(self.chance.choice(self.people))
        if self.chance.random() < 0.2:
            person = self.chance.choice(self.people)
            person.zone = self.chance.choice(ZONES)
            self.settle_down(person)

    def submit(self, person: Person, now: datetime) -> None:
        kind = self.chance.choice(list(MESSAGES))
        behaviour = self.chance.choice(["accept", "transient+1", "rate-limited+2"])
        ahead = self.chance.choice([None, None, 10])
        recipient = {
            "user_id": person.user_id,
            "email": f"{behaviour}@simulate.example",
        }
        accepted = self.api.accept(
            **{
                **MESSAGES[kind],
                "recipient": recipient,
                "reference": kind,
                "idempotency_key": f"night:{len(self.submitted)}",
                "send_at": ahead and (now + ahead * HOUR).isoformat(),
            }
        )
        self.submitted.append(accepted)

    def check(self) -> None:
        """Look at the calls since the last look, by what holds for each person now."""
        for person in self.people:
            for call in query(CALLS, person.zone, person.user_id):
                if call["id"] in self.seen:
                    continue
                self.seen.add(call["id"])
                if person.is_asleep(call["shown"]):
                    assert call["reference"] in MAY_WAKE, (person, call)
                    self.woken_by.add(call["reference"])


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "first_day",
    [datetime(2027, 3, 13, 12, tzinfo=UTC), datetime(2026, 10, 31, 12, tzinfo=UTC)],
    ids=["clocks forward in New York", "clocks back in New York"],
)
def test_nobody_is_woken_but_by_codes_and_alerts(
    awake: Api,
    consume: Callable[[], None],
    clock: Clock,
    first_day: datetime,
    seed: int,
) -> None:
    clock.stop_at(first_day)
    people = [Person(f"usr_{number}", zone) for number, zone in enumerate(ZONES)]
    world = World(awake, Random(seed), people)
    for person in people:
        world.settle_down(person)

    for _ in range(STEPS):
        world.go_on(clock.now())
        clock.advance(world.chance.choice([HOUR / 60, HOUR / 2, HOUR, 3 * HOUR]))
        consume()
        world.check()
    for _ in range(36):
        clock.advance(2 * HOUR)
        consume()
        world.check()

    assert world.woken_by == MAY_WAKE
    check_all_was_sent_once(world)
    assert put_off_by() == ["service", "worker"]


def check_all_was_sent_once(world: World) -> None:
    """A code may have expired before it was retried; nothing else may."""
    ends = query(
        "SELECT d.status, d.category, count(*) FILTER (WHERE s.accepted) AS got"
        "  FROM delivery d LEFT JOIN sandbox_message s ON s.delivery_id = d.id"
        " GROUP BY d.id"
    )
    assert len(ends) == len(world.submitted)
    for end in ends:
        if end["category"] != "otp":
            assert (end["status"], end["got"]) == ("sent", 1)
    assert query("SELECT * FROM outbox") == []


def put_off_by() -> list[str]:
    """Return who found that something falls into quiet hours."""
    rows = query(
        "SELECT DISTINCT split_part(actor, ':', 1) AS actor FROM audit_event"
        " WHERE reason = 'quiet_hours' ORDER BY 1"
    )
    return [row["actor"] for row in rows]
