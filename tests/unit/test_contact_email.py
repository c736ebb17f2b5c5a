# ruff: noqa: RUF001  # look-alike characters are what is tested
from __future__ import annotations

import pytest

from preferences.contact import UnusableAddress, normalise_email


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("firstname.o'lastname@example.com", "firstname.o'lastname@example.com"),
        ("a+tag@example.com", "a+tag@example.com"),
        ("_______@example.com", "_______@example.com"),
        ("email@domain-one.com", "email@domain-one.com"),
        ("x@例え.テスト", "x@xn--r8jz45g.xn--zckzah"),
        ("x@a.photography", "x@a.photography"),
        ("x@xn--80ak6aa92e.com", "x@xn--80ak6aa92e.com"),  # 72
        ("A@EXAMPLE.COM", "A@example.com"),  # 74
    ],
)
def test_usable_addresses_keep_their_local_part(text: str, expected: str) -> None:
    """Bad input 66, 72, 74; O-EML-3 for the plus sign."""
    assert normalise_email(text) == expected


@pytest.mark.parametrize(
    "padding", [" ", "\t", "\u00a0", "\u200b", "\ufeff", " \ufeff"]
)
def test_what_copying_leaves_around_an_address_is_stripped(padding: str) -> None:
    """Bad input 70."""
    assert normalise_email(f"{padding}a@b.co{padding}") == "a@b.co"


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "@x.co",
        "a@b",
        "a@localhost",
        "a@[127.0.0.1]",
        "a@123.123.123.123",
        '"quoted"@x.com',
        "a..b@x.com",
        "a@-b.co",
        "a@b..co",
        "a@dom_ain.com",
        "a@b.co;c@d.co",
        "a@b.co,",
        "Name <a@b.co>",
        "a@xn---x.com",
        "a@b.co, c@d.co",  # 68: Django would mail both
        "a b@c.co",
        "a@b.co.",
        "",
        "\u200b",
    ],
)
def test_what_is_not_one_bare_address_is_refused(text: str) -> None:
    """Bad input 67, 68."""
    with pytest.raises(UnusableAddress):
        normalise_email(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a@b.co\r\nBcc: x@y.co", "control_characters"),  # 69
        ("a@b.co\n", "control_characters"),  # 69
        ("a@b.co\u2028", "control_characters"),  # 69
        ("a\x00@b.co", "control_characters"),
        ("тест@пример.рф", "local_part_not_ascii"),  # 71
        ("ａ@b.co", "local_part_not_ascii"),  # 71
        ("a\u200b@b.co", "local_part_not_ascii"),
        ("a" * 65 + "@b.co", "local_part_too_long"),  # 73
        ("a@" + "b" * 320 + ".co", "too_long"),  # 67
    ],
)
def test_the_refusal_names_its_reason(text: str, reason: str) -> None:
    """Bad input 69, 71, 73."""
    with pytest.raises(UnusableAddress) as refused:
        normalise_email(text)

    assert refused.value.reason == reason


def test_64_characters_before_the_at_sign_are_accepted() -> None:
    """Bad input 73."""
    address = "a" * 64 + "@b.co"

    assert normalise_email(address) == address
