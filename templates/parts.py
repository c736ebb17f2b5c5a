"""What a content of each channel is made of: the one place that says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from providers.channels import Channel


class Kind(StrEnum):
    """How a part is escaped and tidied after it was rendered."""

    LINE = "line"  # one line of text, whatever the variables hold
    TEXT = "text"
    HTML = "html"  # what variables hold is escaped, once
    LINK = "link"
    JSON = "json"  # what variables hold becomes a JSON value, quotes included


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A named text; the limit is in characters of what was rendered."""

    kind: Kind
    max_characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelParts:
    """The parts that a channel knows, those it needs, a choice it needs one of, and
    those of which it takes no two."""

    parts: Mapping[str, Part]
    required: frozenset[str]
    one_of: frozenset[str] = frozenset()
    not_both: frozenset[str] = frozenset()

    def is_complete(self, names: Mapping[str, str]) -> bool:
        """Say whether nothing that the channel needs is missing."""
        present = names.keys()
        return self.required <= present and (
            not self.one_of or not self.one_of.isdisjoint(present)
        )

    def needs(self) -> str:
        """Say in words what a content needs to be complete."""
        choice = [" or ".join(sorted(self.one_of))] if self.one_of else []
        return ", ".join([*sorted(self.required), *choice])


# E-mail: longer lines than 998 break RFC 5322. SMS: the longest text that providers
# join again. Push: title, body, data and link share the 4 kB of APNs and FCM.
CHANNEL_PARTS: Mapping[Channel, ChannelParts] = {
    Channel.EMAIL: ChannelParts(
        parts={
            "subject": Part(kind=Kind.LINE, max_characters=998),
            "text": Part(kind=Kind.TEXT, max_characters=200_000),
            "html": Part(kind=Kind.HTML, max_characters=200_000),
            # What the others are made of at approval (templates.letters).
            "mjml": Part(kind=Kind.HTML, max_characters=200_000),
            "layout": Part(kind=Kind.LINE, max_characters=120),
        },
        required=frozenset({"subject"}),
        one_of=frozenset({"text", "html", "mjml"}),
        not_both=frozenset({"html", "mjml"}),
    ),
    Channel.SMS: ChannelParts(
        parts={"text": Part(kind=Kind.TEXT, max_characters=1_600)},
        required=frozenset({"text"}),
    ),
    Channel.PUSH: ChannelParts(
        parts={
            "title": Part(kind=Kind.LINE, max_characters=250),
            "body": Part(kind=Kind.TEXT, max_characters=2_000),
            "data": Part(kind=Kind.JSON, max_characters=2_000),
            "link": Part(kind=Kind.LINK, max_characters=2_000),
        },
        required=frozenset({"title", "body"}),
    ),
    Channel.IN_APP: ChannelParts(
        parts={
            "title": Part(kind=Kind.LINE, max_characters=250),
            "body": Part(kind=Kind.TEXT, max_characters=10_000),
            "link": Part(kind=Kind.LINK, max_characters=2_000),
        },
        required=frozenset({"title", "body"}),
    ),
}
