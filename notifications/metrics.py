"""Every metric of the delivery path, once, with its unit and its caveat.

Labels are closed sets (channels, classes, outcomes); never an id or a tenant's text.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_ACCEPTANCE = Histogram(
    "notify_acceptance_seconds",
    "Time from reading a submission to its commit, by result.",
    ["result"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
_ATTEMPTS = Counter(
    "notify_attempts_total",
    "Provider answers by outcome; an unknown outcome counts when it is noticed.",
    ["channel", "outcome"],
)
_SETTLED = Counter(
    "notify_settled_total",
    "Deliveries by the status that settling gave them; pending means a retry.",
    ["channel", "status"],
)
_LOST_CLAIMS = Counter(
    "notify_lost_claims_total",
    "Answers that came after the delivery had been taken over.",
)
_OUTBOX_AGE = Gauge(
    "notify_outbox_oldest_due_seconds",
    "How long the oldest due row of a class has been waiting; 0 if none is due.",
    ["priority", "channel"],
    multiprocess_mode="mostrecent",
)
_CLAIMED = Histogram(
    "notify_claim_batch_size",
    "Deliveries claimed at once, empty polls left out.",
    buckets=(1, 5, 20, 50, 100, 200, 500),
)
_PUBLISHED = Counter(
    "notify_published_total",
    "Records that the relay gave to the broker, acknowledged or not.",
    ["priority", "channel"],
)
_STALE_RECORDS = Counter(
    "notify_stale_records_total",
    "Records whose outbox row had moved on: duplicates, and answers to lost ones.",
    ["priority", "channel"],
)
_REJECTED_RECORDS = Counter(
    "notify_rejected_records_total",
    "Records that name no delivery; they are kept for the operator.",
    ["reason"],
)


_SHED = Counter(
    "notify_shed_total",
    "Submissions refused for want of room, by why (crowd, late, storage) and class.",
    ["reason", "priority"],
)


def observe_acceptance(*, result: str, seconds: float) -> None:
    """Count one submission: accepted, replayed or refused."""
    _ACCEPTANCE.labels(result).observe(seconds)


def observe_shed(*, reason: str, priority: str) -> None:
    """Count one submission that was refused because there is too much."""
    _SHED.labels(reason, priority).inc()


def observe_attempts(*, channel: str, outcome: str, number: int) -> None:
    """Count provider answers."""
    _ATTEMPTS.labels(channel, outcome).inc(number)


def observe_settled(*, channel: str, status: str, number: int) -> None:
    """Count deliveries leaving `sending`."""
    _SETTLED.labels(channel, status).inc(number)


def observe_lost_claims(*, number: int) -> None:
    """Count answers whose fence no longer held."""
    _LOST_CLAIMS.inc(number)


def observe_outbox_age(*, priority: str, channel: str, seconds: float) -> None:
    """Show how late the oldest due row of a class is."""
    _OUTBOX_AGE.labels(priority, channel).set(seconds)


def observe_claim(*, size: int) -> None:
    """Count one claimed batch."""
    _CLAIMED.observe(size)


def observe_published(*, priority: str, channel: str, number: int) -> None:
    """Count records given to the broker."""
    _PUBLISHED.labels(priority, channel).inc(number)


def observe_stale_records(*, priority: str, channel: str, number: int) -> None:
    """Count records that could claim nothing."""
    _STALE_RECORDS.labels(priority, channel).inc(number)


def observe_rejected_record(*, reason: str) -> None:
    """Count one record that was kept for the operator."""
    _REJECTED_RECORDS.labels(reason).inc()
