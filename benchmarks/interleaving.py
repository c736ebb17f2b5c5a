"""Measure several sides in turns, so that the machine's moods hit all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Side = TypeVar("Side")
Measured = TypeVar("Measured")


def interleave(
    sides: Sequence[Side],
    measure: Callable[[Side, int], Measured],
    *,
    repetitions: int,
) -> list[list[Measured]]:
    """Measure A B A B …; return each side's measurements, in the order of sides."""
    results: list[list[Measured]] = [[] for _ in sides]
    for repetition in range(1, repetitions + 1):
        for side, measured in zip(sides, results, strict=True):
            measured.append(measure(side, repetition))
    return results
