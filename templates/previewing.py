"""Show what a version would say, with what it says it with, before anybody gets it.

Nothing is stored and nothing sent. Drafts are shown as well, however unfinished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foundation.field_problems import FieldProblem, FieldsRefused
from providers.channels import Channel
from templates.approval import Problem, find_problems
from templates.catalog import PinnedVersion, pin
from templates.locales import choose_locale
from templates.measures import (
    Measures,
    PreviewWarning,
    find_warnings,
    measure_message,
)
from templates.models import TemplateVersion
from templates.parts import CHANNEL_PARTS
from templates.rendering import (
    FailureReason,
    Rendered,
    RenderFailed,
    RenderOptions,
    render,
)
from templates.variable_schema import check_schema
from templates.variables import check_variables
from tenants.limits import limits_of

MOST_LOCALES = 20

_MEANINGS = {
    FailureReason.NO_CONTENT_FOR_CHANNEL: "there is no text, nor one to stand in",
    FailureReason.UNDEFINED_VARIABLE: "prints a variable that is missing or null",
    FailureReason.INVALID_OPERATION: "does what these values do not allow",
    FailureReason.INVALID_VALUE: "a filter cannot write this value",
    FailureReason.OUT_OF_FUEL: "takes too many steps",
    FailureReason.TOO_LARGE: "comes out longer than it may be",
    FailureReason.EMPTY: "comes out blank",
    FailureReason.UNSAFE_LINK: "does not come out as a link",
    FailureReason.INVALID_JSON: "does not come out as a JSON object",
    FailureReason.JOINED_LINK: "variables make a link together",
}


class PreviewRefused(FieldsRefused):
    """What is asked cannot be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to show; None leaves it to the version: all that it has, with its sample."""

    channels: Sequence[Channel] | None = None
    locales: Sequence[str] | None = None
    variables: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A message on one channel for people of one locale, or the problem with it."""

    channel: Channel
    asked_locale: str
    rendered: Rendered | None = None
    problem: Problem | None = None
    measures: Measures = field(default_factory=Measures)
    warnings: Sequence[PreviewWarning] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedVersion:
    """The previews of a version, and what stands against approving it."""

    version: TemplateVersion
    problems: Sequence[Problem]
    previews: Sequence[Preview]


def preview_version(version: TemplateVersion, wish: Wish) -> PreviewedVersion:
    """Render what is wished for; raise PreviewRefused for a wish that cannot be had."""
    contents = list(version.contents.order_by("channel", "locale"))
    # Of what is not approved yet this makes the letters that would be sent.
    problems = find_problems(version, contents) if version.content_hash is None else ()
    pinned = _compilable(pin(version, contents))
    channels = _channels(pinned, wish)
    locales = _locales(pinned, wish, channels)
    variables = _variables(version, wish)
    return PreviewedVersion(
        version=version,
        problems=problems,
        previews=[
            _preview(pinned, channel, locale, variables)
            for channel in channels
            for locale in locales
        ],
    )


def warnings_of(version: TemplateVersion) -> list[str]:
    """Return what a version's messages would be warned of with its sample, each with
    its place; nothing without one that fits."""
    try:
        previews = preview_version(version, Wish()).previews
    except PreviewRefused:
        return []
    return [
        f"{preview.channel.key}/{preview.asked_locale}: {warning.message}"
        for preview in previews
        for warning in preview.warnings
    ]


def _compilable(pinned: PinnedVersion) -> PinnedVersion:
    """Leave out what of a draft is no part of its channel, or no text."""
    return replace(
        pinned,
        contents={
            channel: {
                locale: {
                    name: text
                    for name, text in parts.items()
                    if name in CHANNEL_PARTS[channel].parts
                    and name != "mjml"  # what did not become HTML
                    and isinstance(text, str)
                }
                for locale, parts in by_locale.items()
            }
            for channel, by_locale in pinned.contents.items()
        },
    )


def _channels(pinned: PinnedVersion, wish: Wish) -> Sequence[Channel]:
    if wish.channels is None:
        return sorted(pinned.contents)
    errors = [
        FieldProblem(f"/channels/{index}", f"the version has no {channel.key} content")
        for index, channel in enumerate(wish.channels)
        if channel not in pinned.contents
    ]
    if errors:
        raise PreviewRefused(*errors)
    return wish.channels


def _locales(
    pinned: PinnedVersion, wish: Wish, channels: Sequence[Channel]
) -> Sequence[str]:
    if wish.locales is not None:
        return wish.locales
    locales = sorted(
        {each for channel in channels for each in pinned.contents[channel]}
    )
    if len(locales) > MOST_LOCALES:
        detail = f"the version has {len(locales)}: name {MOST_LOCALES} at most"
        raise PreviewRefused(FieldProblem("/locales", detail))
    return locales


def _variables(version: TemplateVersion, wish: Wish) -> Mapping[str, Any]:
    """Return what to fill in, checked as an acceptance does."""
    faults = [
        FieldProblem("/version", f"its schema{error.pointer}: {error.message}")
        for error in check_schema(version.schema)
    ]
    if faults:
        raise PreviewRefused(*faults)
    given, whose = wish.variables, ""
    if given is None:
        given, whose = version.sample or {}, " in the version's sample"
    faults = [
        FieldProblem(f"/variables{error.pointer}", error.message + whose)
        for error in check_variables(schema=version.schema, variables=given)
    ]
    if faults:
        raise PreviewRefused(*faults)
    return given


def _preview(
    pinned: PinnedVersion,
    channel: Channel,
    asked_locale: str,
    variables: Mapping[str, Any],
) -> Preview:
    tenant = limits_of(tenant_id=pinned.tenant_id)
    try:
        rendered = render(
            pinned,
            channel=channel,
            locale=asked_locale,
            variables=variables,
            time_zone=tenant.time_zone,
            options=RenderOptions(transliterates_sms=tenant.transliterates_sms),
        )
    except RenderFailed as failed:
        problem = _problem(failed, pinned, channel, asked_locale)
        return Preview(channel=channel, asked_locale=asked_locale, problem=problem)
    measures = measure_message(rendered, channel=channel)
    return Preview(
        channel=channel,
        asked_locale=asked_locale,
        rendered=rendered,
        measures=measures,
        warnings=tuple(find_warnings(rendered, measures, asked_locale=asked_locale)),
    )


def _problem(
    failed: RenderFailed, pinned: PinnedVersion, channel: Channel, asked_locale: str
) -> Problem:
    locale = choose_locale(
        asked_locale,
        available=pinned.contents[channel],
        default=pinned.default_locale,
    )
    where = f"{channel.key}/{locale or asked_locale}"
    if failed.part:
        where += f"/{failed.part}"
    if failed.line is not None:
        where += f", line {failed.line}"
    refused = failed.__cause__ if failed.reason is FailureReason.SYNTAX else None
    message = str(refused) if refused else _MEANINGS[failed.reason]
    return Problem(where=where, message=message)
