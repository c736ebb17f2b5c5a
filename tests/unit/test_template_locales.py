from __future__ import annotations

import pytest

from templates.locales import MalformedLocale, canonical_locale, choose_locale


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("vi", "vi"),
        ("pt_br", "pt-BR"),
        ("PT-br", "pt-BR"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("es-419", "es-419"),
        ("vi-VN-x-private", "vi-VN-x-private"),
    ],
)
def test_tag_is_put_in_its_usual_case(text: str, canonical: str) -> None:
    assert canonical_locale(text) == canonical


@pytest.mark.parametrize("text", ["", "x", "../../x", "e n", "en-", "pt--BR", "e" * 40])
def test_what_is_no_tag_is_refused(text: str) -> None:
    """Bad input 54."""
    with pytest.raises(MalformedLocale):
        canonical_locale(text)


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("pt", "pt"),
        ("pt-BR", "pt"),
        ("pt_br", "pt"),
        ("zh-Hant-TW", "en"),
        ("", "en"),
        ("xx", "en"),
        ("../../x", "en"),
    ],
)
def test_locale_falls_back_by_subtag_and_then_to_the_default(
    wanted: str, chosen: str
) -> None:
    """O-TPL-2, bad input 54."""
    assert choose_locale(wanted, available={"pt", "en"}, default="en") == chosen


def test_nearest_of_several_is_chosen() -> None:
    available = {"zh", "zh-Hant", "en"}

    assert choose_locale("zh_hant_tw", available=available, default="en") == "zh-Hant"


def test_no_locale_is_chosen_where_not_even_the_default_is_there() -> None:
    assert choose_locale("vi", available={"fr"}, default="en") is None
