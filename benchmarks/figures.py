"""The few statistics that benchmarks report."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Repetitions of one measurement: their middle, their quartiles and the worst."""

    median: float
    lower: float
    upper: float
    worst: float


def spread(values: Sequence[float]) -> Spread:
    """Summarise rates, of which the lowest is the worst."""
    if len(values) == 1:
        return Spread(
            median=values[0], lower=values[0], upper=values[0], worst=values[0]
        )
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(
        median=statistics.median(values), lower=lower, upper=upper, worst=min(values)
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of all does not exceed (nearest rank)."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def most_in_a_second(times: Sequence[float]) -> int:
    """Return how many of these fall into the fullest of all seconds, wherever it
    begins."""
    most, first, ordered = 0, 0, sorted(times)
    for last, at in enumerate(ordered):
        while ordered[first] <= at - 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most
