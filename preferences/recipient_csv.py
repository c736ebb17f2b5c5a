"""People as a spreadsheet: what a program or a person saves as CSV, and what we write.

Byte-order marks, UTF-16, semicolons, tabs and headers in any case are read for what
they are. A row is read when its turn comes, so that a file may be of any length.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from preferences.recipients import MOST_ADDRESSES, StoredRecipient
from providers.channels import Channel

OWN_COLUMNS = ("user_id", "locale", "time_zone", "country")
_ADDRESS_COLUMNS = {"email": Channel.EMAIL, "phone": Channel.SMS}
# A person is kept as told, so that a column that is not there would be forgotten.
NEEDED = (*OWN_COLUMNS, *_ADDRESS_COLUMNS)
LONGEST_CELL = 10_000
_LONGEST_LINE = 1_000_000
# Around names and ids, and between the words of a column's name.
_PADDING = " \t\u00a0\u200b\u200c\u200d\u2060\ufeff"
_SEPARATOR = re.compile(r"[\s_-]+")
# What a spreadsheet takes for a formula is written with an apostrophe, and one is taken
# off again; so what has some of its own gets one more.
_FORMULA = re.compile("'+[=+\\-@\t\r]")


class UnreadableFile(ValueError):
    """The file as a whole cannot be read as people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A person of a file as the API takes them, or what is wrong with the row.

    `number` is the line of the file where it begins; the header is in the first.
    `columns` are those that the addresses are from, in their order.
    """

    number: int
    user: Mapping[str, object]
    columns: Sequence[str] = ()
    problem: str = ""

    def column(self, pointer: str) -> str:
        """Name the column that a pointer into `user` is about."""
        name, *inner = pointer.removeprefix("/").split("/")
        return self.columns[int(inner[0])] if name == "addresses" else name


def open_csv(path: Path) -> IO[str]:
    """Open a file in the encoding that it begins with; raise UnreadableFile."""
    with path.open("rb") as file:
        start = file.read(4)
    if start.startswith(b"PK"):
        raise UnreadableFile("This is a spreadsheet or an archive: save it as CSV.")
    is_utf16 = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    # What is neither fails to decode: to guess would change people's names.
    return path.open(encoding="utf-16" if is_utf16 else "utf-8-sig", newline="")


def read_rows(file: IO[str]) -> Iterator[Row]:
    """Yield the people of a file; raise UnreadableFile, at the row where it ends.

    Blank rows and empty cells behind the last column are nothing.
    """
    csv.field_size_limit(LONGEST_CELL)
    lines, number = _lines(file), 2
    try:
        first = next(lines, "")
        # A header of several lines would be none of ours.
        (header,) = csv.reader([first], delimiter=_delimiter(first), strict=True)
        columns = _columns(header)
        reader = csv.reader(lines, delimiter=_delimiter(first), strict=True)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _row(number, columns, cells)
            number = reader.line_num + 2
    except csv.Error as broken:
        raise UnreadableFile(f"Not CSV in line {number}: {broken}.") from broken
    except UnicodeDecodeError as broken:
        raise UnreadableFile(
            "Neither UTF-8 nor UTF-16: save it as “CSV UTF-8”."
        ) from broken


def write_people(file: IO[str], people: Iterable[StoredRecipient]) -> int:
    """Write people under a header; return how many."""
    columns = [*OWN_COLUMNS, *_address_columns()]
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(columns)
    number = 0
    for person in people:
        cells = _cells(person)
        writer.writerow([_harmless(cells.get(column, "")) for column in columns])
        number += 1
    return number


def _lines(file: IO[str]) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise UnreadableFile(f"A line has {_LONGEST_LINE} characters or more.")
        yield line


def _delimiter(header: str) -> str:
    return max(",;\t|", key=header.count)


def _columns(header: Sequence[str]) -> list[str]:
    """Return what each column holds; raise UnreadableFile."""
    columns = [_SEPARATOR.sub("_", cell.strip(_PADDING)).lower() for cell in header]
    while columns and not columns[-1]:
        columns.pop()
    known = {*OWN_COLUMNS, *_address_columns()}
    unknown = [name for name in columns if name not in known]
    missing = [name for name in NEEDED if name not in columns]
    twice = sorted({name for name in columns if columns.count(name) > 1})
    for names, complaint in (
        (unknown, "Columns that are not known"),
        (missing, "Columns that are missing, if only to be empty"),
        (twice, "Columns that are there twice"),
    ):
        if names:
            shown = ", ".join(name[:40] or "(empty)" for name in names[:10])
            raise UnreadableFile(f"{complaint}: {shown}.")
    return columns


def _address_columns() -> dict[str, Channel]:
    """Return email, email_2 … email_10, and the same of phone."""
    return {
        name if place == 1 else f"{name}_{place}": channel
        for name, channel in _ADDRESS_COLUMNS.items()
        for place in range(1, MOST_ADDRESSES + 1)
    }


def _row(number: int, columns: Sequence[str], cells: Sequence[str]) -> Row:
    extra = [cell for cell in cells[len(columns) :] if cell.strip()]
    if extra or len(cells) < len(columns):
        problem = f"It has {len(cells)} cells, and the header {len(columns)}."
        return Row(number=number, user={}, problem=problem)
    named = {
        name: cell[1:] if _FORMULA.match(cell) else cell
        for name, cell in zip(columns, cells, strict=False)
        if cell.strip(_PADDING)
    }
    user: dict[str, object] = {
        name: named[name].strip(_PADDING) for name in OWN_COLUMNS if name in named
    }
    channels = _address_columns()
    filled = [name for name in channels if name in named]
    addresses = [
        {"channel": channels[name].key, "value": named[name]} for name in filled
    ]
    return Row(number=number, user={**user, "addresses": addresses}, columns=filled)


def _cells(person: StoredRecipient) -> dict[str, str]:
    cells = {name: getattr(person, name) or "" for name in OWN_COLUMNS}
    for name, channel in _ADDRESS_COLUMNS.items():
        values = [a.normalised for a in person.addresses if a.channel is channel]
        for place, value in enumerate(values, start=1):
            cells[name if place == 1 else f"{name}_{place}"] = value
    return cells


def _harmless(cell: str) -> str:
    return f"'{cell}" if _FORMULA.match(f"'{cell}") else cell
