"""Language tags, and which content stands in when a locale has none of its own."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")
_LONGEST = 35


class MalformedLocale(ValueError):
    """The locale is not a language tag such as vi, pt-BR or zh-Hant-TW."""


def canonical_locale(text: str) -> str:
    """Return the tag in its usual case, `pt_br` as `pt-BR`; raise MalformedLocale."""
    if len(text) > _LONGEST or not _TAG.fullmatch(text):
        raise MalformedLocale
    language, *subtags = re.split("[-_]", text)
    return "-".join([language.lower(), *map(_in_usual_case, subtags)])


def choose_locale(
    wanted: str, *, available: Collection[str], default: str
) -> str | None:
    """Return the nearest of the available ones: pt-BR, then pt, then the default."""
    for locale in (*_chain(wanted), default):
        if locale in available:
            return locale
    return None


@lru_cache(maxsize=1024)
def _chain(wanted: str) -> tuple[str, ...]:
    try:
        subtags = canonical_locale(wanted).split("-")
    except MalformedLocale:
        return ()
    return tuple("-".join(subtags[:end]) for end in range(len(subtags), 0, -1))


def _in_usual_case(subtag: str) -> str:
    if len(subtag) == 4 and subtag.isalpha():
        return subtag.title()
    return subtag.upper() if len(subtag) == 2 else subtag.lower()
