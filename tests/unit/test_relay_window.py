"""How far the relay runs ahead of the consumers."""

from __future__ import annotations

from notifications.relay.window import LEAST, MOST, Window


def test_nothing_known_allows_the_least() -> None:
    assert Window().room == LEAST


def test_what_is_published_uses_up_the_room() -> None:
    window = Window()
    window.published(LEAST - 10)

    assert window.room == 10

    window.published(500)

    assert window.room == 0


def test_what_is_unclaimed_uses_up_the_room() -> None:
    window = Window()
    window.measured(LEAST - 1, at=1.0)

    assert window.room == 1


def test_a_lane_that_drains_fast_is_let_run_twenty_seconds_ahead() -> None:
    window = Window()
    for second in range(60):
        window.published(1_000)
        window.measured(1_500, at=float(second))

    assert 19_000 <= window.size <= 20_000


def test_no_rate_allows_more_than_the_most() -> None:
    window = Window()
    for second in range(60):
        window.published(100_000)
        window.measured(0, at=float(second))

    assert window.size == MOST


def test_a_lane_that_stands_still_is_held_to_the_least() -> None:
    window = Window()
    for second in range(30):
        window.published(1_000)
        window.measured(500, at=float(second))
    for second in range(30, 90):
        window.measured(500, at=float(second))

    assert window.size == LEAST


def test_an_empty_lane_forgets_no_rate_that_it_had() -> None:
    window = Window()
    for second in range(30):
        window.published(1_000)
        window.measured(0, at=float(second))
    known = window.size
    for second in range(30, 60):
        window.measured(0, at=float(second))

    assert window.size == known > LEAST
