"""The same command, submitted more than once."""

from __future__ import annotations

from datetime import timedelta

from django.test import Client

from notifications.management.sample import TEMPLATES, publish
from tests.acme import Api, query, run_together, submission
from tests.factories.tenants import TenantFactory, api_key, authorization

CHANNELS = ["email", "sms", "in_app"]


def counts():
    return [
        query(f"SELECT count(*) AS n FROM {table}")[0]["n"]
        for table in ("notification", "notification_content", "delivery", "outbox")
    ]


def fresh(api: Api) -> Api:
    """The same key on a connection of its own."""
    return Api(Client(), api.headers)


def test_fifty_submits_at_once_make_one_notification(api):
    """O-REL-3, F02, F03"""
    usual = [lambda: fresh(api).submit(channels=CHANNELS)] * 50
    odd = {"amount": "125.01", "currency": "USD", "due_date": "2026-12-20"}

    answers = run_together(
        *usual, lambda: fresh(api).submit(channels=CHANNELS, variables=odd)
    )

    codes = [answer.status_code for answer in answers]
    assert set(codes) <= {202, 409}
    winners = {a.json()["notification_id"] for a in answers if a.status_code == 202}
    assert len(winners) == 1
    assert counts() == [1, 1, 3, 3]
    if codes[-1] == 202:
        assert codes[:-1] == [409] * 50
    else:
        assert answers[-1].json()["type"] == "/problems/idempotency-key-reused"
        assert codes[:-1] == [202] * 50


def test_a_repeated_submit_gets_the_stored_answer_and_is_told_so(api):
    first = api.submit(channels=CHANNELS)
    second = api.submit(channels=CHANNELS)

    assert second.status_code == 202
    assert second.content == first.content
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert counts() == [1, 1, 3, 3]


def test_order_and_white_space_of_the_body_do_not_matter(api):
    """Bad input 5"""
    body = submission()
    first = api.post("/v1/notifications", body)
    reordered = dict(reversed(body.items()))
    second = api.post("/v1/notifications", reordered)

    assert second.json() == first.json()


def test_the_key_may_come_as_header_in_one_try_and_as_field_in_the_next(api):
    """Bad input 3, 4"""
    key = submission()["idempotency_key"]
    first = api.submit()
    for header in (key, f'"{key}"'):
        again = api.post(
            "/v1/notifications",
            submission(idempotency_key=None),
            **{"Idempotency-Key": header},
        )
        assert again.json() == first.json()

    differing = api.post(
        "/v1/notifications", submission(), **{"Idempotency-Key": "other"}
    )
    assert differing.status_code == 400


def test_an_expired_key_counts_as_new(api, clock):
    """Bad input 7"""
    first = api.accept(dedupe_window_seconds=60)
    assert api.accept(dedupe_window_seconds=60) == first

    clock.advance(timedelta(seconds=61))

    assert api.accept(dedupe_window_seconds=60) != first


def test_two_tenants_may_use_the_same_key(api, acme):
    """F04"""
    other = TenantFactory.create()
    publish(other, TEMPLATES[0])
    others_api = Api(Client(), authorization(api_key(other)))

    assert api.accept() != others_api.accept()


def test_a_retry_across_midnight_of_the_month_finds_the_first_answer(api, clock):
    """O-REL-5: rows go to another partition, the key does not."""
    first = api.accept()

    clock.advance(timedelta(days=6))

    assert api.accept() == first
    assert counts()[0] == 1


def test_a_retry_is_answered_even_where_it_would_be_refused_today(api, clock):
    send_at = (clock.now() + timedelta(minutes=1)).isoformat()
    first = api.accept(send_at=send_at)

    clock.advance(timedelta(hours=1))

    assert api.accept(send_at=send_at) == first
    assert api.submit(send_at=send_at, idempotency_key="new").status_code == 422
