"""What a phone or a mail client makes a link of. No Django here.

Every acceptance looks through all texts with this, and every rendering through the
whole message: what is searched for are dots and colons, and nothing backtracks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

# In a template's text, stands for what will be printed there.
GAP = "\ue000"

# Default_Ignorable_Code_Point of Unicode, and the controls that are no white space.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
# Letters that are taken for those of com, net, org and the like.
_LOOKALIKES = str.maketrans(
    "асеорхуіјѕкмнтвгԁցոαορνικτᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢı",
    "aceopxyijskmhtbrdgnaopviktabcdefghijklmnoprstuvwyzi",
)

_URL = re.compile(r"(?<=[^\W_]):[/\\]{2}([^\s/\\?#<>\"'`]*)([^\s<>\"'`]*)")
_RUNS_OR_EMBEDS = re.compile(
    r":(?:(?<=javascript:)\S|(?<=vbscript:)\S"
    r"|(?<=data:)(?:text|image|application|audio|video)/)",
    re.IGNORECASE,
)
_AFTER_DOT = re.compile(r"\.([xX][nN]--[a-zA-Z0-9-]{2,59}|[^\W\d_]{2,24})(?![^\W_])")
_REST_OF_HOST = re.compile(rf"[\w.\-{GAP}]*")
_WWW = re.compile(r"\bwww\d?\.[^\W_][\w.\-]*", re.IGNORECASE)
_FOUR_NUMBERS = re.compile(r"\.\d{1,3}\.\d{1,3}\.\d")
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = re.compile(
    # Not 1.250.100.200 đồng.
    r"(?<![\w.])(?!\d{1,3}(?:\.\d{3}){3}\s?(?:đ|₫|vn[dđ]))"
    rf"{_OCTET}(?:\.{_OCTET}){{3}}(?![\w]|\.\d)",
    re.IGNORECASE | re.ASCII,
)
# A title, an abbreviation, initials or a number, and a name or word behind it that
# happens to be a top-level domain: Mr.Do, Co.Ltd, 2.In. Written like this alone.
_ABBREVIATED = re.compile(
    r"(?:(?:[A-ZĐ\u0430-\u044f]|\d{1,2}|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|No|Vol|Fig|Art|Tel|Fax|Attn|Ave"
    r"|Rd|vs|etc|feat|ft|Co|Cty|Pte|Pvt|Pty|T[PXT]|Tp|KP|KCN|KDC|QL|TL|BS|TS|ThS|GS"
    r"|PGS|KS|LS|CN)\.)+(?:[A-Z][a-z]+|[\u0410-\u042f][\u0430-\u044f]+)"
    r"|(?:Co|CO|Pte|PTE|Pvt|Pty)\.(?:LTD|ltd)"
    r"|(?:ASP|ADO|VB|ML|asp|Asp)\.(?:NET|Net|net)(?:\.[A-Z][a-z]+)?"
)
_LEADS_ON = re.compile(r"[/\\@]|:\d|[?#]\w")

_COLON_SLASH = re.compile(r":\s?[/\\]")
_SCHEME_ALIKE = re.compile(r"\bh(?:tt|xx|\*\*)ps?\s?:\s?[/\\]", re.IGNORECASE)
_BRACKETED = re.compile(r"[\[({]\s?(?:\.|dot)\s?[\])}]\s?[^\W\d_]{2}", re.IGNORECASE)
# `example .com`; but .NET and .Net are a product, and sentences begin with most others.
_SPACED = re.compile(r"(?<=\w) {1,3}\. ?(?:com|net|org|biz|xyz|vn|COM|ORG)(?!\w)")


def _read_top_level_domains() -> frozenset[str]:
    text = Path(__file__).with_name("top_level_domains.txt").read_text("ascii")
    names = {line.lower() for line in text.splitlines() if not line.startswith("#")}
    in_unicode = {
        name[4:].encode().decode("punycode")
        for name in names
        if name.startswith("xn--")
    }
    return frozenset(names | in_unicode)


_TOP_LEVEL = _read_top_level_domains()


def fold(text: str) -> str:
    """Return the text as it is read: nothing invisible, full-width letters plain."""
    if text.isascii() and text.isprintable():
        return text
    return normalize("NFKC", _INVISIBLE.sub("", text)).replace("。", ".")


def links_in(text: str) -> Iterator[str]:
    """Yield, for each link of a folded text, the host it leads to, in lower case."""
    if ":" in text:
        for found in _RUNS_OR_EMBEDS.finditer(text):
            yield _bare(found[0])
    if "://" in text or ":\\" in text:
        for url in _URL.finditer(text):
            yield _bare(url[1])
        # What follows a host is a part of the link, and leads nowhere else.
        text = _URL.sub(r" \1 ", text)
    dots = text.count(".")
    if dots and "www" in text.lower():
        yield from (_bare(found[0]) for found in _WWW.finditer(text))
    if dots > 2 and _FOUR_NUMBERS.search(text):
        yield from (_bare(found[0]) for found in _IPV4.finditer(text))
    if dots:
        yield from _hosts(text)


def is_disguised_link(text: str) -> bool:
    """Say whether a person will read a link where a phone does not."""
    return bool(
        (_COLON_SLASH.search(text) and _SCHEME_ALIKE.search(text))
        or (" ." in text and _SPACED.search(text))
        or _BRACKETED.search(text)
    )


def is_open_suffix(name: str) -> bool:
    """Say whether anybody may have a name below this one: com, com.vn, co.uk."""
    first, _, rest = name.partition(".")
    return not rest or (
        first in {"ac", "co", "com", "edu", "gov", "net", "org"} and len(rest) == 2
    )


def _hosts(text: str) -> Iterator[str]:
    done = 0
    for found in _AFTER_DOT.finditer(text):
        dot, name = found.start(), found[1].lower()
        plain = name if name.isascii() else name.translate(_LOOKALIKES)
        if dot < done or not (name in _TOP_LEVEL or plain in _TOP_LEVEL):
            continue
        start = _start_of_host(text, dot)
        rest = _REST_OF_HOST.match(text, dot)
        end = rest.end() if rest else dot
        host = text[start:end].rstrip(".-_")
        if start == dot or text[dot - 1] == ".":
            continue
        if name not in _TOP_LEVEL and not re.search("[A-Za-z\u1d00-\u1d22]", host):
            continue  # a word of another script
        done = end
        if not _is_abbreviated(text, start, host):
            yield _bare(host)


def _start_of_host(text: str, dot: int) -> int:
    start = dot
    while start and (
        (before := text[start - 1]).isalnum()
        or before in f"-._{GAP}"
        or before > "\U0001f000"  # there are hosts of pictures
    ):
        start -= 1
    return start


def _is_abbreviated(text: str, start: int, host: str) -> bool:
    return (
        _ABBREVIATED.fullmatch(host) is not None
        and text[start - 1 : start] not in {"@", "/", "\\"}
        and not _LEADS_ON.match(text, start + len(host))
    )


def _bare(host: str) -> str:
    return host.strip(".,;:!?)]-_").lower()
