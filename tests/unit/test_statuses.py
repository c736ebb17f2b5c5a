"""The derived state of a notification, and the page that draws the states."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.statuses import (
    FINISHED,
    UNFINISHED,
    DeliveryStatus,
    NotificationState,
    notification_state,
)
from notifications.transitions import ARROWS

S = DeliveryStatus
PAGE = (Path(__file__).parents[2] / "docs" / "delivery-states.md").read_text()
some_statuses = st.sets(st.sampled_from(DeliveryStatus), min_size=1)


@pytest.mark.parametrize(
    ("statuses", "state"),
    [
        ([S.SUPPRESSED], NotificationState.SUPPRESSED),
        ([S.SENT, S.SUPPRESSED], NotificationState.COMPLETED),
        ([S.SENT, S.FAILED], NotificationState.PARTLY_FAILED),
        ([S.DELIVERED, S.UNDELIVERED], NotificationState.PARTLY_FAILED),
        ([S.DEAD], NotificationState.FAILED),
        ([S.SENT, S.PARKED], NotificationState.IN_PROGRESS),
        ([S.CANCELLED, S.EXPIRED], NotificationState.EXPIRED),
        ([S.CANCELLED, S.SUPPRESSED], NotificationState.CANCELLED),
        ([S.SENT, S.CANCELLED], NotificationState.COMPLETED),
    ],
)
def test_statuses_add_up_to_the_state(statuses, state):
    assert notification_state(statuses, untouched=False, in_future=False) is state


def test_a_waiting_notification_is_scheduled_until_its_date():
    waiting = [S.PENDING, S.SUPPRESSED]

    assert (
        notification_state(waiting, untouched=True, in_future=True)
        is NotificationState.SCHEDULED
    )
    assert (
        notification_state(waiting, untouched=True, in_future=False)
        is NotificationState.ACCEPTED
    )
    assert (
        notification_state(waiting, untouched=False, in_future=True)
        is NotificationState.IN_PROGRESS
    )


@given(some_statuses, st.booleans(), st.booleans())
def test_a_notification_is_open_exactly_while_a_delivery_is_unfinished(
    statuses, untouched, in_future
):
    state = notification_state(statuses, untouched=untouched, in_future=in_future)

    is_open = state in {
        NotificationState.SCHEDULED,
        NotificationState.ACCEPTED,
        NotificationState.IN_PROGRESS,
    }
    assert is_open == bool(statuses & UNFINISHED)


@given(some_statuses)
def test_a_failure_is_never_called_completed(statuses):
    state = notification_state(statuses, untouched=False, in_future=False)

    if statuses & {S.FAILED, S.DEAD, S.UNDELIVERED}:
        assert state is not NotificationState.COMPLETED


def test_the_page_draws_exactly_the_arrows():
    drawn = {
        (source, target, verb)
        for source, target, verb in re.findall(
            r"^ +(\w+) --> (\w+): (\w+)", PAGE, re.MULTILINE
        )
    }
    arrows = set(
        chain.from_iterable(
            ((source, target, verb) for source in sources for target in targets)
            for verb, (sources, targets) in ARROWS.items()
        )
    )
    assert drawn == {(str(s), str(t), v) for s, t, v in arrows}


def test_the_page_says_of_every_status_whether_it_is_finished():
    rows = dict(
        re.findall(r"^\| (\w+) \| (yes|no) \| (?:yes|no) \|", PAGE, re.MULTILINE)
    )

    assert rows == {status.value: "yes" if status in FINISHED else "no" for status in S}


def test_the_page_lists_every_state_of_a_notification():
    section = PAGE.split("## The state of a notification")[1].split("## ")[0]
    listed = re.findall(r"^\| (\w+) \|", section, re.MULTILINE)[1:]

    assert listed == [state.value for state in NotificationState]


def test_no_arrow_leaves_a_finished_state_but_those_of_a_dead_one():
    leaving = {
        (verb, status)
        for verb, (sources, _) in ARROWS.items()
        for status in sources & FINISHED
    }
    assert leaving == {("revive", S.DEAD), ("cancel", S.DEAD)}
