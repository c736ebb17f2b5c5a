"""Filters that write dates, numbers, money and plurals as the reader's country does.

Values come as JSON gives them: dates as text (RFC 3339 with an offset, or a bare day),
money as decimal text, never as a float, whose digits are not what was meant. The
language is the content's, the time zone the recipient's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

from babel import Locale, UnknownLocaleError, dates, numbers
from minijinja import Environment, pass_state
from minijinja._lowlevel import State

# The context's name for the recipient's zone; no template can say it: names that begin
# with an underscore are not in the grammar.
ZONE = "_zone"
Style = Literal["short", "medium", "long", "full"]
STYLES: Mapping[str, Style] = {each: each for each in get_args(Style)}
# Of a part: a table of 400 rows with a price and a date needs 800.
MOST_CALLS = 1_000
_CALLS = "filter_calls"
# Beyond it a number is a bomb: 1e999999999 would be written out.
_MOST_DIGITS = 30
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
# A currency without a symbol stands apart from the number (CLDR's currency spacing).
_LETTER_BY_DIGIT = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_NO_BREAK_SPACE = "\u00a0"
# Words do not change by number there, although CLDR tells one from other.
_UNCHANGING = frozenset({"vi"})


class FilterFailed(ValueError):
    """A value is not what its filter takes; the message never holds the value."""


class TooManyCalls(Exception):
    """A text calls filters more often than a message needs: each takes as long as a
    thousand steps of the engine, and no fuel."""


Filter = Callable[..., str]


def add_filters(engine: Environment, *, locale: str) -> None:
    """Give an engine the filters in the language of the content."""
    known = babel_locale(locale)
    for name, write in _FILTERS.items():
        engine.add_filter(name, _bound(write, known))


def _bound(write: Filter, locale: Locale) -> Filter:
    @pass_state
    def bound(state: State, value: object, *given: object, **named: object) -> str:
        calls = (state.get_temp(_CALLS) or 0) + 1
        if calls > MOST_CALLS:
            raise TooManyCalls
        state.set_temp(_CALLS, calls)
        return write(_Place(locale, state), value, *given, **named)

    return bound


@dataclass(frozen=True, slots=True)
class _Place:
    """Whom a filter writes for."""

    locale: Locale
    state: State

    def local(self, value: object) -> datetime:
        """Read a moment, and tell it in the recipient's zone."""
        return _moment(value).astimezone(
            _zone_named(str(self.state.lookup(ZONE) or "UTC"))
        )


def _date(place: _Place, value: object, style: str = "medium") -> str:
    pattern = dates.get_date_format(_checked(style), place.locale)
    if isinstance(value, str) and _DATE.fullmatch(value):
        return pattern.apply(_day(value), place.locale)
    return pattern.apply(place.local(value).date(), place.locale)


def _time(place: _Place, value: object, style: str = "short") -> str:
    local = place.local(value)
    return dates.format_time(
        local, _checked(style), tzinfo=local.tzinfo, locale=place.locale
    )


def _datetime(place: _Place, value: object, style: str = "medium") -> str:
    local = place.local(value)
    return dates.format_datetime(
        local, _checked(style), tzinfo=local.tzinfo, locale=place.locale
    )


def _number(place: _Place, value: object) -> str:
    pattern = place.locale.decimal_formats[None]
    written: str = pattern.apply(_decimal(value), place.locale)
    return written


def _currency(place: _Place, value: object, code: object) -> str:
    if isinstance(value, float):
        raise FilterFailed("money is decimal text, not a float")
    if not isinstance(code, str) or not _is_currency(code):
        raise FilterFailed("not a currency")
    pattern = place.locale.currency_formats["standard"]
    written = pattern.apply(_decimal(value), place.locale, currency=code)
    return _LETTER_BY_DIGIT.sub(_NO_BREAK_SPACE, written)


def _plural(place: _Place, value: object, **forms: object) -> str:
    """Choose a form; where a language has one for fractions alone and the text has it
    not, `other` or `many` stands in."""
    number = _decimal(value)
    for name in (place.locale.plural_form(number), "other", "many"):
        form = forms.get(name)
        if isinstance(form, str):
            return form
    raise FilterFailed("no form for this number")


_FILTERS: Mapping[str, Filter] = {
    "date": _date,
    "time": _time,
    "datetime": _datetime,
    "number": _number,
    "currency": _currency,
    "plural": _plural,
}


def needed_forms(locale: str) -> frozenset[str]:
    """Return the plural forms that whole numbers take in a language."""
    known = babel_locale(locale)
    if known.language in _UNCHANGING:
        return frozenset({"other"})
    return frozenset(known.plural_form(number) for number in range(201))


@lru_cache(maxsize=256)
def babel_locale(locale: str) -> Locale:
    """Return what Babel knows of a language tag or of what it begins with; English,
    where that is nothing."""
    subtags = locale.split("-")
    for end in range(len(subtags), 0, -1):
        try:
            return Locale.parse("_".join(subtags[:end]))
        except (UnknownLocaleError, ValueError):
            continue
    return Locale("en")


@lru_cache(maxsize=1024)
def _zone_named(name: str) -> tzinfo:
    return ZoneInfo(name)


@lru_cache(maxsize=1024)
def _is_currency(code: str) -> bool:
    return numbers.is_currency(code)


def _checked(style: object) -> Style:
    known = STYLES.get(style) if isinstance(style, str) else None
    if known is None:
        raise FilterFailed(f"a style is one of {', '.join(STYLES)}")
    return known


def _day(value: str) -> date:
    try:
        return date.fromisoformat(value)
    except ValueError as error:
        raise FilterFailed("not a day") from error


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError as error:
        raise FilterFailed("not a date") from error
    if moment is None or moment.tzinfo is None:
        raise FilterFailed("a date is text like 2026-08-19T11:00:00+07:00")
    # Within a day of either end another zone's date might not exist.
    if not 2 <= moment.year <= 9_998:
        raise FilterFailed("not a date of these times")
    return moment


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise FilterFailed("not a number")
    try:
        number = Decimal(value if isinstance(value, int) else str(value))
    except InvalidOperation as error:
        raise FilterFailed("not a number") from error
    if not number.is_finite():
        raise FilterFailed("not a number")
    exponent = number.as_tuple().exponent
    if number.adjusted() > _MOST_DIGITS or -int(exponent) > _MOST_DIGITS:
        raise FilterFailed("not a number of these magnitudes")
    return number
