"""Metrics of provider accounts, each once, with its unit."""

from __future__ import annotations

from prometheus_client import Histogram

TURN_WAIT = Histogram(
    "notify_turn_wait_seconds",
    "Time a call waited for a place at its account and for a permit, given or not.",
    ["provider", "priority"],
    buckets=(0.001, 0.01, 0.05, 0.1, 0.25, 1, 5, 20),
)
