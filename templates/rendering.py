"""Turn a pinned version and variables into the texts of one channel and locale.

The engine is MiniJinja: it has no I/O, pays for loops, growth and recursion out of
`FUEL`, and is thread-safe. What it does not survive, templates.grammar keeps away
from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from minijinja import Environment, TemplateError

from providers.channels import Channel
from templates.catalog import PinnedVersion
from templates.filters import ZONE, FilterFailed, TooManyCalls, add_filters
from templates.grammar import TextRefused, check_text
from templates.joined_links import OwnLinks, has_joined_link, read_own_links
from templates.locales import choose_locale
from templates.parts import CHANNEL_PARTS, Kind, Part
from templates.plain_json import count_plain
from templates.text_rules import texts_in
from templates.tidying import Untidy, tidy
from templates.transliteration import Replacement, Transliterated, transliterate
from templates.variable_schema import defaults_of
from tenants.process_cache import ProcessCache

# A page of 40 kB takes 600, a loop over 1,000 items 12,000.
FUEL = 20_000

# These switch the escaping off or let the state out; calls are refused anyway.
_REMOVED_FILTERS = ("safe", "escape", "e", "tojson", "pprint", "map")
_REMOVED_GLOBALS = ("debug", "range", "dict", "namespace")

# MiniJinja chooses the escaping by the ending of a template's name.
_ENDINGS = {Kind.HTML: ".html", Kind.JSON: ".json"}

# What e-mails of class marketing may print beside their variables; and what stands for
# it where there is nobody to unsubscribe.
WAY_OUT = "unsubscribe_url"
SOME_WAY_OUT = "https://notifications.example/unsubscribe/somebody"

# Where what looks like a link becomes one; push data is the app's own.
_LINKING_CHANNELS = frozenset({Channel.EMAIL, Channel.SMS, Channel.PUSH})


class FailureReason(StrEnum):
    """Why a content could not be rendered; none of them goes away by trying again."""

    NO_CONTENT_FOR_CHANNEL = "no_content_for_channel"
    SYNTAX = "syntax"
    UNDEFINED_VARIABLE = "undefined_variable"
    INVALID_OPERATION = "invalid_operation"
    INVALID_VALUE = "invalid_value"
    OUT_OF_FUEL = "out_of_fuel"
    TOO_LARGE = "too_large"
    EMPTY = "empty"
    UNSAFE_LINK = "unsafe_link"
    INVALID_JSON = "invalid_json"
    JOINED_LINK = "joined_link"


_UNTIDY = {
    Kind.LINK: FailureReason.UNSAFE_LINK,
    Kind.JSON: FailureReason.INVALID_JSON,
}


class RenderFailed(Exception):
    """The content could not be rendered; nothing in here tells the variables."""

    def __init__(
        self, reason: FailureReason, *, part: str = "", line: int | None = None
    ) -> None:
        where = part if line is None else f"{part}, line {line}"
        super().__init__(f"{reason} in {where}" if part else str(reason))
        self.reason = reason
        self.part = part
        self.line = line


class NullPrinted(Exception):
    """A template printed a null, which would read `None` in the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """What a message is written with beside its variables.

    Text messages are written in the basic alphabet where they are to be and can be
    (templates.transliteration). E-mails may print the link by which one click ends
    them, unless the schema has a variable of that name.
    """

    transliterates_sms: bool = False
    unsubscribe_url: str = SOME_WAY_OUT


_USUAL = RenderOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The texts, all in one locale; optional parts that came out blank are left out.

    `replacements` are what transliteration changed in a text message.
    """

    locale: str
    parts: dict[str, str]
    replacements: tuple[Replacement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiled:
    engine: Environment
    names: Mapping[str, str]  # part -> the engine's name for it
    defaults: Mapping[str, Any]
    own_links: Mapping[str, OwnLinks]  # of the parts where a link becomes one


_compiled: ProcessCache[tuple[bytes, Channel, str], _Compiled] = ProcessCache(
    size=1_024, lifetime=timedelta(days=36_500)
)


def render(
    version: PinnedVersion,
    *,
    channel: Channel,
    locale: str | None,
    variables: Mapping[str, Any],
    time_zone: str = "UTC",
    options: RenderOptions = _USUAL,
) -> Rendered:
    """Render in the nearest locale that there is; raise RenderFailed.

    Dates are written in the time zone, an IANA name.

    The variables must be what JSON gives, or NotPlain is raised: the engine would
    call methods of anything else, and let a `__html__` pass unescaped.
    """
    chosen = choose_locale(
        locale or "",
        available=version.contents.get(channel, {}),
        default=version.default_locale,
    )
    if chosen is None:
        raise RenderFailed(FailureReason.NO_CONTENT_FOR_CHANNEL)
    compiled = _compile(version, channel, chosen)
    context = {**compiled.defaults, **variables}
    count_plain([context])
    context[ZONE] = time_zone
    if channel is Channel.EMAIL:
        context.setdefault(WAY_OUT, options.unsubscribe_url)
    channel_parts = CHANNEL_PARTS[channel]
    texts = {
        part: _render_part(compiled, part, channel_parts.parts[part], context)
        for part in compiled.names
    }
    parts = {name: text for name, text in texts.items() if text}
    if not channel_parts.is_complete(parts):
        raise RenderFailed(FailureReason.EMPTY)
    _refuse_joined_links(compiled, channel, parts, context)
    if not options.transliterates_sms or channel is not Channel.SMS:
        return Rendered(locale=chosen, parts=parts)
    sms = _in_basic_alphabet(compiled, parts["text"], context)
    return Rendered(
        locale=chosen, parts={"text": sms.text}, replacements=sms.replacements
    )


def compile_part(engine: Environment, *, part: str, kind: Kind, text: str) -> str:
    """Add a text to an engine and return its name there; raise TextRefused."""
    check_text(text)
    name = part + _ENDINGS.get(kind, ".txt")
    try:
        engine.add_template(name, text)
    except TemplateError as error:
        raise TextRefused(error.message, line=error.line or 1) from error
    return name


def new_engine(*, locale: str) -> Environment:
    """Make an engine for one content in its language, so that no text can reach
    another's."""
    engine = Environment(
        debug=False,
        fuel=FUEL,
        undefined_behavior="strict",
        pycompat=False,
        finalizer=_refuse_null,
    )
    for name in _REMOVED_FILTERS:
        engine.remove_filter(name)
    for name in _REMOVED_GLOBALS:
        engine.remove_global(name)
    add_filters(engine, locale=locale)
    return engine


