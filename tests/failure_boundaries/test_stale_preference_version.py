"""A preference is read or written under a version that is no longer true."""

from __future__ import annotations

import signal
from datetime import timedelta

from django.db import connection
from django.test import Client

from foundation.ids import parse_public_id
from tests.acme import Api, deliveries, events, query, run_together
from tests.factories.templates import ApprovedVersionFactory, TemplateFactory
from tests.factories.tenants import TenantCategoryFactory
from tests.failure_boundaries.test_outbox_retry import wait_until_stopped

PREFERENCES = "/v1/users/usr_an/notification-preferences"


def put(api, opt_outs, version):
    return api.put(
        PREFERENCES,
        {"opt_outs": opt_outs, "quiet_hours": None},
        **{"If-Match": f'"{version}"'},
    )


def test_a_write_under_a_stale_version_is_refused_and_changes_nothing(api):
    """O-TIM-5, bad input 25"""
    assert put(api, ["email"], 0).status_code == 200

    stale = put(api, ["sms"], 0)

    assert stale.status_code == 412
    assert api.get(PREFERENCES).json()["opt_outs"] == ["email"]


def test_of_fifty_writes_under_one_version_one_wins(api):
    """F53"""
    apis = [Api(Client(), api.headers) for _ in range(50)]

    answers = run_together(*(lambda one=one: put(one, ["email"], 0) for one in apis))

    codes = sorted(answer.status_code for answer in answers)
    assert codes == [200] + [412] * 49


def test_an_opt_out_after_acceptance_is_obeyed_in_the_claim(api, consume):
    """O-TIM-3, F51"""
    notification_id = api.accept(channels=["email", "in_app"])
    assert put(api, ["email"], 0).status_code == 200

    consume()

    email, in_app = deliveries(notification_id)
    assert (email["status"], email["reason"]) == ("suppressed", "opted_out")
    assert in_app["status"] == "sent"
    assert query("SELECT 1 FROM sandbox_message") == []
    assert "delivery.suppressed" in events(notification_id)


def test_a_category_switched_off_after_acceptance_is_obeyed_in_the_claim(
    api, acme, consume
):
    """O-TIM-3, O-TIM-5"""
    TenantCategoryFactory.create(tenant=acme, name="weekly_tips")
    tips = TemplateFactory.create(tenant=acme, name="tips", category="weekly_tips")
    ApprovedVersionFactory.create(template=tips)
    body = {"template": {"name": "tips"}, "variables": {"name": "An"}}
    off, before = (
        api.accept(idempotency_key=key, channels=channels, **body)
        for key, channels in (("a", ["email"]), ("b", ["in_app"]))
    )
    security = api.accept(idempotency_key="c")
    api.put(
        PREFERENCES,
        {"opt_outs": [], "categories": {"weekly_tips": {"email": False}}},
        **{"If-Match": '"0"'},
    )

    consume()

    reasons = {
        each: (row["status"], row["reason"])
        for each in (off, before, security)
        for row in deliveries(each)
    }
    assert reasons == {
        off: ("suppressed", "opted_out"),
        before: ("sent", ""),
        security: ("sent", ""),
    }
    assert api.standing(off)["category"] == "weekly_tips"
    (told,) = query(
        "SELECT detail ->> 'rule' AS rule, detail ->> 'preference_version' AS version"
        " FROM audit_event WHERE kind = 'delivery.suppressed'"
        " AND notification_id = %s",
        parse_public_id("ntf", off),
    )
    assert told == {"rule": "category_choice", "version": "1"}
    assert len(query("SELECT 1 FROM sandbox_message WHERE channel = 1")) == 1


def test_an_opt_out_right_behind_the_claim_is_obeyed_before_the_call(
    api, consumer_process
):
    """I6: what a claim did not see, since it came before its COMMIT, it sees here."""
    notification_id = api.accept(channels=["email", "in_app"])
    process = consumer_process("--once", NOTIFY_FAILPOINTS="consumer.after_claim=stop")
    wait_until_stopped(process.pid)
    assert deliveries(notification_id)[0]["status"] == "sending"
    assert put(api, ["email"], 0).status_code == 200

    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)

    email, in_app = deliveries(notification_id)
    assert (email["status"], email["reason"]) == ("suppressed", "opted_out")
    assert in_app["status"] == "sent"
    assert query("SELECT 1 FROM sandbox_message") == []


def test_where_the_look_behind_the_claim_fails_the_delivery_is_put_off_uncounted(
    api, consumer_process, consume, clock, owner
):
    notification_id = api.accept()
    process = consumer_process("--once", NOTIFY_FAILPOINTS="consumer.after_claim=stop")
    wait_until_stopped(process.pid)
    owner.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    connection.close()

    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    clock.advance(timedelta(seconds=2))
    consume()

    assert query("SELECT reason FROM audit_event WHERE kind = 'delivery.snoozed'") == [
        {"reason": "policy_unread"}
    ]
    (delivery,) = deliveries(notification_id)
    assert (delivery["status"], delivery["attempt_count"]) == ("sent", 1)
    assert not delivery["maybe_sent"]


def test_an_opt_out_before_acceptance_is_told_in_the_answer(api):
    put(api, ["email"], 0)

    answer = api.submit(channels=["email", "in_app"])

    decisions = {known["channel"]: known for known in answer.json()["decisions"]}
    assert decisions["email"]["decision"] == "suppress"
    assert decisions["email"]["reason"] == "opted_out"
    assert decisions["in_app"]["decision"] == "allow"
    email, _ = deliveries(answer.json()["notification_id"])
    assert email["status"] == "suppressed"
    assert len(query("SELECT 1 FROM outbox")) == 1


def test_opting_in_again_does_not_revive_what_was_suppressed(api, consume, clock):
    notification_id = api.accept()
    put(api, ["email"], 0)
    consume()
    put(api, [], 1)

    clock.advance(timedelta(days=1))
    consume()

    (delivery,) = deliveries(notification_id)
    assert delivery["status"] == "suppressed"
