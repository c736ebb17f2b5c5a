# ruff: noqa: RUF001  # look-alike characters are what is tested
from __future__ import annotations

import pytest

from preferences.contact import UnusableAddress, normalise_phone


def reason(text: str, *, region: str | None = "VN") -> str:
    with pytest.raises(UnusableAddress) as refused:
        normalise_phone(text, region=region)
    assert refused.value.detail
    return refused.value.reason


@pytest.mark.parametrize(
    "text",
    [
        "0912345678",
        "+84 (0) 912 345 678",
        "84912345678",
        "+0084912345678",
        "0084 912 345 678",
        "+８４912345678",
        "＋８４９１２３４５６７８",
        "+٨٤٩١٢٣٤٥٦٧٨",
        "\u200b0912 345 678\ufeff",
        "\u00a00912.345.678 ",
        "0912-345‑678",
    ],
)
def test_spellings_of_a_vietnamese_number_become_one(text: str) -> None:
    """Bad input 55."""
    assert normalise_phone(text, region="VN") == "+84912345678"


@pytest.mark.parametrize(
    "text",
    [
        "+12025550143",
        "12025550143",
        "(202) 555-0143",
        "011 1 202 555 0143",
        "2025550143",
    ],
)
def test_five_spellings_of_an_american_number_become_one(text: str) -> None:
    """O-SMS-3."""
    assert normalise_phone(text, region="US") == "+12025550143"


@pytest.mark.parametrize("text", ["2025550143", "0912345678", "0084912345678"])
def test_a_bare_number_without_a_region_is_nobodys(text: str) -> None:
    """O-SMS-3: never +2025550143, which would be Egypt."""
    assert reason(text, region=None) == "region_required"


def test_a_number_with_its_country_code_needs_no_region() -> None:
    assert normalise_phone("+84 912 345 678", region=None) == "+84912345678"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0912-345-67", "not_a_phone_number"),  # 56
        ("+1 202 555", "not_a_phone_number"),  # O-SMS-3
        ("+1 900 555 0123", "premium_rate"),  # 57
        ("+870773111632", "global_network"),  # 58
        ("+883510000000094", "global_network"),  # 58
        ("+88216123456", "global_network"),  # 58
        ("1-800-FLOWERS", "not_a_phone_number"),  # 59
        ("+1 800 555 1234", "not_mobile"),
        ("0912345678 ext 5", "not_a_phone_number"),  # 60
        ("tel:+84912345678;ext=12", "not_a_phone_number"),  # 60
        ("0912345678x", "not_a_phone_number"),  # 60
        ("113", "not_a_phone_number"),  # 61
        ("112", "not_a_phone_number"),  # 61
        ("0912345678 0987654321", "not_a_phone_number"),  # 62
        ("0912345678, 0987654321", "not_a_phone_number"),  # 62
        ("0912345678\r\n0987654321", "control_characters"),  # 62
        ("0912345678\n", "control_characters"),  # 62
        ("0912345678; drop table recipient", "not_a_phone_number"),  # 62
        ("=+84912345678", "not_a_phone_number"),  # 62
        ("024 3825 2345", "landline"),  # 63
        ("+99912345678", "not_a_phone_number"),  # 63
        ("+44 7700 900123", "not_a_phone_number"),  # 64
        ("+44 70 1234 5678", "not_mobile"),
        ("0" * 65, "too_long"),
        ("+", "not_a_phone_number"),
        (" \u200b", "empty"),
        ("", "empty"),
        ("0912345678\x00", "control_characters"),
    ],
)
def test_numbers_that_take_no_sms_are_refused(text: str, expected: str) -> None:
    """Bad input 56 to 64."""
    assert reason(text) == expected


def test_five_hundred_spellings_are_one_number() -> None:
    """Bad input 65."""
    separators = ["", " ", "-", ".", "\u00a0"]
    spellings = {
        f"{padding}{prefix}{a}912{b}345{c}678"
        for padding in ("", " ", "\u200b")
        for prefix in ("+84", "84", "0084", "0")
        for a in separators
        for b in separators
        for c in separators
    }

    assert len(spellings) >= 500
    assert {normalise_phone(text, region="VN") for text in spellings} == {
        "+84912345678"
    }
