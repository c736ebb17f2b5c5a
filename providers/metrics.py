"""Metrics of provider accounts, each once, with its unit."""

from __future__ import annotations

from prometheus_client import Gauge, Histogram

TURN_WAIT = Histogram(
    "notify_turn_wait_seconds",
    "Time a call waited for a place at its account and for a permit, given or not.",
    ["provider", "priority"],
    buckets=(0.001, 0.01, 0.05, 0.1, 0.25, 1, 5, 20),
)
BREAKER_OPEN = Gauge(
    "notify_breaker_open",
    "Whether this worker holds an account's calls back because they went badly.",
    ["provider"],
    multiprocess_mode="max",
)
ACCOUNT_PLACES = Gauge(
    "notify_account_places",
    "Calls at the same time that an account is given, learnt from its answers.",
    ["provider"],
    multiprocess_mode="sum",
)
ACCOUNT_PART = Gauge(
    "notify_account_part_of_quota",
    "Part of its quota that an account is given, learnt from its refusals.",
    ["provider"],
    multiprocess_mode="min",
)
ACCOUNT_FAULT = Gauge(
    "notify_account_fault",
    "Whether an account refuses us until somebody mends it; its messages wait.",
    ["provider"],
    multiprocess_mode="mostrecent",
)
