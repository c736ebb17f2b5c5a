"""Hours and labels that a tenant or the law of a country asks for, to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notifications.dispatch.settling import settle_batch
from notifications.management.sample import publish
from tenants.process_cache import forget_everything
from tests.acme import Api, deliveries, query
from tests.integration.test_quiet_hours_at_the_claim import claim, try_to_send
from tests.texts import AN, BRITISH, SALE, limit, text

# Vietnam is seven hours ahead.
AT_NOON = datetime(2026, 8, 19, 5, tzinfo=UTC)
AT_TEN = datetime(2026, 8, 19, 15, tzinfo=UTC)
AT_SEVEN = datetime(2026, 8, 20, 0, tzinfo=UTC)
ADVERTISEMENT = {"template": {"name": SALE.name}, "variables": {}}


@pytest.fixture
def shop(api: Api, acme: Any, clock: Any, consume: Any) -> Iterator[Api]:
    """Stop the clock at ten in the evening; in the end all that waits goes out."""
    clock.stop_at(AT_TEN)
    publish(acme, SALE)
    yield api
    clock.stop_at(AT_NOON + timedelta(days=1))
    consume()


def advertise(api: Api, key: str, **changes: Any) -> tuple[str, dict[str, Any]]:
    """Submit an advertisement; return its id and what was decided."""
    answer = text(api, key, **{**ADVERTISEMENT, **changes})
    assert answer.status_code == 202, answer.content
    (decision,) = answer.json()["decisions"]
    return answer.json()["notification_id"], decision


def standing(notification_id: str) -> tuple[str, str]:
    (delivery,) = deliveries(notification_id)
    return delivery["status"], delivery["reason"]


def sent_texts(api: Api, notification_id: str) -> list[str]:
    answer = api.get("/v1/sandbox/messages", notification_id=notification_id)
    return [each["parts"]["text"] for each in answer.json()["items"]]


@pytest.mark.parametrize("phone", [AN, None], ids=["named", "known"])
def test_an_advertisement_to_vietnam_waits_for_seven_and_says_what_it_is(
    shop, consume, clock, phone
):
    """Decree 91/2020; bad input 51."""
    shop.put("/v1/users/usr_x", {"phone": AN, "time_zone": "Europe/London"})
    notification_id, decision = advertise(shop, "sale", phone=phone)

    assert (decision["rule"], decision["reason"]) == ("regional_hours",) * 2
    assert decision["time_zone"] == "Asia/Ho_Chi_Minh"
    assert datetime.fromisoformat(decision["until"]) == AT_SEVEN
    (known,) = shop.standing(notification_id)["channels"]
    assert known["waiting_for"] == "quiet_hours"
    consume()
    assert sent_texts(shop, notification_id) == []
    clock.stop_at(AT_SEVEN)
    consume()

    assert standing(notification_id) == ("sent", "")


def test_the_label_is_in_the_text_that_is_sent(shop, consume, clock):
    clock.stop_at(AT_NOON)
    notification_id, _ = advertise(shop, "sale", phone=AN)
    abroad, _ = advertise(shop, "abroad", phone=BRITISH)
    consume()

    assert sent_texts(shop, notification_id) == ["[QC] Everything must go."]
    assert sent_texts(shop, abroad) == ["Everything must go."]


def test_a_code_and_another_country_do_not_wait(shop, consume):
    code = text(
        shop, "code", template={"name": "login_code"}, variables={"code": "482913"}
    ).json()
    abroad, decision = advertise(shop, "abroad", phone=BRITISH)
    consume()

    assert standing(code["notification_id"]) == ("sent", "")
    assert decision["decision"] == "allow"
    assert standing(abroad) == ("sent", "")


def test_what_was_allowed_at_noon_is_judged_again_at_night(shop, consume, clock):
    """The answer was true then, and the claim is true now."""
    clock.stop_at(AT_NOON)
    notification_id, decision = advertise(shop, "sale")
    assert decision["decision"] == "allow"
    clock.stop_at(AT_TEN)
    consume()

    assert standing(notification_id) == ("pending", "regional_hours")
    clock.stop_at(AT_SEVEN)
    consume()
    assert standing(notification_id) == ("sent", "")


def test_nothing_is_opened_between_the_claim_and_the_call(shop, clock):
    """A data key that the process forgets meanwhile is not missed on the event loop."""
    clock.stop_at(AT_NOON)
    notification_id, _ = advertise(shop, "sale", phone=AN)
    (claimed,) = claim()
    forget_everything()

    settle_batch([asyncio.run(try_to_send(claimed))])

    assert standing(notification_id) == ("sent", "")


def test_a_fourth_advertisement_in_a_day_is_the_laws_business(shop, settings, clock):
    """However many the platform would let pass."""
    clock.stop_at(AT_NOON)
    settings.SMS_MARKETING_A_DAY = 0
    decisions = [advertise(shop, f"sale-{n}")[1] for n in range(4)]
    abroad = [advertise(shop, f"uk-{n}", phone=BRITISH)[1] for n in range(4)]

    assert [each["decision"] for each in decisions] == ["allow"] * 3 + ["suppress"]
    assert decisions[-1]["reason"] == "number_limited"
    assert [each["decision"] for each in abroad] == ["allow"] * 4


def test_the_tenants_hours_are_by_the_clock_of_each_person(shop, acme, consume, clock):
    limit(acme, quiet_hours="daily 21:00-08:00")
    people = {"usr_hn": "Asia/Ho_Chi_Minh", "usr_ldn": "Europe/London", "usr_x": None}
    ids = {}
    for user_id, zone in people.items():
        shop.put(f"/v1/users/{user_id}", {"email": "x@b.co", "time_zone": zone})
        ids[user_id] = shop.accept(
            idempotency_key=user_id, recipient={"user_id": user_id}
        )
    consume()

    held = ("pending", "tenant_quiet_hours")
    # Acme is in Vietnam, and so is who has not said otherwise.
    assert {user_id: standing(each) for user_id, each in ids.items()} == {
        "usr_hn": held,
        "usr_ldn": ("sent", ""),
        "usr_x": held,
    }
    clock.stop_at(datetime(2026, 8, 20, 1, tzinfo=UTC))
    consume()
    assert standing(ids["usr_hn"]) == ("sent", "")


def test_a_device_says_where_its_owner_is(shop, acme, consume, clock):
    """It goes before the profile and the tenant."""
    limit(acme, quiet_hours="daily 21:00-08:00")
    shop.put("/v1/users/usr_x", {"email": "x@b.co", "time_zone": "Asia/Ho_Chi_Minh"})
    device = {"platform": "fcm", "token": "phone", "time_zone": "Europe/London"}
    assert shop.post("/v1/users/usr_x/devices", device).status_code == 201
    notification_id = shop.accept(recipient={"user_id": "usr_x"})
    consume()

    assert standing(notification_id) == ("sent", "")


def test_explain_tells_of_the_region_and_the_tenant(shop, acme):
    shop.put("/v1/users/usr_x", {"phone": AN})

    def explained() -> list[tuple[str, str | None]]:
        body = {"category": "marketing", "channels": ["sms"]}
        answer = shop.post("/v1/users/usr_x/explain", body)
        (channel,) = answer.json()["channels"]
        return [(each["rule"], each["verdict"]) for each in channel["considered"]][-2:]

    assert explained() == [("tenant_quiet_hours", None), ("regional_hours", "defer")]
    limit(acme, quiet_hours="daily 22:00-08:00")
    assert explained()[-1] == ("tenant_quiet_hours", "defer")


def test_a_person_gets_so_many_of_a_category_and_no_more(shop, acme):
    """Counted are those that go out, once for all their channels."""
    query(
        "UPDATE tenant_category SET most_messages = 2, most_in_hours = 24"
        " WHERE tenant_id = %s AND name = 'transactional' RETURNING 1",
        acme.pk,
    )
    limit(acme)
    both = {"channels": ["email", "in_app"], "recipient": {"user_id": "usr_an"}}
    first = [shop.submit(idempotency_key=f"k{n}", **both).json() for n in range(3)]
    other = shop.submit(
        idempotency_key="other", recipient={"user_id": "usr_bao"}
    ).json()
    again = shop.submit(idempotency_key="k0", **both)

    verdicts = [[each["decision"] for each in one["decisions"]] for one in first]
    assert verdicts == [["allow"] * 2, ["allow"] * 2, ["suppress"] * 2]
    assert {each["reason"] for each in first[-1]["decisions"]} == {"capped"}
    assert {each["rule"] for each in first[-1]["decisions"]} == {"category_cap"}
    assert other["decisions"][0]["decision"] == "allow"
    assert again.json() == first[0]


def test_a_cap_is_of_its_category_alone(shop, acme):
    query(
        "UPDATE tenant_category SET most_messages = 1, most_in_hours = 1"
        " WHERE tenant_id = %s AND name = 'transactional' RETURNING 1",
        acme.pk,
    )
    limit(acme)
    shop.accept(idempotency_key="first")
    capped = shop.submit(idempotency_key="second").json()["decisions"][0]
    code = text(
        shop, "code", template={"name": "login_code"}, variables={"code": "482913"}
    ).json()

    assert capped["decision"] == "suppress"
    assert code["decisions"][0]["decision"] == "allow"
