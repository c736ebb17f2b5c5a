from __future__ import annotations

import pytest

from providers.channels import Channel
from templates.parts import Kind
from templates.rendering import FailureReason, RenderFailed, render
from templates.tidying import tidy
from tests.factories.templates import pinned_version


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n  Your order\n", "Your order"),
        ("Lead the change:\nat TEDx Example", "Lead the change: at TEDx Example"),
        ("Hi\r\nBcc: victim@example.net", "Hi Bcc: victim@example.net"),
        ("a\r\n\r\n \n b", "a b"),
        ("a\N{LINE SEPARATOR}b\N{PARAGRAPH SEPARATOR}c\x85d\x0be\x0cf", "a b c d e f"),
        ("a\tb", "a b"),
        ("a\x00b\x1b[31m\x7f\x9f", "ab[31m"),
        ("Acme\N{RIGHT-TO-LEFT OVERRIDE}knaB", "AcmeknaB"),
        ("two  spaces stay", "two  spaces stay"),
        ("👩‍👩‍👧 café Nguyễn ﷽", "👩‍👩‍👧 café Nguyễn ﷽"),
        ("\n\t ", ""),
    ],
)
def test_subject_and_title_are_one_line(text: str, line: str) -> None:
    """O-EML-2, bad input 46, 53."""
    assert tidy(text, kind=Kind.LINE) == line


def test_line_breaks_in_variables_do_not_reach_the_subject() -> None:
    """O-EML-2 a to c."""
    parts = {"subject": "\nNews: {{ title }}\n", "text": "{{ title }}"}
    version = pinned_version(
        {Channel.EMAIL: {"en": parts}},
        schema={"properties": {"title": {"type": "string", "x-text": "any"}}},
    )
    variables = {"title": "Hi\r\nBcc: victim@example.net"}

    rendered = render(version, channel=Channel.EMAIL, locale="en", variables=variables)

    assert rendered.parts["subject"] == "News: Hi Bcc: victim@example.net"
    assert rendered.parts["text"] == "Hi\r\nBcc: victim@example.net"


def in_app(**parts: str) -> dict[str, str]:
    version = pinned_version({Channel.IN_APP: {"en": parts}})
    return render(version, channel=Channel.IN_APP, locale="en", variables={}).parts


@pytest.mark.parametrize(
    "link",
    ["https://example.com/a?b=c", "HTTP://example.com", "/orders/1", "acme:orders/1"],
)
def test_link_may_lead_to_the_web_a_path_or_an_app(link: str) -> None:
    assert in_app(title="Hi", body="There", link=link)["link"] == link


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        " JavaScript:alert(1)",
        "java\nscript:alert(1)",
        "java\x00script:alert(1)",
        "javascript://%0aalert(1)",
        "data:text/html,hi",
        "vbscript:a",
        "file:///etc/passwd",
        "//evil.example",
        "/\\evil.example",
        "evil.example",
    ],
)
def test_link_that_runs_embeds_or_leads_astray_fails(link: str) -> None:
    """Bad input 40."""
    with pytest.raises(RenderFailed) as failed:
        in_app(title="Hi", body="There", link=link)

    assert failed.value.reason is FailureReason.UNSAFE_LINK


def test_optional_part_that_came_out_blank_is_left_out() -> None:
    assert in_app(title="Hi", body="There", link=" ").keys() == {"title", "body"}


@pytest.mark.parametrize(
    ("channel", "parts"),
    [
        (Channel.SMS, {"text": " \n"}),
        (Channel.EMAIL, {"subject": "{# nothing #}", "text": "There"}),
        (Channel.EMAIL, {"subject": "Hi", "text": "", "html": " "}),
    ],
)
def test_message_that_came_out_blank_fails(
    channel: Channel, parts: dict[str, str]
) -> None:
    """Bad input 50."""
    version = pinned_version({channel: {"en": parts}})

    with pytest.raises(RenderFailed) as failed:
        render(version, channel=channel, locale="en", variables={})

    assert failed.value.reason is FailureReason.EMPTY


def test_email_needs_only_one_of_text_and_html() -> None:
    parts = {"subject": "Hi", "text": " ", "html": "<p>There</p>"}
    version = pinned_version({Channel.EMAIL: {"en": parts}})

    rendered = render(version, channel=Channel.EMAIL, locale="en", variables={})

    assert rendered.parts.keys() == {"subject", "html"}


@pytest.mark.parametrize("data", ["[1]", "{", '{"a": NaN}', '"a"'])
def test_push_data_that_is_no_json_object_fails(data: str) -> None:
    parts = {"title": "Hi", "body": "There", "data": data}
    version = pinned_version({Channel.PUSH: {"en": parts}})

    with pytest.raises(RenderFailed) as failed:
        render(version, channel=Channel.PUSH, locale="en", variables={})

    assert failed.value.reason is FailureReason.INVALID_JSON
