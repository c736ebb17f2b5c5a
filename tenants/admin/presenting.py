"""Words, links, moments and tables as every page of the console shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html

_LONGEST = 40
_READING_ORDER = ("subject", "title", "body", "text", "html", "link", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table below the fields of a page."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[object]]


def label(text: str, kinds: Mapping[str, str]) -> str:
    """Show a word in the colour of its news."""
    context = {"text": words(text), "type": kinds.get(text, "default")}
    return render_to_string("unfold/helpers/label.html", context)


def words(name: str) -> str:
    """Write a name of the code as people read it."""
    return name.replace("_", " ")


def link_to(model: str, pk: object, text: str) -> str:
    """Link to the page of a row, the model being written `app_model`."""
    return format_html(
        '<a class="text-primary-600 dark:text-primary-500" href="{}">{}</a>',
        reverse(f"admin:{model}_change", args=(pk,)),
        text,
    )


def moment(at: datetime | None) -> str:
    """Write a moment to the millisecond: which came first is often the question."""
    if at is None:
        return ""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03}"


def on_one_line(detail: Mapping[str, object]) -> str:
    """Write the details of an event as `channel email, attempt 2`."""
    return ", ".join(f"{words(name)} {_short(value)}" for name, value in detail.items())


def _short(value: object) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def in_reading_order(parts: Mapping[str, str]) -> dict[str, str]:
    """Put the parts of a message in the order in which a person meets them."""
    known = [name for name in _READING_ORDER if name in parts]
    others = sorted(parts.keys() - set(known))
    return {name: parts[name] for name in (*known, *others)}
