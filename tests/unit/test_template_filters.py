"""Dates, numbers, money and plurals in the reader's language and time zone."""

from __future__ import annotations

from typing import Any

import pytest

from providers.channels import Channel
from templates.filters import needed_forms
from templates.grammar import plural_forms
from templates.rendering import FailureReason, RenderFailed, render
from tests.factories.templates import pinned_version

LETTERS = '{{ n|plural(one="письмо", few="письма", many="писем", other="письма") }}'


def written(
    text: str, *, locale: str = "en", zone: str = "UTC", **variables: Any
) -> str:
    """Render a text message of one locale, its no-break spaces plain."""
    version = pinned_version({Channel.SMS: {locale: {"text": text}}})
    rendered = render(
        version,
        channel=Channel.SMS,
        locale=locale,
        variables=variables,
        time_zone=zone,
    )
    return rendered.parts["text"].replace("\u00a0", " ").replace("\u202f", " ")


def refusal(text: str, **variables: Any) -> FailureReason:
    with pytest.raises(RenderFailed) as failed:
        written(text, **variables)
    return failed.value.reason


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (0, "0 писем"),
        (1, "1 письмо"),
        (2, "2 письма"),
        (5, "5 писем"),
        (11, "11 писем"),
        (21, "21 письмо"),
        (22, "22 письма"),
        (111, "111 писем"),
        (1.5, "1,5 письма"),
        ("1.5", "1,5 письма"),
    ],
)
def test_russian_has_four_plural_forms(n: object, said: str) -> None:
    """O-TPL-3"""
    assert written("{{ n|number }} " + LETTERS, locale="ru", n=n) == said


@pytest.mark.parametrize(
    ("locale", "n", "form"),
    [
        ("pl", 1, "one"),
        ("pl", 3, "few"),
        ("pl", 5, "many"),
        ("pl", 22, "few"),
        ("ar", 0, "zero"),
        ("ar", 2, "two"),
        ("ar", 6, "few"),
        ("ar", 11, "many"),
        ("ar", 100, "other"),
        ("fr", 1_000_000, "other"),  # many, which is seldom written
        ("vi", 1, "one"),
        ("de-AT", 1, "one"),
    ],
)
def test_other_languages_have_their_own(locale: str, n: int, form: str) -> None:
    names = ["zero", "one", "two", "few", "many", "other"]
    if locale == "fr":
        names.remove("many")
    forms = ", ".join(f'{name}="{name}"' for name in names)

    assert written(f"{{{{ n|plural({forms}) }}}}", locale=locale, n=n) == form


@pytest.mark.parametrize(
    ("locale", "forms"),
    [
        ("ru", {"one", "few", "many"}),
        ("pl", {"one", "few", "many"}),
        ("ar", {"zero", "one", "two", "few", "many", "other"}),
        ("en", {"one", "other"}),
        ("vi", {"other"}),
        ("ja", {"other"}),
    ],
)
def test_the_forms_of_whole_numbers_are_needed(locale: str, forms: set[str]) -> None:
    """O-TPL-3"""
    assert needed_forms(locale) == forms


def test_plurals_of_a_text_are_found_with_their_lines() -> None:
    text = 'a\n{{ n|plural(one="=", other="b") }}{# {{ |plural( #}\n{{ n|plural() }}'

    assert list(plural_forms(text)) == [
        (2, frozenset({"one", "other"})),
        (3, frozenset()),
    ]


