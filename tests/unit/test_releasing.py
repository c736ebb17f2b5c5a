from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from preferences.releasing import release_at

EIGHT = datetime(2026, 8, 20, 1, tzinfo=UTC)
HALF_AN_HOUR = timedelta(minutes=30)


def released(user_id: str, expires_at: datetime | None = None) -> datetime:
    return release_at(
        EIGHT, person=(1, user_id), spread=HALF_AN_HOUR, expires_at=expires_at
    )


def test_a_thousand_people_are_spread_evenly_over_the_half_hour() -> None:
    minutes = [
        (released(f"usr_{n}") - EIGHT) / timedelta(minutes=1) for n in range(1000)
    ]

    assert all(0 <= each < 30 for each in minutes)
    for first in range(0, 30, 5):
        assert 120 < sum(first <= each < first + 5 for each in minutes) < 220


def test_all_of_a_person_comes_at_one_moment() -> None:
    assert released("usr_1") == released("usr_1")


@pytest.mark.parametrize("left", [timedelta(0), timedelta(minutes=1), HALF_AN_HOUR])
def test_what_expires_meanwhile_goes_out_in_time(left: timedelta) -> None:
    for number in range(50):
        due_at = released(f"usr_{number}", EIGHT + left)
        assert EIGHT <= due_at <= EIGHT + left / 2


def test_without_a_spread_all_is_due_at_the_end() -> None:
    due_at = release_at(
        EIGHT, person=(1, "usr_1"), spread=timedelta(0), expires_at=None
    )

    assert due_at == EIGHT
