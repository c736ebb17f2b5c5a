"""Where a number is decides whether a text message goes there at all."""

from __future__ import annotations

import phonenumbers
import pytest

from preferences.contact import UnusableAddress
from preferences.destinations import country_of, find_destination

VN, VN_AND_LA = frozenset({"VN"}), frozenset({"VN", "LA"})


@pytest.mark.parametrize(
    ("number", "countries", "country", "prefix"),
    [
        ("+84912345678", VN, "VN", "8491234"),
        ("+8562055512345", VN_AND_LA, "LA", "85620555"),
        ("+447400123456", None, "GB", "44740012"),
        # Of a short number fewer digits: four at least stand for others.
        ("+6835123", None, "NU", "683"),
        # Countries that share a code.
        ("+447911123456", frozenset({"GG"}), "GG", "44791112"),
        ("+12025550143", frozenset({"US"}), "US", "1202555"),
        ("+14165550123", frozenset({"CA"}), "CA", "1416555"),
        ("+77012345678", frozenset({"KZ"}), "KZ", "7701234"),
    ],
)
def test_a_number_has_a_country_and_first_digits(number, countries, country, prefix):
    found = find_destination(number, countries=countries)

    assert (found.country, found.prefix) == (country, prefix)


@pytest.mark.parametrize(
    ("number", "countries", "reason"),
    [
        ("+447400123456", VN, "country_not_allowed"),
        ("+12025550143", frozenset({"CA"}), "country_not_allowed"),
        ("+77012345678", frozenset({"RU"}), "country_not_allowed"),
        ("+84912345678", frozenset(), "country_not_allowed"),
        # However many countries are allowed.
        ("+19005550123", None, "premium_rate"),
        ("+41842123456", None, "shared_cost"),
        ("+870773111632", None, "global_network"),
        ("+88216123456", None, "global_network"),
        ("+842438252345", None, "landline"),
        ("+447640123456", None, "not_mobile"),  # pager
        ("+445512345678", None, "not_mobile"),  # UAN
        ("+447012345678", None, "not_mobile"),  # personal
        ("+84113", None, "not_a_phone_number"),  # short code
        ("113", None, "not_a_phone_number"),
    ],
)
def test_nothing_goes_to_other_countries_and_kinds_of_numbers(
    number, countries, reason
):
    with pytest.raises(UnusableAddress) as refused:
        find_destination(number, countries=countries)

    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("number", "country"),
    [
        ("+84912345678", "VN"),
        ("+85620555512345", "LA"),
        ("+447400123456", "GB"),
        ("+447911123456", "GG"),  # shares its calling code
        ("+12025550143", "US"),
        ("+14165550143", "CA"),
        ("+870773111632", "001"),
        ("+99912345678", ""),
        ("", ""),
        ("+", ""),
        ("nobody", ""),
    ],
)
def test_a_numbers_country_is_told_by_its_calling_code_if_that_is_ones_alone(
    number: str, country: str
) -> None:
    assert country_of(number) == country


def test_every_example_number_is_of_its_country() -> None:
    """The short way answers as the library does."""
    for region in phonenumbers.SUPPORTED_REGIONS:
        example = phonenumbers.example_number_for_type(
            region, phonenumbers.PhoneNumberType.MOBILE
        )
        if example is not None:
            number = phonenumbers.format_number(
                example, phonenumbers.PhoneNumberFormat.E164
            )
            assert country_of(number) == phonenumbers.region_code_for_number(example)
