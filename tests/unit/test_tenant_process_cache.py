from __future__ import annotations

from datetime import timedelta

import pytest

from tenants.process_cache import ProcessCache, forget_everything


class Ticking:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


@pytest.fixture
def cache(ticking: Ticking) -> ProcessCache[str, int]:
    return ProcessCache(size=2, lifetime=timedelta(seconds=3), clock=ticking)


def test_entry_is_forgotten_after_its_lifetime(cache, ticking):
    cache.put("a", 1)

    ticking.seconds = 2.9
    assert cache.get("a") == 1
    ticking.seconds = 3.0
    assert cache.get("a") is None


def test_reading_does_not_lengthen_a_life(cache, ticking):
    cache.put("a", 1)
    for ticking.seconds in (1.0, 2.0):
        cache.get("a")

    ticking.seconds = 3.0
    assert cache.get("a") is None


def test_entry_used_longest_ago_makes_room(cache):
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)

    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_everything_is_forgotten_at_once(cache):
    cache.put("a", 1)

    forget_everything()

    assert cache.get("a") is None
