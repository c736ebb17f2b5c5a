"""Slots of an account: order, patience, and what a cancelled call leaves behind."""

from __future__ import annotations

import asyncio

from providers.slots import Slots

LONG = 60.0


def test_slots_are_given_in_the_order_of_asking():
    async def scenario():
        slots, order = Slots(1, patience=LONG), []

        async def call(number):
            assert await slots.take()
            order.append(number)
            slots.release()

        await slots.take()
        calls = [asyncio.create_task(call(number)) for number in range(5)]
        await asyncio.sleep(0)
        slots.release()
        await asyncio.gather(*calls)
        return order, slots.is_full

    assert asyncio.run(scenario()) == ([0, 1, 2, 3, 4], False)


def test_newcomer_does_not_overtake_who_waits():
    async def scenario():
        slots = Slots(1, patience=LONG)
        await slots.take()
        waiting = asyncio.create_task(slots.take())
        await asyncio.sleep(0)
        slots.release()
        newcomer = asyncio.create_task(slots.take())
        await waiting
        return newcomer.done(), slots.is_full

    assert asyncio.run(scenario()) == (False, True)


def test_who_waited_long_enough_goes_without_and_the_next_one_later():
    async def scenario():
        slots = Slots(1, patience=0.05)
        await slots.take()
        loop, ended = asyncio.get_running_loop(), []

        async def call():
            begun = loop.time()
            got = await slots.take()
            ended.append((got, loop.time() - begun >= 0.05))

        first = asyncio.create_task(call())
        await asyncio.sleep(0.02)
        second = asyncio.create_task(call())
        await first
        assert not second.done()
        await second
        slots.release()
        return ended, slots.is_full

    assert asyncio.run(scenario()) == ([(False, True), (False, True)], False)


def test_cancelled_waiter_lets_the_next_one_have_its_turn():
    async def scenario():
        slots = Slots(1, patience=LONG)
        await slots.take()
        first, second = (asyncio.create_task(slots.take()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        slots.release()
        return await second, first.cancelled()

    assert asyncio.run(scenario()) == (True, True)


def test_waiter_cancelled_in_the_moment_of_its_turn_gives_the_slot_back():
    async def scenario():
        slots = Slots(1, patience=LONG)
        await slots.take()
        waiting = asyncio.create_task(slots.take())
        await asyncio.sleep(0)
        slots.release()  # its turn has come, and it has not run yet
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return waiting.cancelled(), slots.is_full

    assert asyncio.run(scenario()) == (True, False)
