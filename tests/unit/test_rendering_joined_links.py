"""A link that no variable holds, and no template, is not sent."""

from __future__ import annotations

from typing import Any

import pytest

from providers.channels import Channel
from templates.rendering import FailureReason, RenderFailed, render
from tests.factories.templates import pinned_version

URL = {"type": "string", "format": "uri", "x-hosts": ["example.com"]}
ANY = {"type": "string", "x-text": "any"}


def sms(
    text: str, *, properties: dict[str, Any] | None = None, **variables: Any
) -> str:
    version = pinned_version(
        {Channel.SMS: {"en": {"text": text}}}, schema={"properties": properties or {}}
    )
    rendered = render(version, channel=Channel.SMS, locale="en", variables=variables)
    return rendered.parts["text"]


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("{{ a }}{{ b }}", {"a": "evil.c", "b": "om"}),
        ("{{ a }}.{{ b }}", {"a": "evil", "b": "com"}),
        ("{{ a }}.com", {"a": "evil"}),
        ("{{ a }}.com.vn", {"a": "evil"}),
        ("evil.{{ b }}", {"b": "com"}),
        ("https://{{ a }}/", {"a": "evil"}),
        ("{{ a }}://{{ b }}", {"a": "https", "b": "evil"}),
        ("https://example.com{{ a }}/", {"a": "@evil"}),
        ("https://example.com{{ a }}.net/", {"a": ".evil"}),
        ("www.{{ a }}", {"a": "evil"}),
        ("{{ a }}.{{ a }}.{{ a }}.{{ a }}", {"a": "1"}),
        ("{% for x in a %}{{ x }}{% endfor %}", {"a": ["evil.", "com"]}),
        ("{{ a|join('.') }}", {"a": ["evil", "com"]}),
        ("{{ a|replace(' ', '.') }}", {"a": "evil com"}),
        ("{{ a }}{{ b }}", {"a": "evil.c\u200b", "b": "om"}),
    ],
)
def test_link_joined_of_variables_is_refused(
    text: str, variables: dict[str, Any]
) -> None:
    """Bad input 39"""
    with pytest.raises(RenderFailed) as failed:
        sms(text, **variables)

    assert failed.value.reason is FailureReason.JOINED_LINK
    assert str(failed.value) == "joined_link in text"


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("See https://example.com/orders/{{ a }}", {"a": "1.2"}),
        ("example.com/{{ a }}?b={{ b }}", {"a": "x", "b": "y"}),
        ("https://{{ a }}.example.com/", {"a": "acme"}),
        ("Ask help@example.com, {{ a }}.", {"a": "An"}),
        ("{% set site = 'example.com' %}https://{{ site }}/{{ a }}", {"a": "1"}),
        ("example{% if a %}.com{% endif %}", {"a": "1"}),
        ("{% if a %}example.com{% else %}example.net{% endif %}", {"a": ""}),
        ("Hello {{ a }}.{{ b }}", {"a": "An", "b": "Your order is on its way"}),
        ("{{ a }}.{{ b }}", {"a": "12", "b": "50"}),
    ],
)
def test_link_of_the_template_itself_is_sent(
    text: str, variables: dict[str, Any]
) -> None:
    assert sms(text, **variables)


def test_link_of_a_variable_that_may_hold_one_is_sent() -> None:
    properties = {"url": URL, "said": ANY, "site": {"enum": ["example.org"]}}
    variables = {
        "url": "https://example.com/1",
        "said": "look at evil.com",
        "site": "example.org",
    }

    text = sms("{{ url }} {{ said }} {{ site }}", properties=properties, **variables)

    assert text == "https://example.com/1 look at evil.com example.org"


def test_default_of_the_schema_may_hold_a_link() -> None:
    site = {"type": "string", "default": "example.org"}

    assert sms("{{ site }}", properties={"site": site}) == "example.org"


@pytest.mark.parametrize(
    ("channel", "parts"),
    [
        (Channel.EMAIL, {"subject": "{{ a }}{{ b }}", "text": "Hi"}),
        (Channel.EMAIL, {"subject": "Hi", "text": "{{ a }}{{ b }}"}),
        (Channel.EMAIL, {"subject": "Hi", "html": "<p>{{ a }}{{ b }}</p>"}),
        (Channel.EMAIL, {"subject": "Hi", "html": "<a href='{{ a }}{{ b }}'>x</a>"}),
        (Channel.PUSH, {"title": "{{ a }}{{ b }}", "body": "Hi"}),
        (Channel.PUSH, {"title": "Hi", "body": "{{ a }}{{ b }}"}),
        (Channel.PUSH, {"title": "Hi", "body": "Hi", "link": "{{ a }}{{ b }}"}),
    ],
)
def test_every_text_that_a_client_links_is_looked_at(
    channel: Channel, parts: dict[str, str]
) -> None:
    """Bad input 39"""
    variables = {"a": "https://ev", "b": "il.com"}

    with pytest.raises(RenderFailed) as failed:
        render(
            pinned_version({channel: {"en": parts}}),
            channel=channel,
            locale="en",
            variables=variables,
        )

    assert failed.value.reason is FailureReason.JOINED_LINK


def test_escaped_link_of_a_variable_is_the_same_link() -> None:
    version = pinned_version(
        {Channel.EMAIL: {"en": {"subject": "Hi", "html": "<a href='{{ url }}'>x</a>"}}},
        schema={"properties": {"url": URL}},
    )

    rendered = render(
        version,
        channel=Channel.EMAIL,
        locale="en",
        variables={"url": "https://example.com/?a=1&b=2"},
    )

    assert "example.com" in rendered.parts["html"]


@pytest.mark.parametrize("part", ["title", "body"])
def test_the_inbox_makes_no_links(part: str) -> None:
    parts = {"title": "Hi", "body": "Hi", part: "{{ a }}{{ b }}"}

    rendered = render(
        pinned_version({Channel.IN_APP: {"en": parts}}),
        channel=Channel.IN_APP,
        locale="en",
        variables={"a": "evil", "b": ".com"},
    )

    assert rendered.parts[part] == "evil.com"
