"""What differs between two versions, part by part. No Django here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from enum import StrEnum


class Change(StrEnum):
    """What became of a line."""

    ADDED = "added"
    REMOVED = "removed"
    SAME = "same"
    GAP = "gap"  # lines that are the same in both were left out


_CHANGES = {"+": Change.ADDED, "-": Change.REMOVED, " ": Change.SAME}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of either version."""

    change: Change
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A part, named like `email/en/subject`, and its lines around what changed."""

    where: str
    lines: tuple[Line, ...]


def compare(older: Mapping[str, str], newer: Mapping[str, str]) -> list[Difference]:
    """Return the parts that differ, those of one channel and locale together.

    A part that only one of them has is all added, or all removed.
    """
    differences = (
        Difference(
            where=where,
            lines=tuple(_lines(older.get(where, ""), newer.get(where, ""))),
        )
        for where in sorted({**newer, **older}, key=_place)
    )
    return [difference for difference in differences if difference.lines]


def _place(where: str) -> str:
    return where.rpartition("/")[0]


def _lines(older: str, newer: str) -> Iterator[Line]:
    found: Iterable[str] = unified_diff(
        older.splitlines(), newer.splitlines(), lineterm=""
    )
    for number, line in enumerate(found):
        if number < 2:  # the names of files
            continue
        if line.startswith("@@"):
            if number > 2:
                yield Line(change=Change.GAP, text="")
            continue
        yield Line(change=_CHANGES[line[0]], text=line[1:])
