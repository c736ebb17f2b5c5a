"""Metrics of tenants' limits, each once, with its unit."""

from __future__ import annotations

from prometheus_client import Counter

RATE_LIMITED = Counter(
    "notify_rate_limited_total",
    "Requests refused because their tenant made too many a second.",
    ["bucket"],
)
QUOTA_EXCEEDED = Counter(
    "notify_daily_quota_exceeded_total",
    "Submissions that found a daily quota used up, repetitions included.",
    ["channel"],
)
