"""The window bounds what a consumer holds, and keeps a part of it for HIGH."""

from __future__ import annotations

from datetime import timedelta

import pytest

from notifications.dispatch.window import Window
from notifications.outbox import LANES, Lane
from notifications.transport.base import Subscription
from notifications.transport.sharing import Sharing
from providers.channels import Channel
from tenants.categories import Priority

HIGH, NORMAL, LOW = Priority
EMAIL, SMS = Channel.EMAIL, Channel.SMS


def window(size=100, *, channels=tuple(Channel), priorities=tuple(Priority)):
    return Window(size, subscription=subscription(channels, priorities))


def subscription(channels, priorities):
    return Subscription(
        channels=channels, priorities=priorities, lease=timedelta(seconds=60)
    )


def fill(holder, lane, number):
    for _ in range(number):
        holder.take(lane)


def taken_by(sharing, room, due):
    """Let every lane take what is due of it; return how many each took."""
    took = {}

    def take(lane, most):
        took[lane] = min(due.get(lane, 0), most)
        return took[lane]

    sharing.divide(room=room, take=take)
    return {lane: number for lane, number in took.items() if number}


def test_low_that_is_due_for_ever_leaves_a_fifth_to_high():
    holder, everything = window(), subscription(tuple(Channel), tuple(Priority))
    sharing, due = Sharing(everything), dict.fromkeys(LANES[4:], 1000)
    for _ in range(10):
        for lane, number in taken_by(sharing, holder.room(), due).items():
            fill(holder, lane, number)

    room = holder.room()

    assert (room.total, room.beside_high) == (20, 0)
    assert not holder.is_full
    high = taken_by(sharing, room, dict.fromkeys(LANES[:4], 1000))
    # But for the tenth of a claim that is LOW's.
    assert sum(high.values()) == 18


def test_one_channel_fills_half_of_the_window_and_high_the_last_fifth_of_that():
    holder = window()
    fill(holder, Lane(LOW, SMS), 40)

    room = holder.room()

    assert room.by_lane[Lane(LOW, SMS)] == room.by_lane[Lane(NORMAL, SMS)] == 0
    assert room.by_lane[Lane(HIGH, SMS)] == 10
    assert room.by_lane[Lane(NORMAL, EMAIL)] == 40
    assert room.by_lane[Lane(HIGH, EMAIL)] == 50


def test_what_high_takes_of_a_channel_is_not_there_for_others_in_the_same_claim():
    holder = window()
    sharing = Sharing(subscription((EMAIL, SMS), tuple(Priority)))
    due = {Lane(HIGH, SMS): 45, Lane(NORMAL, SMS): 100}

    assert taken_by(sharing, holder.room(), due) == {Lane(HIGH, SMS): 45}


@pytest.mark.parametrize("priority", Priority)
def test_a_consumer_of_one_class_has_all_of_the_window_for_it(priority):
    holder = window(channels=(SMS,), priorities=(priority,))
    fill(holder, Lane(priority, SMS), 60)

    room = holder.room()

    assert (room.total, room.by_lane[Lane(priority, SMS)]) == (40, 40)


def test_it_is_full_when_little_is_left_and_not_when_settled():
    holder = window(channels=(SMS,), priorities=(NORMAL,))
    fill(holder, Lane(NORMAL, SMS), 91)
    assert holder.is_full

    holder.release([Lane(NORMAL, SMS)] * 91)

    assert holder.is_empty
    assert not holder.is_full


def test_careful_claims_take_one():
    room = window().room(at_most=1)

    assert (room.total, room.beside_high) == (1, 1)


@pytest.mark.parametrize("channels", [(SMS,), (EMAIL, SMS), tuple(Channel)])
def test_normal_that_is_due_for_ever_leaves_a_tenth_to_low(channels):
    everything = subscription(channels, tuple(Priority))
    sharing, due = Sharing(everything), {Lane(NORMAL, SMS): 1000, Lane(LOW, SMS): 1000}

    took = taken_by(sharing, Window(500, subscription=everything).room(), due)

    assert took[Lane(LOW, SMS)] >= sum(took.values()) // 10 > 0


def test_what_is_left_beside_high_is_not_claimed_by_handfuls():
    holder = window(channels=(SMS,))
    fill(holder, Lane(NORMAL, SMS), 75)

    assert holder.room().beside_high == 0