def _compile(version: PinnedVersion, channel: Channel, locale: str) -> _Compiled:
    key = (version.content_hash, channel, locale)
    compiled = _compiled.get(key)
    if compiled is None:
        compiled = _compile_anew(version, channel, locale)
        _compiled.put(key, compiled)
    return compiled


def _compile_anew(version: PinnedVersion, channel: Channel, locale: str) -> _Compiled:
    engine, names = new_engine(locale=locale), {}
    for part, text in version.contents[channel][locale].items():
        kind = CHANNEL_PARTS[channel].parts[part].kind
        try:
            names[part] = compile_part(engine, part=part, kind=kind, text=text)
        except TextRefused as refused:
            raise RenderFailed(
                FailureReason.SYNTAX, part=part, line=refused.line
            ) from refused
    return _Compiled(
        engine=engine,
        names=names,
        defaults=defaults_of(version.schema),
        own_links=_own_links(version, channel, locale),
    )


def _own_links(
    version: PinnedVersion, channel: Channel, locale: str
) -> dict[str, OwnLinks]:
    if channel not in _LINKING_CHANNELS:
        return {}
    kinds = {name: part.kind for name, part in CHANNEL_PARTS[channel].parts.items()}
    return {
        part: read_own_links(text, kind=kinds[part])
        for part, text in version.contents[channel][locale].items()
        if kinds[part] is not Kind.JSON
    }


def _render_part(
    compiled: _Compiled, name: str, part: Part, context: Mapping[str, Any]
) -> str:
    try:
        text = compiled.engine.render_template(compiled.names[name], **context)
    except NullPrinted as printed:
        raise RenderFailed(FailureReason.UNDEFINED_VARIABLE, part=name) from printed
    except TooManyCalls as bomb:
        raise RenderFailed(FailureReason.OUT_OF_FUEL, part=name) from bomb
    except FilterFailed as failed:
        raise RenderFailed(FailureReason.INVALID_VALUE, part=name) from failed
    except TypeError as error:  # a filter was given what it does not take
        raise RenderFailed(FailureReason.INVALID_OPERATION, part=name) from error
    except TemplateError as error:
        # Not chained: the engine's messages may hold values of the variables.
        raise RenderFailed(_reason(error), part=name, line=error.line) from None
    if len(text) > part.max_characters:
        raise RenderFailed(FailureReason.TOO_LARGE, part=name)
    try:
        return tidy(text, kind=part.kind)
    except Untidy as untidy:
        raise RenderFailed(_UNTIDY[part.kind], part=name) from untidy


def _refuse_joined_links(
    compiled: _Compiled,
    channel: Channel,
    parts: Mapping[str, str],
    context: Mapping[str, Any],
) -> None:
    """Refuse a link that the texts of variables make together, or with the template's.

    What a variable holds by itself was judged when it was accepted, by the rules of
    then.
    """
    for part, own in compiled.own_links.items():
        kind = CHANNEL_PARTS[channel].parts[part].kind
        text = parts.get(part, "")
        if has_joined_link(text, kind=kind, own=own, given=texts_in(context)):
            raise RenderFailed(FailureReason.JOINED_LINK, part=part)


def _in_basic_alphabet(
    compiled: _Compiled, text: str, context: Mapping[str, Any]
) -> Transliterated:
    """Transliterate, unless that makes a link (`ăn.cơm`) or too long a text."""
    part, own = CHANNEL_PARTS[Channel.SMS].parts["text"], compiled.own_links["text"]
    sms = transliterate(text)
    if len(sms.text) > part.max_characters or (
        sms.replacements
        and has_joined_link(sms.text, kind=part.kind, own=own, given=texts_in(context))
    ):
        return Transliterated(text=text)
    return sms


def _reason(error: TemplateError) -> FailureReason:
    if error.kind == "OutOfFuel" or error.detail == "recursion limit exceeded":
        return FailureReason.OUT_OF_FUEL
    if error.kind == "UndefinedError":
        return FailureReason.UNDEFINED_VARIABLE
    return FailureReason.INVALID_OPERATION


def _refuse_null(value: object) -> object:
    if value is None:
        raise NullPrinted
    return NotImplemented
