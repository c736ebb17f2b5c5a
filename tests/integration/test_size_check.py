"""Where a tenant asks for it, what would not arrive whole is refused at once."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.management.sample import SampleTemplate, publish
from providers.channels import Channel
from tenants.categories import Category
from tests.acme import Api, query
from tests.texts import limit

HTML = "<p>{{ text }}{{ text }}{{ text }}{{ text }}</p>"
TEMPLATE = SampleTemplate(
    name="digest",
    category=Category.TRANSACTIONAL,
    variables={"text": "Hello"},
    contents={
        Channel.EMAIL: {"en": {"subject": "News", "html": HTML}},
        Channel.SMS: {"en": {"text": "{{ text }}"}},
        Channel.PUSH: {"en": {"title": "News", "body": "{{ text }}"}},
        Channel.IN_APP: {"en": {"title": "News", "body": "{{ text }}"}},
    },
)


@pytest.fixture
def checked(api: Api, acme: Any) -> Api:
    publish(acme, TEMPLATE)
    limit(acme, checks_sizes=True)
    api.post("/v1/users/usr_an/devices", {"platform": "fcm", "token": "phone"})
    return api


def submit(api: Api, text: str, *channels: str, key: str = "key") -> Any:
    return api.submit(
        idempotency_key=key,
        template={"name": "digest"},
        variables={"text": text},
        channels=list(channels),
    )


def faults(answer: Any) -> dict[str, str]:
    assert answer.status_code == 422, answer.content
    return {each["pointer"]: each["detail"] for each in answer.json()["errors"]}


@pytest.mark.parametrize(
    ("text", "channel", "told"),
    [
        ("đ" * 671, "sms", "11 segments"),  # 49
        ("🙂" * 1_100, "push", "payload too large"),  # 52
        ("đ" * 13_000, "email", "bytes of HTML"),  # O-EML-6
        (" ", "sms", "cannot be rendered: empty"),  # 50
    ],
)
def test_what_would_not_arrive_whole_is_refused_with_its_size(
    checked, text, channel, told
):
    """Bad input 49, 50, 52; O-EML-6."""
    answer = submit(checked, text, "in_app", channel)

    problems = faults(answer)
    assert told in problems["/channels/1"]
    assert query("SELECT 1 FROM notification") == []


def test_what_fits_is_accepted_and_each_channel_has_its_own_fault(checked):
    assert submit(checked, "đ" * 670, "sms", key="fits").status_code == 202

    problems = faults(submit(checked, "đ" * 13_000, "in_app", "email", "sms", "push"))

    assert {"/channels/1", "/channels/2", "/channels/3"} <= problems.keys()


def test_nobody_else_is_checked(checked, acme):
    limit(acme, checks_sizes=False)

    assert submit(checked, "đ" * 671, "sms").status_code == 202


def test_a_repetition_is_answered_as_before_even_if_it_were_refused_now(checked, acme):
    limit(acme, checks_sizes=False)
    first = submit(checked, "đ" * 671, "sms")
    limit(acme, checks_sizes=True)

    again = submit(checked, "đ" * 671, "sms")

    assert again.status_code == 202
    assert again.json() == first.json()
