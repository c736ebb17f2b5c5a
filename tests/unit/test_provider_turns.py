"""Turns at an account: order, patience, and what a cancelled call leaves behind."""

from __future__ import annotations

import asyncio

from providers.turns import Turn, Turns
from tenants.categories import Priority

LONG = 60.0


def test_turns_are_given_in_the_order_of_asking():
    async def scenario():
        turns, order = Turns(1, patience=LONG), []

        async def call(number):
            assert await turns.take() is Turn.GIVEN
            order.append(number)
            turns.release()

        await turns.take()
        calls = [asyncio.create_task(call(number)) for number in range(5)]
        await asyncio.sleep(0)
        turns.release()
        await asyncio.gather(*calls)
        return order, turns.is_full

    assert asyncio.run(scenario()) == ([0, 1, 2, 3, 4], False)


def test_newcomer_does_not_overtake_who_waits():
    async def scenario():
        turns = Turns(1, patience=LONG)
        await turns.take()
        waiting = asyncio.create_task(turns.take())
        await asyncio.sleep(0)
        turns.release()
        newcomer = asyncio.create_task(turns.take())
        await waiting
        return newcomer.done(), turns.is_full

    assert asyncio.run(scenario()) == (False, True)


def test_who_waited_long_enough_goes_without_and_the_next_one_later():
    async def scenario():
        turns = Turns(1, patience=0.05)
        await turns.take()
        loop, ended = asyncio.get_running_loop(), []

        async def call():
            begun = loop.time()
            got = await turns.take()
            ended.append((got, loop.time() - begun >= 0.05))

        first = asyncio.create_task(call())
        await asyncio.sleep(0.02)
        second = asyncio.create_task(call())
        await first
        assert not second.done()
        await second
        turns.release()
        return ended, turns.is_full

    assert asyncio.run(scenario()) == ([(Turn.NO_PLACE, True)] * 2, False)


def test_cancelled_waiter_lets_the_next_one_have_its_turn():
    async def scenario():
        turns = Turns(1, patience=LONG)
        await turns.take()
        first, second = (asyncio.create_task(turns.take()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        turns.release()
        return await second, first.cancelled()

    assert asyncio.run(scenario()) == (Turn.GIVEN, True)


def test_waiter_cancelled_in_the_moment_of_its_turn_gives_the_place_back():
    async def scenario():
        turns = Turns(1, patience=LONG)
        await turns.take()
        waiting = asyncio.create_task(turns.take())
        await asyncio.sleep(0)
        turns.release()  # its turn has come, and it has not run yet
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return waiting.cancelled(), turns.is_full

    assert asyncio.run(scenario()) == (True, False)


def test_high_goes_first_and_every_tenth_turn_is_lows():
    async def scenario():
        turns, order = Turns(1, patience=LONG), []
        await turns.take()

        async def call(priority):
            await turns.take(priority)
            order.append(priority)
            turns.release()

        calls = [
            asyncio.create_task(call(priority))
            for priority in (Priority.LOW, Priority.NORMAL, Priority.HIGH)
            for _ in range(10)
        ]
        await asyncio.sleep(0)
        turns.release()
        await asyncio.gather(*calls)
        return order

    order = asyncio.run(scenario())

    assert order[:9] == [Priority.HIGH] * 9
    assert order[9] is Priority.LOW
    assert order[10:20].count(Priority.LOW) == 1
    assert order[11:18] == [Priority.NORMAL] * 7


def test_a_held_account_keeps_no_more_than_it_may_but_for_high():
    async def scenario():
        turns = Turns(1, patience=5.0)
        turns.most_held = 3
        await turns.take()
        waiting = [
            asyncio.create_task(turns.take(priority))
            for priority in (*[Priority.LOW] * 3, *[Priority.HIGH] * 2)
        ]
        await asyncio.sleep(0)
        turns.hold()
        await asyncio.sleep(0)
        late = await turns.take(Priority.NORMAL)
        turns.release()
        turns.resume()
        given = [await task if task.done() else None for task in waiting]
        for task in waiting:
            task.cancel()
        return late, given

    late, given = asyncio.run(scenario())

    assert late is Turn.HELD
    assert [each is Turn.HELD for each in given] == [False, True, True, False, False]


def test_who_has_somewhere_else_to_go_does_not_wait_for_a_held_account():
    async def scenario():
        turns = Turns(1, patience=5.0)
        await turns.take()
        leaving = asyncio.create_task(turns.take(leaves=True))
        await asyncio.sleep(0)
        turns.hold()
        return await leaving, await turns.take(leaves=True)

    assert asyncio.run(scenario()) == (Turn.HELD, Turn.HELD)


def test_a_probe_is_let_through_and_urgent_ones_probe_first():
    async def scenario():
        turns = Turns(5, patience=5.0)
        turns.hold()
        waiting = {
            priority: asyncio.create_task(turns.take(priority))
            for priority in (Priority.NORMAL, Priority.LOW, Priority.HIGH)
        }
        await asyncio.sleep(0)
        probed: list[Priority] = []
        for _ in waiting:
            turns.let_one_through()
            await asyncio.sleep(0)
            done = {priority for priority, task in waiting.items() if task.done()}
            probed.extend(done - set(probed))
        return probed

    order = asyncio.run(scenario())

    assert order == [Priority.HIGH, Priority.LOW, Priority.NORMAL]


def test_fewer_places_are_taken_by_fewer_as_calls_end():
    async def scenario():
        turns = Turns(3, patience=5.0)
        for _ in range(3):
            await turns.take()
        turns.resize(1)
        waiting = asyncio.create_task(turns.take())
        full = []
        for _ in range(3):
            await asyncio.sleep(0)
            full.append(waiting.done())
            turns.release()
        await asyncio.sleep(0)
        return full, waiting.done()

    assert asyncio.run(scenario()) == ([False, False, False], True)


def test_high_waits_for_a_held_account_however_many_others_do():
    async def scenario():
        turns = Turns(1, patience=5.0)
        turns.most_held = 2
        turns.hold()
        others = [asyncio.create_task(turns.take(Priority.LOW)) for _ in range(2)]
        await asyncio.sleep(0)
        urgent = asyncio.create_task(turns.take(Priority.HIGH))
        await asyncio.sleep(0)
        turns.resume()
        turn = await urgent
        for task in others:
            task.cancel()
        return turn

    assert asyncio.run(scenario()) is Turn.GIVEN


def test_only_one_is_let_through_where_there_are_no_quotas():
    async def scenario():
        turns = Turns(5, patience=5.0)
        turns.hold()
        turns.let_one_through()
        return [await turns.take(leaves=True) for _ in range(3)]

    assert asyncio.run(scenario()) == [Turn.GIVEN, Turn.HELD, Turn.HELD]


def test_who_leaves_does_not_stay_behind_a_probe():
    async def scenario():
        turns = Turns(5, patience=5.0)
        turns.hold()
        waiting = asyncio.create_task(turns.take(Priority.HIGH))
        await asyncio.sleep(0)
        turns.resume()
        await waiting
        turns.hold()
        turns.let_one_through()
        both = [asyncio.create_task(turns.take(leaves=True)) for _ in range(2)]
        return [await task for task in both]

    assert asyncio.run(scenario()) == [Turn.GIVEN, Turn.HELD]
