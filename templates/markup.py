"""Does a text hold HTML? No Django here."""

from __future__ import annotations

import re
from html.entities import html5

# `O'Brien & Sons <VIP>` holds none: what no browser knows, and has no attributes, is
# a text in angle brackets.
_ELEMENTS = (
    "abbr|address|applet|area|article|aside|audio|base|basefont|bdi|bdo|big|blink"
    "|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup|data"
    "|datalist|dd|del|details|dfn|dialog|dir|div|dl|dt|em|embed|fieldset|figcaption"
    "|figure|font|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|image"
    "|img|input|ins|isindex|kbd|keygen|label|legend|li|link|listing|main|map|mark"
    "|marquee|math|menu|meta|meter|nav|nobr|noembed|noframes|noscript|object|ol"
    "|optgroup|option|output|param|picture|plaintext|pre|progress|rp|rt|ruby|samp"
    "|script|search|section|select|slot|small|source|span|strike|strong|style|sub"
    "|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr"
    "|track|tt|ul|var|video|wbr|xmp"
)
_TAG = re.compile(
    rf"<(?:[!?]|/[a-z]|(?:{_ELEMENTS})(?=[\s/>]|\Z)|[abipqsu]\s*/?>"
    r"|[a-z][\w:]*-[\w:.-]*[\s/>]|[a-z][^<>]{0,200}=)",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7};?|#x[0-9a-f]{1,6};?|([a-z][a-z0-9]{1,31};))", re.I)


def holds_markup(text: str) -> bool:
    """Say whether a folded text holds a tag, a comment or an entity of HTML."""
    if "<" in text and _TAG.search(text):
        return True
    return "&" in text and any(
        entity[1] is None or entity[1] in html5 for entity in _ENTITY.finditer(text)
    )
