"""What a rendered text goes through before it leaves: lines, links, JSON."""

from __future__ import annotations

import re

import orjson

from templates.parts import Kind

_SPACING = re.compile(r"\s*[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]\s*")
# C0, C1, and what turns the reading direction around: a title could show another
# sender's name with it.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# http, a path of this site, or an app's own scheme; never one that runs or embeds.
_LINK = re.compile(
    r"/(?![/\\])|(?!(?:about|blob|data|file|filesystem|javascript|vbscript):)"
    r"[a-z][a-z0-9+.-]*:",
    re.IGNORECASE,
)


class Untidy(ValueError):
    """The text is not what its part must hold."""


def tidy(text: str, *, kind: Kind) -> str:
    """Return the text as it may be sent; blank becomes empty. Raises Untidy."""
    match kind:
        case Kind.LINE:
            return one_line(text)
        case Kind.LINK:
            return _link(one_line(text))
        case Kind.JSON:
            return _json_object(text)
        case Kind.TEXT | Kind.HTML:
            return text if text and not text.isspace() else ""


def one_line(text: str) -> str:
    """Make a line break a space, drop control characters and trim."""
    if text.isprintable():
        return text.strip()
    return _CONTROLS.sub("", _SPACING.sub(" ", text)).strip()


def _link(text: str) -> str:
    if text and not _LINK.match(text):
        raise Untidy
    return text


def _json_object(text: str) -> str:
    if not text or text.isspace():
        return ""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Untidy from error
    if not isinstance(value, dict):
        raise Untidy
    return text
