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
SPEND_CAP_EXCEEDED = Counter(
    "notify_sms_spend_cap_exceeded_total",
    "Submissions whose text message would have cost more than its tenant's day allows.",
)
NUMBER_LIMITED = Counter(
    "notify_sms_number_limited_total",
    "Text messages that a rule on their number or its first digits held back.",
    ["rule"],
)
PUMPING_ALARMS = Counter(
    "notify_sms_pumping_alarms_total",
    "Prefixes that began to get suspiciously many one-time passwords.",
)
