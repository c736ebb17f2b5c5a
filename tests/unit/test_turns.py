"""Few work at once, nobody waits for ever, and what is urgent goes first."""

from __future__ import annotations

import threading

import pytest

from notifications.acceptance.turns import Turns
from tests.acme import run_together
from tests.kafka import wait_until


class Queue:
    """Threads that wait for turns, and the order in which they had them."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.order: list[str] = []
        self._threads: list[threading.Thread] = []

    def join_in(self, name: str, *, urgent: bool) -> None:
        waiting = self.waiting
        self._threads.append(
            threading.Thread(target=self._work, args=(name, urgent), daemon=True)
        )
        self._threads[-1].start()
        wait_until(lambda: self.waiting > waiting)

    @property
    def waiting(self) -> int:
        return len(self.turns._urgent) + len(self.turns._others)

    def _work(self, name: str, urgent: bool) -> None:
        with self.turns.taken(at_once=1, urgent=urgent):
            self.order.append(name)

    def finish(self) -> list[str]:
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()
        return self.order


def test_who_waits_is_called_by_class_and_then_by_arrival():
    turns = Turns()
    queue = Queue(turns)
    with turns.taken(at_once=1, urgent=False):
        queue.join_in("sale", urgent=False)
        queue.join_in("another sale", urgent=False)
        queue.join_in("code", urgent=True)
        queue.join_in("another code", urgent=True)

    assert queue.finish() == ["code", "another code", "sale", "another sale"]


def test_whoever_hangs_keeps_nobody_for_longer_than_patience_lasts():
    turns = Turns(patience=0.05)
    with turns.taken(at_once=1, urgent=False):
        with turns.taken(at_once=1, urgent=True), turns.taken(at_once=1, urgent=False):
            assert turns._at_work == 3
        assert turns._at_work == 1
    assert turns._at_work == 0


def test_a_turn_that_ends_in_an_error_is_handed_on():
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.taken(at_once=1, urgent=False):
        raise ZeroDivisionError

    with turns.taken(at_once=1, urgent=False):
        assert turns._at_work == 1


@pytest.mark.parametrize("patience", [5.0, 0.000_01])
def test_a_storm_of_threads_leaves_no_turn_behind(patience):
    turns = Turns(patience=patience)
    lock, at_work, most = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal at_work, most
        for number in range(200):
            with turns.taken(at_once=3, urgent=number % 3 == 0):
                with lock:
                    at_work += 1
                    most = max(most, at_work)
                threading.Event().wait(0.000_01)
                with lock:
                    at_work -= 1

    assert run_together(*[work] * 12) == [None] * 12

    assert (turns._at_work, len(turns._urgent), len(turns._others)) == (0, 0, 0)
    assert patience < 1 or most == 3
