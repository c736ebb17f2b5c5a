"""MJML made into HTML that mail programs show; template tags pass unharmed."""

from __future__ import annotations

import re

import mrml

from templates.grammar import TextRefused
from templates.html_flow import check_same_flow, check_survivable, settle_table_bodies
from templates.tag_shield import Shielded, shield

# Without mj-include: a template is whole, and reads nothing when it is compiled.
_ELEMENTS = frozenset(
    {
        *("mjml", "mj-head", "mj-body"),
        *("mj-all", "mj-attributes", "mj-breakpoint", "mj-class", "mj-font"),
        *("mj-preview", "mj-style", "mj-title"),
        *("mj-column", "mj-group", "mj-section", "mj-wrapper"),
        *("mj-accordion", "mj-accordion-element", "mj-accordion-text"),
        *("mj-accordion-title", "mj-button", "mj-carousel", "mj-carousel-image"),
        *("mj-divider", "mj-hero", "mj-image", "mj-navbar", "mj-navbar-link"),
        *("mj-raw", "mj-social", "mj-social-element", "mj-spacer", "mj-table"),
        "mj-text",
    }
)
# What stands in these is HTML.
_HTML = frozenset({"mj-raw", "mj-table", "mj-text"})
_ELEMENT = re.compile(
    r"""<!--.*?(?:-->|\Z)
    |<(?P<end>/?)(?P<name>mj[a-z-]*)(?:[^<>"']|"[^"]*"|'[^']*')*+>?""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
# The compiler leaves them out there, and shows icons of its own.
_LOST_ICONS = re.compile(
    r"<mj-attributes\b(?:(?!</mj-attributes).)*?<mj-accordion-element\b[^>]*?\bicon-",
    re.DOTALL | re.IGNORECASE,
)
_INLINE = re.compile(r"""(<mj-style\b[^>]*?)\s+inline\s*=\s*["']?inline["']?""", re.I)
_POSITION = re.compile(r" in root template(?: at position (\d+):\d+)?")


def compile_mjml(source: str) -> str:
    """Return the HTML of an MJML text; raise TextRefused with the line.

    Reads no file and nothing from the network: `mj-include` is refused.
    """
    shielded = shield(source)
    return shielded.restore(render_mjml(shielded))


def render_mjml(shielded: Shielded) -> str:
    """Return the HTML of an MJML text, its tags still hidden."""
    _check_elements(shielded)
    _check_icons(shielded)
    check_survivable(shielded)
    html = _render(shielded, shielded.text)
    if (without := _INLINE.sub(r"\1", shielded.text)) != shielded.text:
        # For inlining the HTML was parsed, which moves what stands in no good place.
        check_same_flow(shielded, _render(shielded, without), html)
    html = settle_table_bodies(shielded, html)
    shielded.check(html)
    return html


def _render(shielded: Shielded, text: str) -> str:
    try:
        return mrml.to_html(text).content
    except OSError as error:
        position = _POSITION.search(str(error))
        line = shielded.line_at(int(position[1])) if position and position[1] else 1
        message = _POSITION.sub("", str(error))
        raise TextRefused(f"not understood as MJML: {message}", line=line) from error


def _check_elements(shielded: Shielded) -> None:
    """Refuse elements that would vanish, and those that end elsewhere."""
    opened: list[re.Match[str]] = []
    for found in _ELEMENT.finditer(shielded.text):
        if found["name"] is None:
            continue
        within = opened[-1]["name"] if opened else ""
        if fault := _fault(found, within=within):
            name = f"<{found['end']}{found['name']}>"
            line = shielded.line_at(found.start())
            raise TextRefused(f"{name} {fault}", line=line)
        if found["end"]:
            opened.pop()
        elif not found[0].endswith("/>"):
            opened.append(found)
    if opened:
        line = shielded.line_at(opened[-1].start())
        raise TextRefused(f"<{opened[-1]['name']}> does not end", line=line)


def _fault(found: re.Match[str], *, within: str) -> str:
    if found["end"]:
        return "" if found["name"] == within else "ends what was not begun"
    if found["name"] not in _ELEMENTS:
        return "is no element"
    return f"has no place in {within}" if within in _HTML else ""


def _check_icons(shielded: Shielded) -> None:
    if lost := _LOST_ICONS.search(shielded.text):
        raise TextRefused(
            "in mj-attributes an accordion's icons are set on mj-accordion",
            line=shielded.line_at(lost.end()),
        )
