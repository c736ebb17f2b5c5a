"""What of an e-mail is made at approval: HTML of MJML, inlined styles, a text part."""

from __future__ import annotations

import re
from collections.abc import Mapping

import css_inline
from html2text import HTML2Text

from templates.grammar import TextRefused
from templates.html_flow import (
    check_blocks,
    check_same_flow,
    check_survivable,
    settle_table_bodies,
)
from templates.mjml import render_mjml
from templates.tag_shield import Place, Shielded, shield

_INLINER = css_inline.CSSInliner(
    load_remote_stylesheets=False, keep_link_tags=True, keep_style_tags=True
)
_STYLE = re.compile(r"<style\b", re.IGNORECASE)
_PREVIEW = re.compile(r'<div style="display:\s*none[^>]*>[^<]*</div>')
# An image without an `alt`, as icons are, leaves nothing to read of its link.
_EMPTY_LINK = re.compile(r"\[\]\((?:[^()\\]|\\.)*\)[ \t]*\n?")
# Markdown means what is shown otherwise; here it is what people read.
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!-])")


def make_letter(parts: Mapping[str, str]) -> dict[str, str] | None:
    """Return the parts that an e-mail is sent with, or None where they are as written.

    Raises TextRefused, with the line of the author's `mjml` or `html`.
    """
    source = parts.get("mjml") or parts.get("html")
    if source is None or ("text" in parts and not _needs_work(parts)):
        return None
    shielded = shield(source)
    if "mjml" in parts:
        html = render_mjml(shielded)
    else:
        check_survivable(shielded)
        html = shielded.text
    html = _inline(shielded, html)
    made = {name: text for name, text in parts.items() if name != "mjml"}
    if html != shielded.text:
        made["html"] = shielded.restore(html)
    if "text" not in made:
        made["text"] = _plain(shielded, html)
    return None if made == parts else made


def _needs_work(parts: Mapping[str, str]) -> bool:
    return "mjml" in parts or _STYLE.search(parts["html"]) is not None


def _inline(shielded: Shielded, html: str) -> str:
    """Write styles to the elements they are for, and keep them for what is not yet
    known: a class that a variable names, the width of a screen."""
    if not _STYLE.search(html):
        return html
    try:
        inlined = _INLINER.inline(html)
    except css_inline.InlineError as error:
        raise TextRefused(f"not understood as CSS: {error}", line=1) from error
    check_same_flow(shielded, html, inlined)
    inlined = settle_table_bodies(shielded, inlined)
    shielded.check(inlined)
    check_blocks(shielded, inlined)
    return inlined


def _plain(shielded: Shielded, html: str) -> str:
    """Write HTML as text with its links, each loop and condition where it was."""
    maker = HTML2Text(bodywidth=0)
    maker.unicode_snob = True
    maker.ignore_emphasis = True
    maker.ignore_tables = True
    maker.images_to_alt = True
    word = shielded.words.pattern
    bare = re.sub(rf"<!--({word})-->", r"\1", _PREVIEW.sub("", html, count=1))
    text = _EMPTY_LINK.sub("", maker.handle(bare))
    text = re.sub(r"[ \t]+\n", "\n", text)
    text = re.sub(r"\n{3,}", "\n\n", _ESCAPED.sub(r"\1", text))
    shielded.check(text, plain=True)
    blocks = [w for w, hidden in shielded.hidden.items() if hidden.place is Place.BLOCK]
    if blocks:
        # A tag alone on its line would leave an empty one at every turn of its loop.
        alone = rf"^[ \t]*((?:(?:{'|'.join(blocks)})[ \t]*)+)\n+"
        text = re.sub(alone, r"\1", text, flags=re.MULTILINE)
    return shielded.restore_plain(text).strip()
