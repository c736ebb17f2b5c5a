"""Text messages go where they may, and as often as they may."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from notifications.acceptance import caps, sms_rules
from notifications.management.sample import publish
from tenants.models import Tenant
from tests.acme import Api, deliveries, query, run_together
from tests.conftest import owner_connection
from tests.factories.tenants import api_key, authorization
from tests.own_valkey import kill, url_of
from tests.texts import AN, BRITISH, LAO, SALE, code, limit, neighbour, statuses, text


@pytest.fixture
def home_only(acme: Tenant) -> Tenant:
    return limit(acme, sms_countries="")


def store(api: Api, phone: str, user_id: str = "usr_x") -> None:
    assert api.put(f"/v1/users/{user_id}", {"phone": phone}).status_code < 300


# -- Countries -----------------------------------------------------------------


def test_a_number_abroad_is_a_problem_that_names_the_field(api, home_only):
    refusal = text(api, 1, phone=BRITISH)

    assert refusal.status_code == 422
    body = refusal.json()
    assert body["type"] == "/problems/invalid-request"
    assert [each["pointer"] for each in body["errors"]] == ["/recipient/phone"]
    assert BRITISH not in refusal.content.decode()
    assert query("SELECT 1 FROM notification") == []


@pytest.mark.parametrize(
    ("countries", "status"),
    [("", 422), ("LA VN", 422), ("GB VN", 202), ("*", 202)],
)
def test_the_tenants_list_says_where_it_may_send(api, acme, countries, status):
    limit(acme, sms_countries=countries)

    assert text(api, 1, phone=BRITISH).status_code == status
    assert text(api, 2, phone=AN).status_code == 202


@pytest.mark.parametrize(("countries", "status"), [("LA", 202), ("VN", 422)])
def test_a_tenant_without_a_home_has_the_platforms_countries(
    api, acme, settings, countries, status
):
    settings.SMS_COUNTRIES = countries
    limit(acme, sms_countries="", default_region="")

    assert text(api, 1, phone=LAO).status_code == status


def test_a_stored_number_abroad_is_suppressed_and_other_channels_go_on(api, home_only):
    store(api, BRITISH)

    answer = text(api, 1, phone=None, channels=["sms", "in_app"])

    assert answer.status_code == 202
    sms, in_app = answer.json()["decisions"]
    assert (sms["decision"], sms["reason"]) == ("suppress", "country_not_allowed")
    assert sms["rule"] == "sms_destination"
    assert in_app["decision"] == "allow"
    (event,) = query(
        "SELECT reason FROM audit_event WHERE kind = 'delivery.suppressed'"
    )
    assert event["reason"] == "country_not_allowed"


def test_a_country_that_is_closed_after_acceptance_is_suppressed_in_the_claim(
    api, acme, consume
):
    notification = text(api, 1, phone=BRITISH).json()["notification_id"]
    limit(acme, sms_countries="VN")

    consume()

    (delivery,) = deliveries(notification)
    assert (delivery["status"], delivery["reason"]) == (
        "suppressed",
        "country_not_allowed",
    )
    assert query("SELECT 1 FROM sandbox_message") == []


def test_an_opted_out_person_is_not_counted(api, acme, settings):
    settings.SMS_A_DAY = 1
    path = "/v1/users/usr_x/notification-preferences"
    api.put(path, {"opt_outs": ["sms"]}, **{"If-Match": api.get(path)["ETag"]})

    assert statuses([text(api, n) for n in range(3)]) == [202] * 3


def test_test_keys_send_anywhere_and_count_nothing(acme, home_only, settings):
    settings.SMS_A_DAY = 1
    test = Api(Client(), authorization(api_key(acme, is_test=True)))

    answers = [text(test, n, phone=BRITISH) for n in range(3)]

    assert statuses(answers) == [202] * 3


# -- Numbers -------------------------------------------------------------------


def test_the_sixth_otp_in_ten_minutes_is_refused_and_says_until_when(api):
    assert statuses([code(api, n) for n in range(5)]) == [202] * 5

    refusal = code(api, 5)

    assert refusal.status_code == 429
    assert refusal["Content-Type"] == "application/problem+json"
    body = refusal.json()
    assert body["type"] == "/problems/number-limited"
    assert body["rule"] == "otps_in_ten_minutes"
    assert 590 < int(refusal["Retry-After"]) <= 600
    assert len(query("SELECT 1 FROM notification")) == 5
    # Another number and another spelling, and what is no OTP.
    assert code(api, 6, phone="+84901234568").status_code == 202
    assert code(api, 7, phone="0901 234 567").status_code == 429
    assert text(api, 8).status_code == 202


def test_the_days_otps_are_an_end_too(api, settings):
    settings.SMS_OTPS_IN_TEN_MINUTES = 0
    settings.SMS_OTPS_A_DAY = 3

    answers = [code(api, n) for n in range(4)]

    assert statuses(answers) == [202, 202, 202, 429]
    assert answers[-1].json()["rule"] == "otps_in_a_day"
    assert int(answers[-1]["Retry-After"]) > 86_000


def test_a_number_has_a_cap_for_all_kinds_together(api, settings):
    settings.SMS_A_DAY = 3

    answers = [code(api, 1), text(api, 2), text(api, 3), text(api, 4), code(api, 5)]

    assert statuses(answers) == [202, 202, 202, 429, 429]
    assert answers[3].json()["rule"] == "number_in_a_day"


def test_the_fourth_advertisement_of_a_day_is_suppressed(api, acme):
    """Where no law has them wait at night."""
    publish(acme, SALE)
    sale: dict[str, Any] = {"template": {"name": SALE.name}, "variables": {}}

    answers = [text(api, n, phone=BRITISH, **sale) for n in range(5)]

    assert statuses(answers) == [202] * 5
    decisions = [answer.json()["decisions"][0] for answer in answers]
    assert [each["decision"] for each in decisions] == ["allow"] * 3 + ["suppress"] * 2
    assert decisions[3]["reason"] == "number_limited"
    assert decisions[3]["rule"] == "marketing_in_a_day"
    reasons = query("SELECT reason FROM audit_event WHERE kind = 'delivery.suppressed'")
    assert reasons == [{"reason": "number_limited"}] * 2


def test_repetitions_count_once_and_are_answered_when_the_number_is_full(api):
    first = code(api, 0)
    for _ in range(10):
        assert code(api, 0).content == first.content
    assert statuses([code(api, n) for n in range(1, 6)]) == [202] * 4 + [429]

    again = code(api, 0)

    assert again.status_code == 202
    assert again["Idempotent-Replayed"] == "true"
    assert again.content == first.content


def test_fifty_at_once_to_one_number_are_the_limit_and_no_more(acme):
    headers = authorization(api_key(acme))

    answers = run_together(
        *[lambda n=n: code(Api(Client(), headers), n) for n in range(50)]
    )

    assert sorted(statuses(answers)) == [202] * 5 + [429] * 45
    assert len(query("SELECT 1 FROM delivery")) == 5


def test_what_the_quota_refuses_is_not_counted(api, acme, settings):
    settings.SMS_A_DAY = 1
    limit(acme, daily_sms_quota=0)
    assert text(api, 1).json()["type"] == "/problems/daily-quota-exceeded"
    limit(acme, daily_sms_quota=5)

    assert statuses([text(api, 1), text(api, 2)]) == [202, 429]
    # And what the number refuses uses no quota up.
    assert (
        statuses([text(api, n, phone=f"+8490123450{n}") for n in range(3, 7)])
        == [202] * 4
    )


def test_tenants_have_counts_of_their_own(api, settings):
    settings.SMS_A_DAY = 1
    assert text(api, 1).status_code == 202
    assert text(api, 2).status_code == 429
    theirs = neighbour()

    assert text(theirs, 1).status_code == 202


def test_no_key_shows_a_number(api, settings):
    assert code(api, 1).status_code == 202
    assert text(api, "second").status_code == 202

    with Redis.from_url(settings.REDIS_URL, decode_responses=True) as valkey:
        keys = valkey.keys(f"{settings.VALKEY_PREFIX}*number:{{*")

    assert len(keys) == 4
    assert not [key for key in keys if AN[1:8] in key]


def test_an_email_asks_valkey_nothing(api, monkeypatch):
    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(sms_rules, "counts", fail)
    monkeypatch.setattr(sms_rules, "limits_of", fail)

    assert api.submit().status_code == 202


def test_without_valkey_otps_go_on_to_the_process_s_share(api, settings, valkey):
    settings.REDIS_URL = url_of(valkey)
    settings.EXPECTED_WEB_PROCESSES = 2
    caps.counts.cache_clear()
    kill(valkey)

    answers = [code(api, n) for n in range(6)]

    assert statuses(answers) == [202] * 3 + [429] * 3
    assert len(query("SELECT 1 FROM outbox")) == 3


# -- Where rules meet other parts ----------------------------------------------


def test_a_number_that_cannot_be_opened_is_left_to_the_claim(api, acme, consume):
    store(api, AN)
    with owner_connection() as owner:
        owner.execute("UPDATE address SET normalised = 'broken'::bytea")

    accepted = text(api, 1, phone=None)

    assert accepted.json()["decisions"][0]["decision"] == "allow"
    consume()
    (delivery,) = deliveries(accepted.json()["notification_id"])
    assert (delivery["status"], delivery["reason"]) == ("parked", "unsealable")


def test_a_key_of_another_request_is_told_so_and_counts_nothing(api, settings):
    settings.SMS_A_DAY = 2
    assert text(api, 1).status_code == 202

    for number in range(3):
        reused = text(api, 1, reference=f"another-{number}")
        assert reused.json()["type"] == "/problems/idempotency-key-reused"

    assert statuses([text(api, 2), text(api, 3)]) == [202, 429]


def test_what_is_dated_ahead_counts_when_it_is_accepted(api, settings):
    settings.SMS_A_DAY = 1
    later = (datetime.now(UTC) + timedelta(days=3)).isoformat()

    answers = [text(api, 1, send_at=later), text(api, 2)]

    assert statuses(answers) == [202, 429]
