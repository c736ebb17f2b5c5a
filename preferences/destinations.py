"""Where a phone number is, and whether text messages may go there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import phonenumbers

from preferences.contact import UnusableAddress, check_can_be_texted

_GLOBAL_NETWORKS = "001"
_PREFIX_DIGITS = 8
# However short a number is, so many of its digits are no part of its prefix.
_OTHER_DIGITS = 4


def country_of(number: str) -> str:
    """Return the country of an E.164 number; "" for none.

    Most calling codes are one country's: to take the whole number apart costs a hundred
    times as much as to see that.
    """
    for digits in (1, 2, 3):
        code = number[1 : 1 + digits]
        regions = phonenumbers.COUNTRY_CODE_TO_REGION_CODE.get(
            int(code) if code.isdecimal() else 0, ()
        )
        if len(regions) == 1 and regions != (_GLOBAL_NETWORKS,):
            return regions[0]
    try:
        parsed = phonenumbers.parse(number)
    except phonenumbers.NumberParseException:
        return ""
    return phonenumbers.region_code_for_number(parsed) or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A number's country, and its first digits: many numbers share them."""

    country: str
    prefix: str = field(repr=False)


def find_destination(number: str, *, countries: Collection[str] | None) -> Destination:
    """Return where an E.164 number is; raise UnusableAddress if nothing may go there.

    `countries` are those that may be sent to, None is all of them. Kinds of numbers are
    judged anew: what is known of them changes.
    """
    try:
        parsed = phonenumbers.parse(number)
    except phonenumbers.NumberParseException as broken:
        raise UnusableAddress("not_a_phone_number", str(broken)) from broken
    check_can_be_texted(parsed)
    country = phonenumbers.region_code_for_number(parsed) or ""
    if countries is not None and country not in countries:
        raise UnusableAddress(
            "country_not_allowed",
            "The tenant may not send text messages to this number's country.",
        )
    bare = number.removeprefix("+")
    return Destination(
        country=country, prefix=bare[: min(_PREFIX_DIGITS, len(bare) - _OTHER_DIGITS)]
    )
