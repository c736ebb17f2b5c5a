"""What a tenant's e-mails have around their own MJML: a head, a logo, a footer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import Max

from audit.events import AuditRecord, EventKind
from audit.recorder import record_events
from templates.grammar import TextRefused, check_text
from templates.letters import make_letter
from templates.models import Layout
from tenants.models import Tenant

_SLOT = re.compile(r"\{\{[ \t]*content[ \t]*\}\}")
_REFERENCE = re.compile(r"(\S+)(?:\s+([1-9][0-9]{0,8}))?", re.ASCII)
_TRIAL = "<mj-section><mj-column><mj-text>…</mj-text></mj-column></mj-section>"


class UnknownLayout(Exception):
    """The tenant has no such layout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framed:
    """The parts of an e-mail, its MJML within its layout's from one line to another."""

    parts: dict[str, str]
    first_line: int = 1
    last_line: int = 1

    def locate(self, line: int) -> tuple[str, int]:
        """Return the part that a line is from, and its number there."""
        if "mjml" not in self.parts:
            return "html", line
        if line < self.first_line:
            return "layout", line
        if line <= self.last_line:
            return "mjml", line - self.first_line + 1
        return "layout", line - (self.last_line - self.first_line)


def frame(parts: Mapping[str, str], *, layout: str = "{{ content }}") -> Framed:
    """Put an e-mail's MJML, if it has any, in the place of the layout's content."""
    others = {name: text for name, text in parts.items() if name != "layout"}
    if "mjml" not in parts:
        return Framed(parts=others)
    slot, mjml = _only_slot(layout), parts["mjml"]
    first_line = layout.count("\n", 0, slot.start()) + 1
    framed = layout[: slot.start()] + mjml + layout[slot.end() :]
    return Framed(
        parts={**others, "mjml": framed},
        first_line=first_line,
        last_line=first_line + mjml.count("\n"),
    )


def check_layout(mjml: str) -> None:
    """Raise TextRefused, with the line, unless letters can be made with a layout."""
    check_text(mjml)
    make_letter(frame({"mjml": _TRIAL}, layout=mjml).parts)


def save_layout(*, tenant: Tenant, name: str, mjml: str, actor: str) -> Layout:
    """Save a layout, or the next version of one; raise TextRefused.

    What was approved keeps the layout it was made with.
    """
    check_layout(mjml)
    with transaction.atomic():
        # Two authors at once get two numbers, one after the other.
        Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
        known = Layout.objects.filter(tenant=tenant, name=name)
        number = (known.aggregate(newest=Max("number"))["newest"] or 0) + 1
        layout = Layout.objects.create(
            tenant=tenant, name=name, number=number, mjml=mjml, edited_by=actor
        )
        event = AuditRecord(
            kind=EventKind.LAYOUT_SAVED,
            tenant_id=tenant.pk,
            actor=actor,
            detail={"layout": name, "version": number},
        )
        with connection.cursor() as cursor:
            record_events(cursor, [event])
    return layout


def find_layout(*, tenant_id: int, reference: str) -> Layout:
    """Return the newest version of `brand`, or for `brand 2` the second."""
    match = _REFERENCE.fullmatch(reference.strip())
    if match is None:
        raise UnknownLayout(UnknownLayout.__doc__)
    versions = Layout.objects.filter(tenant_id=tenant_id, name=match[1])
    if match[2]:
        versions = versions.filter(number=int(match[2]))
    newest = versions.order_by("-number").first()
    if newest is None:
        raise UnknownLayout(UnknownLayout.__doc__)
    return newest


def _only_slot(layout: str) -> re.Match[str]:
    slots = list(_SLOT.finditer(layout))
    if len(slots) != 1:
        line = layout.count("\n", 0, slots[1].start()) + 1 if slots else 1
        raise TextRefused("needs {{ content }} once", line=line)
    return slots[0]
