from __future__ import annotations

import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.channels import Channel
from templates.rendering import render
from tests.factories.templates import pinned_version

NAME = "O'Brien & Sons <VIP>"
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1)
# Of letters with dots between them a filter may make a link, which is not sent.
undotted = texts.map(lambda text: re.sub("[.:。．｡]", "", text))  # noqa: RUF001


def email(text: str) -> dict[str, str]:
    version = pinned_version(
        {Channel.EMAIL: {"en": {"subject": text, "text": text, "html": text}}}
    )
    return render(
        version, channel=Channel.EMAIL, locale="en", variables={"name": NAME}
    ).parts


def rendered_html(template: str, value: object) -> str:
    version = pinned_version(
        {Channel.EMAIL: {"en": {"subject": "Hi", "html": template}}},
        # What is drawn may be a link, and is not what is tested here.
        schema={"properties": {"value": {"type": "string", "x-text": "any"}}},
    )
    rendered = render(
        version, channel=Channel.EMAIL, locale="en", variables={"value": value}
    )
    return rendered.parts["html"]


def test_only_the_html_part_is_escaped_and_only_once() -> None:
    """O-EML-1, bad input 37."""
    parts = email("Order for {{ name }}")

    assert parts["subject"] == parts["text"] == f"Order for {NAME}"
    assert parts["html"] == "Order for O&#x27;Brien &amp; Sons &lt;VIP&gt;"


@pytest.mark.parametrize(
    ("channel", "parts"),
    [
        (Channel.SMS, {"text": "{{ name }}"}),
        (Channel.PUSH, {"title": "{{ name }}", "body": "{{ name }}"}),
        (Channel.IN_APP, {"title": "{{ name }}", "body": "{{ name }}"}),
    ],
)
def test_other_channels_are_not_escaped(
    channel: Channel, parts: dict[str, str]
) -> None:
    """O-EML-1."""
    version = pinned_version({channel: {"en": parts}})

    rendered = render(version, channel=channel, locale="en", variables={"name": NAME})

    assert set(rendered.parts.values()) == {NAME}


@given(texts)
def test_unescaping_html_once_gives_the_value_back(value: str) -> None:
    written = rendered_html("<p title='{{ value }}'>{{ value }}</p>", value)

    inside = written.removeprefix("<p title='").removesuffix("</p>")
    assert inside.replace("'>", "").count("<") == 0
    assert html.unescape(inside) == f"{value}'>{value}"


@given(texts)
def test_a_captured_text_is_not_escaped_again(value: str) -> None:
    captured = "{% set line %}{{ value }}{% endset %}<i>{{ line }}</i>"

    assert rendered_html(captured, value) == rendered_html("<i>{{ value }}</i>", value)


@given(undotted)
@pytest.mark.parametrize(
    "template",
    [
        "{{ value ~ '' }}",
        "{{ value|trim|upper|lower|string|replace('q', value) }}",
        "{{ [1, 2]|join(value) }}",
        "{{ value|default('') }}{{ value|indent(2) }}",
        "{{ value|split('')|join(value) }}",
        "{% set a %}&{% endset %}{{ a ~ value }}{{ a|replace('&', value) }}",
        "{% set a %}{{ value }}{% endset %}{{ a|replace('&lt;', '<') }}{{ a[0:9] }}",
        "{% for a in value|split(';') %}{{ a }}{% endfor %}",
        "{{ value|first }}{{ value|last }}{{ value[1:] }}{{ value|reverse }}",
    ],
)
def test_no_filter_lets_a_tag_through(template: str, value: str) -> None:
    written = rendered_html(template, value + "<script>")

    assert "<" not in written


def test_values_in_push_data_are_json() -> None:
    parts = {
        "title": "Hi",
        "body": "There",
        "data": '{"order": {{ order }}, "items": {{ items }}, "n": {{ n }}}',
    }
    version = pinned_version({Channel.PUSH: {"en": parts}})
    variables = {"order": 'A"1\\\n</script>', "items": ["a", {"b": None}], "n": 1.5}

    rendered = render(version, channel=Channel.PUSH, locale="en", variables=variables)

    assert json.loads(rendered.parts["data"]) == variables


@pytest.mark.parametrize(
    "value",
    ["{{ 7*7 }}", "{% debug %}", "{{ ''.__class__ }}", "${7*7}", "<%= 1 %>", "#{1}"],
)
def test_template_syntax_in_a_variable_is_text(value: str) -> None:
    """Bad input 42."""
    version = pinned_version({Channel.SMS: {"en": {"text": "{{ value }}"}}})

    rendered = render(
        version, channel=Channel.SMS, locale="en", variables={"value": value}
    )

    assert rendered.parts == {"text": value}
