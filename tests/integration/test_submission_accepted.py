"""What is accepted is kept and sent as it was meant, odd as it may look."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from foundation.ids import parse_public_id
from providers.channels import Channel
from templates.models import Template
from tenants.process_cache import forget_everything
from tests.acme import Api, deliveries, query, submission
from tests.factories.templates import ApprovedVersionFactory

KEY = submission()["idempotency_key"]
VARIABLES = submission()["variables"]
ANY_TEXT = {"type": "string", "x-text": "any"}
A_KEY_FOR_EACH = (f"key:{number}" for number in range(10_000))


def accept(api: Api, **changes: Any) -> str:
    return api.accept(idempotency_key=next(A_KEY_FOR_EACH), **changes)


def row_of(notification_id: str) -> dict[str, Any]:
    (row,) = query(
        "SELECT * FROM notification WHERE id = %s",
        parse_public_id("ntf", notification_id),
    )
    return row


def sent(api: Api, notification_id: str) -> list[dict[str, Any]]:
    """Read what the sandbox was given for a notification, oldest first."""
    answer = api.get("/v1/sandbox/messages", notification_id=notification_id)
    items: list[dict[str, Any]] = answer.json()["items"]
    return items[::-1]


def basis(decision):
    """Take off a decision what it was made of."""
    return {
        name: decision.pop(name) for name in ("preference_version", "time_zone", "at")
    }


def test_what_was_decided_is_told_later_as_it_was_then(api):
    answer = api.submit(channels=["email", "push"]).json()

    told = api.standing(answer["notification_id"])["decisions"]

    moments = [datetime.fromisoformat(each.pop("at")) for each in told]
    assert moments == [
        datetime.fromisoformat(each.pop("at")) for each in answer["decisions"]
    ]
    assert told == answer["decisions"]


def test_the_answer_says_what_was_decided_for_each_channel(api):
    api.put(
        "/v1/users/usr_an/notification-preferences",
        {"opt_outs": ["sms"]},
        **{"If-Match": api.get("/v1/users/usr_an/notification-preferences")["ETag"]},
    )
    answer = api.submit(
        channels=["sms", "email"], recipient={"user_id": "usr_an"}
    ).json()

    assert answer["status"] == "accepted"
    assert answer["channels"] == ["sms", "email"]
    bases = [basis(decision) for decision in answer["decisions"]]
    assert [(each["preference_version"], each["time_zone"]) for each in bases] == [
        (1, "Asia/Ho_Chi_Minh"),
        (1, "Asia/Ho_Chi_Minh"),
    ]
    assert answer["decisions"] == [
        {
            "channel": "sms",
            "decision": "suppress",
            "until": None,
            "reason": "opted_out",
            "rule": "channel_opt_out",
        },
        {
            "channel": "email",
            "decision": "allow",
            "until": None,
            "reason": "",
            "rule": "",
        },
    ]
    standing = api.standing(answer["notification_id"])
    assert {d["channel"]: d["status"] for d in standing["channels"]} == {
        "sms": "suppressed",
        "email": "pending",
    }


def test_a_person_without_an_address_is_told_to_be_unreachable(api):
    answer = api.submit(recipient={"user_id": "nobody"}, channels=["push"]).json()

    assert answer["decisions"][0]["reason"] == "no_address"
    assert api.standing(answer["notification_id"])["status"] == "suppressed"


def test_a_moment_counts_wherever_its_offset_lies(api, clock):
    """O-TIM-2"""
    at = (clock.now() + timedelta(days=30)).astimezone(UTC).replace(microsecond=0)
    there = at.replace(tzinfo=None) + timedelta(hours=7)

    notification_id = accept(api, send_at=f"{there.isoformat()}+07:00")

    assert row_of(notification_id)["send_at"] == at
    assert datetime.fromisoformat(api.standing(notification_id)["send_at"]) == at


def test_a_moment_just_past_means_now(api, consume, clock):
    """O-TIM-2, bad input 18"""
    now = clock.now()
    pasts = [now - timedelta(seconds=seconds) for seconds in (1, 290)]

    accepted = [accept(api, send_at=past.isoformat()) for past in pasts]
    consume()

    for notification_id in accepted:
        assert row_of(notification_id)["send_at"] >= now
        assert api.standing(notification_id)["status"] == "completed"


def test_the_horizon_is_four_hundred_days(api, clock):
    """Bad input 18"""
    at = clock.now() + timedelta(days=400)

    assert api.standing(accept(api, send_at=at.isoformat()))["status"] == "scheduled"


def test_priority_comes_from_the_category_unless_given(api):
    code = {"template": {"name": "login_code"}, "variables": {"code": "1"}}

    assert api.standing(accept(api))["priority"] == "normal"
    assert api.standing(accept(api, **code))["priority"] == "high"
    assert api.standing(accept(api, **code, priority="low"))["priority"] == "low"


def test_a_code_expires_by_itself_and_an_invoice_does_not(api):
    code = accept(api, template={"name": "login_code"}, variables={"code": "1"})

    row = row_of(code)
    assert row["expires_at"] - row["send_at"] == timedelta(minutes=5)
    assert row_of(accept(api))["expires_at"] is None


def test_without_a_version_the_newest_is_pinned_for_good(api, acme):
    before = accept(api, template={"name": "invoice_due"})
    ApprovedVersionFactory.create(
        template=Template.objects.get(tenant=acme, name="invoice_due"),
        contents={Channel.EMAIL: {"en": {"subject": "New", "text": "{{ amount }}"}}},
        schema={"properties": {name: {"type": "string"} for name in VARIABLES}},
    )
    forget_everything()  # a new version is noticed within 5 s
    after = accept(api, template={"name": "invoice_due"})
    chosen = accept(api, template={"name": "invoice_due", "version": 1})

    versions = [api.standing(one)["template"] for one in (before, after, chosen)]
    assert versions == [{"name": "invoice_due", "version": n} for n in (1, 2, 1)]


def test_what_the_caller_attached_comes_back(api):
    metadata = {"order": "928", "é/~": "", "k" * 40: "v" * 500}

    standing = api.standing(accept(api, reference=" inv 928 ", metadata=metadata))

    assert standing["reference"] == " inv 928 "
    assert standing["metadata"] == metadata
    assert standing["user_id"] == "usr_an"


def test_addresses_of_the_call_reach_a_person_without_a_profile(api, consume):
    notification_id = accept(
        api,
        recipient={
            "user_id": "stranger",
            "email": "r3+news@example.com",
            "phone": "\u0660912 345 678",
            "locale": "vi-VN",
        },
        channels=["email", "sms"],
    )
    consume()

    email, sms = sorted(sent(api, notification_id), key=lambda call: call["channel"])
    assert email["address"] == "r3+news@example.com"  # O-EML-3
    assert sms["address"] == "+84912345678"
    assert sms["parts"]["text"].startswith("Acme: 125.00 USD đến hạn")


def test_line_breaks_of_a_variable_do_not_reach_the_subject(api, consume):
    """O-EML-2, bad input 46"""
    titles = ["Lead the change:\nat TEDx Example", "Hi\r\nBcc: victim"]
    accepted = [accept(api, variables={**VARIABLES, "amount": t}) for t in titles]
    consume()

    for title, notification_id in zip(titles, accepted, strict=True):
        (call,) = sent(api, notification_id)
        assert call["address"] == "an@example.com"
        assert len(call["parts"]["subject"].splitlines()) == 1
        assert " ".join(title.split()) in call["parts"]["subject"]


def test_text_that_spells_an_escape_is_only_text(api, consume):
    """O-HYG-1"""
    harmless = "An\\u0000h"
    notification_id = accept(
        api, variables={**VARIABLES, "amount": harmless}, channels=["in_app"]
    )
    consume()

    inbox = api.get("/v1/users/usr_an/inbox").json()["items"]
    assert api.standing(notification_id)["status"] == "completed"
    assert harmless in inbox[0]["body"]


def test_a_template_in_a_variable_is_only_text(api, consume):
    """Bad input 42"""
    tricks = ["{{ 7*7 }}", "{% debug %}", "${7*7}", "<%= 7 %>", "{{ amount }}"]
    accepted = [accept(api, variables={**VARIABLES, "amount": t}) for t in tricks]
    consume()

    for trick, notification_id in zip(tricks, accepted, strict=True):
        assert trick in sent(api, notification_id)[0]["parts"]["text"]


def test_markup_that_a_schema_allows_is_escaped_where_it_would_be_markup(
    api, acme, consume
):
    """Bad input 37"""
    ApprovedVersionFactory.create(
        template__tenant=acme,
        template__name="said",
        schema={"type": "object", "properties": {"name": ANY_TEXT}},
    )
    markup = "<img src=x onerror=alert(1)> & Sons"
    notification_id = accept(api, template={"name": "said"}, variables={"name": markup})
    consume()

    parts = sent(api, notification_id)[0]["parts"]
    assert markup in parts["text"]
    assert markup in parts["subject"]
    assert "<img" not in parts["html"]
    assert "&lt;img" in parts["html"]


def test_any_printable_key_will_do(api):
    """Bad input 2, 3"""
    keys = ["k" * 255, '"quoted"', "a b", "~!@#$%^&*()", "../../etc", "'; DROP TABLE x"]
    first = [api.accept(idempotency_key=key) for key in keys]

    assert [api.accept(idempotency_key=key) for key in keys] == first
    assert len(set(first)) == len(keys)


def test_numbers_are_compared_by_value_and_text_as_sent(api, acme):
    """Bad input 6: defined in docs/problems.md"""
    ApprovedVersionFactory.create(
        template__tenant=acme,
        template__name="free",
        contents={Channel.SMS: {"en": {"text": "{{ n }} {{ name }}"}}},
        schema={"properties": {"n": {"type": "number"}, "name": {"type": "string"}}},
    )
    free = {"template": {"name": "free"}, "channels": ["sms"]}

    def with_variables(variables: str) -> Any:
        body = json.dumps(submission(**free, variables=None))[:-1]
        return api.post("/v1/notifications", f'{body}, "variables": {variables}}}')

    first = with_variables('{"n": 1, "name": "caf\\u00e9"}')
    same = with_variables('{"name":"café","n":1.0}')
    decomposed = with_variables('{"n": 1, "name": "cafe\\u0301"}')

    assert first.status_code == 202
    assert same.json() == first.json()
    assert same["Idempotent-Replayed"] == "true"
    assert decomposed.status_code == 409


def test_everything_of_one_acceptance_is_written_and_nothing_else(api):
    notification_id = api.accept(channels=["email", "sms", "push", "in_app"])

    counts = {
        table: query(f"SELECT count(*) AS n FROM {table}")[0]["n"]
        for table in (
            "notification",
            "notification_content",
            "delivery",
            "outbox",
            "idempotency_key",
        )
    }
    assert list(counts.values()) == [1, 1, 4, 4, 1]
    (key,) = query("SELECT key, status_code, resource FROM idempotency_key")
    assert key == {
        "key": KEY,
        "status_code": 202,
        "resource": parse_public_id("ntf", notification_id),
    }
    assert all(row["status"] == "pending" for row in deliveries(notification_id))
