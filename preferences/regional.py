"""Language tags, time zones and countries: one spelling each, or refused."""

from __future__ import annotations

import re
import zoneinfo
from functools import cache

import phonenumbers

_LONGEST_TAG = 35
# RFC 5646 without the grandfathered tags and the reserved long languages.
_LANGUAGE_TAG = re.compile(
    r"""[a-z]{2,3}(-[a-z]{3}){0,3}   # language, extended
        (-[a-z]{4})?                 # script
        (-([a-z]{2}|[0-9]{3}))?      # region
        (-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*    # variants
        (-[a-wy-z0-9](-[a-z0-9]{2,8})+)*        # extensions
        (-x(-[a-z0-9]{1,8})+)?                  # private use
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)


class UnusableLocale(ValueError):
    """The locale is not a language tag such as vi, en-GB or zh-Hant-TW."""


class UnknownTimeZone(ValueError):
    """The time zone is not an IANA name such as Asia/Ho_Chi_Minh."""


class UnknownCountry(ValueError):
    """The country is not one that has phone numbers, by its two letters."""


def canonical_locale(text: str) -> str:
    """Return a BCP 47 tag in its usual case; raise UnusableLocale if it is none."""
    if len(text) > _LONGEST_TAG or not _LANGUAGE_TAG.fullmatch(text):
        raise UnusableLocale
    language, *subtags = text.lower().split("-")
    return "-".join([language, *_in_usual_case(subtags)])


def check_time_zone(text: str) -> str:
    """Return the name; raise UnknownTimeZone if the IANA database has no such zone."""
    if text not in _time_zones():
        raise UnknownTimeZone
    return text


def check_country(text: str) -> str:
    """Return the ISO 3166-1 code in capitals; raise UnknownCountry."""
    country = text.upper() if text.isascii() else ""
    if country not in phonenumbers.SUPPORTED_REGIONS:
        raise UnknownCountry
    return country


def _in_usual_case(subtags: list[str]) -> list[str]:
    written: list[str] = []
    for index, subtag in enumerate(subtags):
        if len(subtag) == 1:
            return [*written, *subtags[index:]]
        if len(subtag) == 4 and subtag.isalpha():
            written.append(subtag.title())
        else:
            written.append(subtag.upper() if len(subtag) == 2 else subtag)
    return written


@cache
def _time_zones() -> frozenset[str]:
    # "localtime" and "Factory" are what a machine has that was never set up.
    return frozenset(zoneinfo.available_timezones() - {"localtime", "Factory"})
