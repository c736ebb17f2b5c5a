"""Fresh HIGH wakes an idle relay; a hint that is lost costs a moment and no more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest
from django.db import connections
from pytest_django.fixtures import Settings

from notifications.doorbell import Doorbell, Listener
from tests.acme import Api, query, run_together

LONG, SOON = 60.0, 20.0


class Sleeper:
    """A thread that sleeps on its own connection, for as long as a test lets it."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1)
        self._listener = Listener()
        self.lies_down(0).result()  # the first time it only begins to listen

    def lies_down(self, seconds: float = LONG) -> Future[float]:
        """Sleep; the result is how many seconds it was."""
        return self._threads.submit(self._sleep, seconds)

    def _sleep(self, seconds: float) -> float:
        started = time.monotonic()
        self._listener.sleep(seconds)
        return time.monotonic() - started

    def rings(self) -> None:
        """Ring on its own connection, which has then heard it for sure."""
        self._threads.submit(Doorbell().ring).result()

    def forgets(self) -> None:
        self._threads.submit(self._listener.forget).result()

    def loses_its_connection(self) -> None:
        self._threads.submit(connections.close_all).result()

    def leaves(self) -> None:
        self.loses_its_connection()
        self._threads.shutdown()


@pytest.fixture
def sleeper(committed: None) -> Iterator[Sleeper]:
    sleeper = Sleeper()
    yield sleeper
    sleeper.leaves()


def test_a_ring_ends_a_sleep_early(sleeper: Sleeper) -> None:
    asleep = sleeper.lies_down()

    Doorbell().ring()

    assert asleep.result(SOON) < SOON


def test_what_rang_while_it_was_awake_ends_the_next_sleep_once(
    sleeper: Sleeper,
) -> None:
    Doorbell().ring()

    assert sleeper.lies_down().result(SOON) < SOON
    assert sleeper.lies_down(0.1).result(SOON) >= 0.1


def test_what_rang_while_there_was_work_is_forgotten(sleeper: Sleeper) -> None:
    sleeper.rings()
    sleeper.forgets()

    assert sleeper.lies_down(0.1).result(SOON) >= 0.1


def test_a_new_connection_listens_again_and_looks_first(sleeper: Sleeper) -> None:
    sleeper.loses_its_connection()

    assert sleeper.lies_down().result(SOON) < SOON
    asleep = sleeper.lies_down()
    Doorbell().ring()
    assert asleep.result(SOON) < SOON


def heard(owner: psycopg.Connection) -> int:
    return len(list(owner.notifies(timeout=0.2)))


@pytest.fixture
def listening(committed: None, owner: psycopg.Connection) -> Iterator[None]:
    owner.execute("LISTEN high_due")
    yield
    owner.execute("UNLISTEN high_due")


def test_a_flood_rings_a_hundred_times_a_second_at_most(
    listening: None, owner: psycopg.Connection
) -> None:
    bell, started = Doorbell(), time.monotonic()
    for _ in range(200):
        bell.ring()
    took = time.monotonic() - started

    assert 1 <= heard(owner) <= 1 + took / 0.01


def test_only_fresh_high_rings(
    listening: None, owner: psycopg.Connection, api: Api, settings: Settings
) -> None:
    settings.DELIVERY_TRANSPORT = "kafka"
    api.accept(idempotency_key="normal")
    api.accept(idempotency_key="later", priority="high", send_at="2027-01-01T00:00:00Z")
    assert heard(owner) == 0

    api.accept(idempotency_key="high", priority="high")

    assert heard(owner) == 1


def test_a_replayed_answer_does_not_ring(
    listening: None, owner: psycopg.Connection, api: Api, settings: Settings
) -> None:
    settings.DELIVERY_TRANSPORT = "kafka"
    api.accept(priority="high")
    assert heard(owner) == 1

    api.accept(priority="high")

    assert heard(owner) == 0


def test_a_bell_that_cannot_be_rung_stops_nobody(committed: None) -> None:
    (ours,) = query("SELECT pg_backend_pid() AS pid")
    end = "SELECT pg_terminate_backend(%s)"
    assert run_together(lambda: query(end, ours["pid"])) == [
        [{"pg_terminate_backend": True}]
    ]

    Doorbell().ring()

    connections.close_all()