@pytest.mark.parametrize(
    ("amount", "code", "locale", "said"),
    [
        ("125000", "VND", "vi-VN", "125.000 ₫"),
        ("1250", "JPY", "ja-JP", "￥1,250"),
        ("1.5", "KWD", "en", "KWD 1.500"),
        ("125.00", "USD", "en-US", "$125.00"),
        ("125.00", "USD", "fr-FR", "125,00 $US"),
        (1250, "JPY", "en", "¥1,250"),
    ],
)
def test_money_has_the_digits_of_its_currency(
    amount: object, code: str, locale: str, said: str
) -> None:
    """O-TPL-4"""
    text = "{{ amount|currency(code) }}"

    assert written(text, locale=locale, amount=amount, code=code) == said


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        ("10", "ABC"),
        ("10", "usd"),
        ("10", ""),
        ("10", 7),
        (10.5, "USD"),
        ("ten", "USD"),
        ("", "USD"),
        (True, "USD"),
        ([], "USD"),
        ("NaN", "USD"),
        ("Infinity", "USD"),
        ("1e999999999", "USD"),
        ("1e-999999999", "USD"),
        ("9" * 40, "USD"),
    ],
)
def test_what_is_no_money_is_no_message(amount: object, code: object) -> None:
    """O-TPL-4: never a `$` for what is not dollars, never a float."""
    text = "{{ amount|currency(code) }}"

    assert refusal(text, amount=amount, code=code) is FailureReason.INVALID_VALUE


@pytest.mark.parametrize(
    ("text", "zone", "said"),
    [
        ("{{ at|date }}", "UTC", "19 août 2026"),
        ("{{ at|date }}", "Asia/Ho_Chi_Minh", "20 août 2026"),
        ("{{ at|date('short') }}", "UTC", "19/08/2026"),
        ("{{ at|date('full') }}", "UTC", "mercredi 19 août 2026"),
        ("{{ at|time }}", "Asia/Ho_Chi_Minh", "00:30"),
        ("{{ at|time }}", "America/New_York", "13:30"),
        ("{{ at|datetime('short') }}", "Asia/Ho_Chi_Minh", "20/08/2026 00:30"),
        ("{{ '2026-08-19'|date }}", "America/New_York", "19 août 2026"),
    ],
)
def test_dates_are_written_in_the_readers_zone(text: str, zone: str, said: str) -> None:
    assert written(text, locale="fr", zone=zone, at="2026-08-19T17:30:00Z") == said


@pytest.mark.parametrize(
    "value",
    [
        *("2026-08-19T17:30:00", "2026-02-30", "today", "", "0001-01-01T00:00:00Z"),
        *("9999-12-31T23:59:59-12:00", 1_787_112_000, None, [], {}, True),
    ],
)
@pytest.mark.parametrize("name", ["date", "time", "datetime"])
def test_what_is_no_date_is_no_message(name: str, value: object) -> None:
    """O-TIM-2: a time without a zone is nobody's time."""
    assert refusal(f"{{{{ at|{name} }}}}", at=value) is FailureReason.INVALID_VALUE


@pytest.mark.parametrize(
    "text",
    [
        "{{ n|date('%Y') }}",
        "{{ n|date(n) }}",
        "{{ n|number(1, 2) }}",
        "{{ n|currency }}",
        "{{ n|plural('a', 'b') }}",
        "{{ n|plural(one=1) }}",
        "{{ n|plural() }}",
        "{{ n|time(style='short', zone='UTC') }}",
    ],
)
def test_a_filter_given_what_it_does_not_take_fails_and_no_more(text: str) -> None:
    assert refusal(text, n="2026-08-19T17:30:00Z") in {
        FailureReason.INVALID_VALUE,
        FailureReason.INVALID_OPERATION,
    }


def test_what_a_filter_writes_is_escaped_in_html() -> None:
    html = "{{ 1|plural(one='<b>', other='<b>') }}"
    version = pinned_version({Channel.EMAIL: {"en": {"subject": "s", "html": html}}})

    rendered = render(version, channel=Channel.EMAIL, locale="en", variables={})

    assert rendered.parts["html"] == "&lt;b&gt;"


def test_the_zone_is_nobodys_variable() -> None:
    said = written("{{ at|time }}", at="2026-08-19T17:30:00Z", _zone="Asia/Tokyo")

    assert said.replace(" ", " ") == "5:30 PM"


def test_filters_without_end_are_stopped() -> None:
    """O-TPL-5: they take time that the engine's fuel does not pay for."""
    loops = "{% for a in l %}{% for b in l %}{{ b|number }}{% endfor %}{% endfor %}"

    assert refusal(loops, l=list(range(900))) is FailureReason.OUT_OF_FUEL
    assert (
        len(written("{% for a in l %}{{ a|number }}{% endfor %}", l=[1] * 800)) == 800
    )
