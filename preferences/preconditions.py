"""If-Match on a versioned resource, RFC 9110 §13.1.1: strong comparison only."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTITY_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"\s*{_ENTITY_TAG}(?:\s*,\s*{_ENTITY_TAG})*\s*")
_STRONG_VERSION = re.compile(r'(?<!W/)"(0|[1-9][0-9]{0,8})"')


class PreconditionMissing(Exception):
    """Send If-Match with the ETag that you read, so that no change is lost."""


class MalformedPrecondition(ValueError):
    """If-Match holds * or a list of quoted entity tags."""


class PreconditionFailed(Exception):
    """The preferences changed since you read them; read them again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Precondition:
    """The versions that the caller may overwrite; 0 stands for none stored yet."""

    versions: tuple[int, ...] = ()
    any_stored: bool = False


def parse_if_match(header: str | None) -> Precondition:
    """Read the header; weak tags and tags that are not ours match nothing."""
    if header is None:
        raise PreconditionMissing
    if header.strip() == "*":
        return Precondition(any_stored=True)
    if not _TAGS.fullmatch(header):
        raise MalformedPrecondition
    return Precondition(versions=tuple(map(int, _STRONG_VERSION.findall(header))))


def entity_tag(version: int) -> str:
    """Write a version as a strong entity tag."""
    return f'"{version}"'
