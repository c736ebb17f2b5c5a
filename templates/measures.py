"""How large a rendered message is, and what that may do to it on its way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from unicodedata import category

from providers.channels import Channel
from providers.sizes import PushSize, letter_bytes, push_size
from providers.sms_text import SmsText, measure
from templates.links import fold
from templates.rendering import Rendered
from templates.transliteration import transliterate

# Gmail cuts the HTML part there, by bytes, and with it the ways out at its end.
GMAIL_CLIPS_AT = 102_000
MANY_SEGMENTS = 3


class WarningCode(StrEnum):
    """What an author should know of a message that was rendered."""

    LOCALE_MISSING = "locale_missing"
    SUBJECT_LOOKS_EMPTY = "subject_looks_empty"
    HTML_CLIPPED = "html_clipped"
    MANY_SEGMENTS = "many_segments"
    UNICODE_COSTS_MORE = "unicode_costs_more"
    PUSH_REFUSED = "push_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewWarning:
    """A warning, and in words what it is about."""

    code: WarningCode
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailSize:
    """Bytes of the HTML part as a mail program has it, and of the encoded whole."""

    html_bytes: int | None
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """The one of these that counts on the message's channel; in the app none does."""

    sms: SmsText | None = None
    push: PushSize | None = None
    email: EmailSize | None = None


def measure_message(rendered: Rendered, *, channel: Channel) -> Measures:
    """Measure a message by what its channel bills or limits."""
    parts = rendered.parts
    match channel:
        case Channel.SMS:
            return Measures(sms=measure(parts["text"]))
        case Channel.PUSH:
            return Measures(push=push_size(parts))
        case Channel.EMAIL:
            html = parts.get("html")
            size = EmailSize(
                html_bytes=None if html is None else len(html.encode()),
                bytes=letter_bytes(parts),
            )
            return Measures(email=size)
        case Channel.IN_APP:
            return Measures()


def find_warnings(
    rendered: Rendered, measures: Measures, *, asked_locale: str
) -> Iterator[PreviewWarning]:
    """Find what can be sent, and still is not what its author will want."""
    if _language(rendered.locale) != _language(asked_locale):
        yield PreviewWarning(
            code=WarningCode.LOCALE_MISSING,
            message=f"there is no text in {asked_locale}; {rendered.locale} stands in",
        )
    if "subject" in rendered.parts and _looks_empty(rendered.parts["subject"]):
        yield PreviewWarning(
            code=WarningCode.SUBJECT_LOOKS_EMPTY,
            message="the subject has no letter, digit or picture",
        )
    if measures.email and (measures.email.html_bytes or 0) > GMAIL_CLIPS_AT:
        yield PreviewWarning(
            code=WarningCode.HTML_CLIPPED,
            message=f"the HTML has {measures.email.html_bytes:,} bytes;"
            f" Gmail hides what comes after {GMAIL_CLIPS_AT:,}",
        )
    if measures.sms:
        yield from _sms_warnings(rendered.parts["text"], measures.sms)
    if measures.push and measures.push.fault:
        yield PreviewWarning(
            code=WarningCode.PUSH_REFUSED,
            message=f"will not be sent: {measures.push.fault.replace('_', ' ')}",
        )


def _sms_warnings(text: str, sms: SmsText) -> Iterator[PreviewWarning]:
    if sms.segments > MANY_SEGMENTS:
        yield PreviewWarning(
            code=WarningCode.MANY_SEGMENTS,
            message=f"{sms.segments} segments, and each is billed",
        )
    fewer = measure(transliterate(text).text).segments
    if fewer < sms.segments:
        letters = " ".join(dict.fromkeys(letter for _, letter in sms.forcing))
        yield PreviewWarning(
            code=WarningCode.UNICODE_COSTS_MORE,
            message=f"{sms.segments} segments, but {fewer} without {letters}",
        )


def _language(locale: str) -> str:
    return locale.partition("-")[0]


def _looks_empty(text: str) -> bool:
    """Say whether nothing in a text is seen but punctuation."""
    return all(category(character)[0] not in "LNS" for character in fold(text))
