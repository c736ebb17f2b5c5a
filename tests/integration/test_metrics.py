"""/metrics of the web role: what it measures, and what it never says."""

from __future__ import annotations

import re
import socket
import time
from datetime import timedelta

from django.db import connections
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from notifications.statuses import DeliveryStatus
from providers.base import Outcome
from providers.channels import Channel
from tenants.categories import Priority
from tenants.process_cache import forget_everything
from tenants.request_rate.rate import Bucket

AGE = "notify_outbox_oldest_due_seconds"
# Every label is one of a closed set.
VALUES = {
    "result": {"accepted", "replayed", "refused"},
    "channel": {channel.key for channel in Channel},
    "priority": {priority.key for priority in Priority},
    "method": {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"},
    "status": {"1xx", "2xx", "3xx", "4xx", "5xx", *DeliveryStatus},
    "outcome": set(Outcome),
    "bucket": set(Bucket),
    "rule": {
        "number_in_a_day",
        "otps_in_ten_minutes",
        "otps_in_a_day",
        "marketing_in_a_day",
        "prefix",
    },
    "reason": {
        "crowd",
        "late",
        "no_value",
        "storage",
        "unknown_delivery",
        "unknown_version",
        "wrong_claim_count",
        "wrong_length",
    },
}


def scraped() -> list[Sample]:
    answer = Client().get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return [sample for family in families for sample in family.samples]


def value(name: str, **labels: str) -> float:
    found = [
        sample.value
        for sample in scraped()
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return sum(found)


def ages() -> dict[tuple[str, str], float]:
    return {
        (sample.labels["priority"], sample.labels["channel"]): sample.value
        for sample in scraped()
        if sample.name == AGE
    }


def test_submissions_are_timed_by_their_result(api):
    name = "notify_acceptance_seconds_count"
    before = {r: value(name, result=r) for r in VALUES["result"]}

    api.accept()
    api.accept()
    api.submit(idempotency_key="other", channels=[])

    after = {r: value(name, result=r) for r in VALUES["result"]}
    assert {r: after[r] - before[r] for r in after} == dict.fromkeys(after, 1)
    assert value("notify_acceptance_seconds_sum", result="accepted") > 0


def test_attempts_are_counted_by_outcome(api, consume):
    name = "notify_attempts_total"
    outcomes = {"accept": "accepted", "transient+0": "transient_error"}
    outcomes |= {"permanent": "rejected", "timeout+0": "unknown"}
    before = {o: value(name, channel="email", outcome=o) for o in outcomes.values()}
    for behaviour in outcomes:
        person = {"user_id": "usr_x", "email": f"{behaviour}@simulate.example"}
        api.accept(idempotency_key=behaviour, recipient=person)

    consume()

    after = {o: value(name, channel="email", outcome=o) for o in outcomes.values()}
    assert {o: after[o] - before[o] for o in after} == dict.fromkeys(after, 1)


def test_the_age_of_the_outbox_is_told_for_every_class(api, clock):
    api.accept(idempotency_key="a", channels=["email"])
    later = clock.now() + timedelta(hours=1)
    api.accept(idempotency_key="b", channels=["sms"], send_at=later.isoformat())
    clock.advance(timedelta(seconds=90))

    told = ages()

    classes = {(p, c) for p in VALUES["priority"] for c in VALUES["channel"]}
    assert set(told) == classes
    assert 90 <= told.pop(("normal", "email")) < 120
    assert set(told.values()) == {0.0}


def test_the_outbox_is_asked_once_in_five_seconds(api, clock):
    api.accept()
    first = ages()
    clock.advance(timedelta(hours=1))

    assert ages() == first
    forget_everything()  # as if five seconds had passed
    assert ages()["normal", "email"] >= 3600


def test_a_silent_database_does_not_take_the_metrics_with_it(committed, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        known = connections["default"].settings_dict
        with monkeypatch.context() as patched:
            patched.setitem(known, "PORT", server.getsockname()[1])
            started = time.monotonic()

            assert scraped()

            assert time.monotonic() - started < 4


def test_labels_are_closed_sets_and_hold_nothing_of_a_tenants(api, consume):
    """I16"""
    notification_id = api.accept(reference="canary-ref", idempotency_key="canary-key")
    api.get(f"/v1/notifications/{notification_id}")
    api.get("/v1/users/usr_canary")
    api.get("/v1/canary")
    api.post("/v1/canary")
    api.client.generic("CANARY", "/v1/notifications", headers=api.headers)
    consume()

    for sample in scraped():
        for label, text in sample.labels.items():
            assert text in VALUES.get(label, {text}), sample
            assert not re.search("canary|ntf_|dlv_|usr_", text, re.IGNORECASE), sample
        if sample.name.startswith("notify_"):
            # Providers are those of the settings; other tests' are here too.
            assert set(sample.labels) <= {*VALUES, "le", "provider"} - {"method"}
