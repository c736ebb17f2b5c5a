"""A day's text messages cost what they may, and not one more is accepted."""

from __future__ import annotations

from typing import Any

from notifications.management.sample import SampleTemplate, publish
from providers.channels import Channel
from tenants.categories import Category
from tenants.models import Tenant
from tests.texts import BRITISH, code, limit, statuses, text


def cap(tenant: Tenant, settings: Any, units: int | None, price: str) -> None:
    settings.SMS_PRICES = {"*": price, "VN": price}
    limit(tenant, daily_sms_spend_cap=units)


def test_what_would_cost_more_than_the_cap_is_refused_until_tomorrow(
    api, acme, settings
):
    cap(acme, settings, 1, "0.25")
    assert statuses([text(api, n) for n in range(4)]) == [202] * 4

    refusal, otp = text(api, 4), code(api, 5)

    assert (refusal.status_code, otp.status_code) == (429, 429)
    body = refusal.json()
    assert body["type"] == "/problems/spend-cap-exceeded"
    assert body["cap"] == 1
    assert 0 < int(refusal["Retry-After"]) <= 86_400
    assert "resets_at" in body
    assert api.submit().status_code == 202  # an e-mail costs nothing


def test_prices_are_the_countrys(api, acme, settings):
    settings.SMS_PRICES = {"*": "1", "VN": "0.01"}
    limit(acme, daily_sms_spend_cap=1, sms_countries="*")

    answers = [text(api, 1), text(api, 2, phone=BRITISH), text(api, 3)]

    assert statuses(answers) == [202, 429, 202]


def test_repetitions_cost_nothing(api, acme, settings):
    cap(acme, settings, 1, "0.5")
    for _ in range(4):
        assert text(api, 1).status_code == 202

    assert statuses([text(api, 2), text(api, 3), text(api, 1)]) == [202, 429, 202]


def test_the_number_that_is_refused_costs_nothing(api, acme, settings):
    cap(acme, settings, 1, "0.5")
    settings.SMS_A_DAY = 1

    answers = [text(api, 1), text(api, 2), text(api, 3, phone="+84901234999")]

    assert statuses(answers) == [202, 429, 202]


def test_long_texts_cost_by_the_segment_of_the_longest(api, acme, settings):
    contents = {"en": {"text": "Short."}, "vi": {"text": "ă" * 71}}
    long = SampleTemplate(
        name="long",
        category=Category.TRANSACTIONAL,
        variables={},
        contents={Channel.SMS: contents},
    )
    publish(acme, long)
    cap(acme, settings, 1, "0.25")

    answers = [text(api, n, template={"name": "long"}, variables={}) for n in range(3)]

    assert statuses(answers) == [202, 202, 429]


def test_transliterated_texts_cost_what_they_are_sent_for(api, acme, settings):
    long = SampleTemplate(
        name="long",
        category=Category.TRANSACTIONAL,
        variables={},
        contents={Channel.SMS: {"en": {"text": "ă" * 160}}},
    )
    publish(acme, long)
    cap(acme, settings, 1, "0.5")
    limit(acme, transliterates_sms=True)

    answers = [text(api, n, template={"name": "long"}, variables={}) for n in range(3)]

    assert statuses(answers) == [202, 202, 429]


def test_staff_are_warned_once_when_most_is_spent(api, acme, settings, caplog):
    cap(acme, settings, 1, "0.1")

    assert statuses([text(api, n) for n in range(10)]) == [202] * 10

    warned = [each for each in caplog.records if "nearly_used_up" in str(each.msg)]
    assert len(warned) == 1
