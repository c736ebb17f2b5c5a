from __future__ import annotations

import pytest

from preferences.regional import (
    UnknownTimeZone,
    UnusableLocale,
    canonical_locale,
    check_time_zone,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vi", "vi"),
        ("VI-vn", "vi-VN"),
        ("en-gb", "en-GB"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("es-419", "es-419"),
        ("de-CH-1996", "de-CH-1996"),
        ("sl-rozaj", "sl-rozaj"),
        ("EN-us-U-HC-h12", "en-US-u-hc-h12"),
        ("vi-VN-x-private", "vi-VN-x-private"),
    ],
)
def test_a_language_tag_is_written_in_its_usual_case(text, expected) -> None:
    assert canonical_locale(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v",
        "vi_VN",
        "../../x",
        "english",
        "vi-",
        "-vi",
        "vi VN",
        "vi-VN-x",
        "ví",
        "a" * 36,
        "en" + "-abcde" * 6,
        "vi\n",
    ],
)
def test_what_is_no_language_tag_is_refused(text: str) -> None:
    """Bad input 54."""
    with pytest.raises(UnusableLocale):
        canonical_locale(text)


@pytest.mark.parametrize("text", ["Asia/Ho_Chi_Minh", "Europe/Kyiv", "UTC"])
def test_a_name_of_the_iana_database_is_a_time_zone(text: str) -> None:
    assert check_time_zone(text) == text


@pytest.mark.parametrize(
    "text",
    ["Mars/X", "+07", "", "../../etc/passwd", "localtime", "Factory", "asia/hanoi"],
)
def test_any_other_text_is_no_time_zone(text: str) -> None:
    """Bad input 27."""
    with pytest.raises(UnknownTimeZone):
        check_time_zone(text)
