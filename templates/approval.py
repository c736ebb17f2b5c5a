"""What stands against approving a version, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from minijinja import Environment

from providers.channels import Channel
from templates.catalog import PinnedVersion, pin
from templates.filters import needed_forms
from templates.grammar import TextRefused, plural_forms
from templates.layouts import UnknownLayout, find_layout, frame
from templates.letters import make_letter
from templates.locales import MalformedLocale, canonical_locale
from templates.models import Layout, TemplateContent, TemplateVersion
from templates.parts import CHANNEL_PARTS
from templates.rendering import (
    WAY_OUT,
    RenderFailed,
    compile_part,
    new_engine,
    render,
)
from templates.variable_schema import check_schema, defaults_of
from templates.variables import check_variables
from tenants.categories import LegalClass
from tenants.category_catalog import find_category


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that stands against approval, at a place like `email/en/subject`."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


def find_problems(
    version: TemplateVersion, contents: Sequence[TemplateContent]
) -> list[Problem]:
    """Return everything that stands against approving this version as it is now.

    Sets `compiled` and `layout_version` of the contents to what would be sent.
    """
    problems = [
        Problem(where=f"schema{error.pointer}", message=error.message)
        for error in check_schema(version.schema)
    ]
    schema = None if problems else version.schema
    problems += _locale_problems(version, contents)
    for content in contents:
        found = [
            *_content_problems(content),
            *_text_problems(content, schema=schema),
        ]
        problems += found or _compile(content, version=version, schema=schema)
    if not problems and version.sample is not None:
        problems += _sample_problems(pin(version, contents), version.sample)
    return problems


def _locale_problems(
    version: TemplateVersion, contents: Sequence[TemplateContent]
) -> Iterator[Problem]:
    """Look for locales that nobody's would match, and channels without the default,
    where every search for a locale ends."""
    if not contents:
        yield Problem(where="contents", message="there are none")
    locales: dict[Channel, set[str]] = {}
    for content in contents:
        locales.setdefault(Channel(content.channel), set()).add(content.locale)
    for channel, there in locales.items():
        if version.default_locale not in there:
            yield Problem(
                where=f"{channel.key}/{version.default_locale}",
                message="the default locale is missing",
            )
        for locale in there:
            if not _is_canonical(locale):
                yield Problem(
                    where=f"{channel.key}/{locale}", message="not a language tag"
                )


def _is_canonical(locale: str) -> bool:
    try:
        return canonical_locale(locale) == locale
    except MalformedLocale:
        return False


def _content_problems(content: TemplateContent) -> Iterator[Problem]:
    """Compare the parts with those that the channel knows and needs."""
    where, channel_parts = _where(content), CHANNEL_PARTS[Channel(content.channel)]
    texts = _texts(content)
    if not channel_parts.is_complete(texts):
        yield Problem(where=where, message=f"needs {channel_parts.needs()}")
    for name in content.parts:
        if name not in channel_parts.parts:
            yield Problem(where=f"{where}/{name}", message="no part of this channel")
        elif name not in texts:
            yield Problem(where=f"{where}/{name}", message="must be a text, not blank")
    if channel_parts.not_both and channel_parts.not_both <= content.parts.keys():
        names = " and ".join(sorted(channel_parts.not_both))
        yield Problem(where=where, message=f"takes not both {names}")
    if "layout" in content.parts and "mjml" not in content.parts:
        yield Problem(where=f"{where}/layout", message="goes around mjml alone")


def _text_problems(
    content: TemplateContent, *, schema: Mapping[str, Any] | None
) -> Iterator[Problem]:
    """Compile each text and compare the variables it uses with the declared ones,
    unless the schema has problems of its own."""
    engine = new_engine(locale=content.locale)
    channel_parts = CHANNEL_PARTS[Channel(content.channel)]
    for part, text in _texts(content).items():
        if part not in channel_parts.parts:
            continue
        where, kind = f"{_where(content)}/{part}", channel_parts.parts[part].kind
        try:
            name = compile_part(engine, part=part, kind=kind, text=text)
        except TextRefused as refused:
            yield Problem(where=f"{where}, line {refused.line}", message=str(refused))
            continue
        for line, missing in _missing_forms(text, locale=content.locale):
            forms = ", ".join(sorted(missing))
            message = f"the plural lacks forms of this language: {forms}"
            yield Problem(where=f"{where}, line {line}", message=message)
        if schema is not None:
            for variable in sorted(_undeclared(engine, name, schema=schema)):
                if fault := _own_variable_fault(variable, content):
                    yield Problem(where=where, message=fault)


def _compile(
    content: TemplateContent,
    *,
    version: TemplateVersion,
    schema: Mapping[str, Any] | None,
) -> Iterator[Problem]:
    """Make what is sent of an e-mail, in its layout."""
    if content.channel != Channel.EMAIL:
        return
    framed = frame(content.parts)
    try:
        content.layout_version = _find_layout(content, version=version)
        if content.layout_version is not None:
            framed = frame(content.parts, layout=content.layout_version.mjml)
        content.compiled = make_letter(framed.parts)
        for variable in sorted(_undeclared_when_made(content, schema=schema)):
            if fault := _own_variable_fault(variable, content):
                yield Problem(where=f"{_where(content)}/layout", message=fault)
    except UnknownLayout as unknown:
        yield Problem(where=f"{_where(content)}/layout", message=str(unknown))
    except TextRefused as refused:
        part, line = framed.locate(refused.line)
        where = f"{_where(content)}/{part}, line {line}"
        yield Problem(where=where, message=str(refused))


def _find_layout(
    content: TemplateContent, *, version: TemplateVersion
) -> Layout | None:
    reference = content.parts.get("layout")
    if reference is None:
        return None
    if version.status == TemplateVersion.Status.IN_REVIEW:
        # What reviewers look at is what was submitted, and what they approve.
        return content.layout_version
    return find_layout(tenant_id=version.template.tenant_id, reference=reference)


def _undeclared_when_made(
    content: TemplateContent, *, schema: Mapping[str, Any] | None
) -> set[str]:
    """Compile what was made, and return what it uses beyond the schema."""
    engine = new_engine(locale=content.locale)
    kinds = {
        name: part.kind for name, part in CHANNEL_PARTS[Channel.EMAIL].parts.items()
    }
    undeclared: set[str] = set()
    for part, text in content.sent_parts.items():
        name = compile_part(engine, part=part, kind=kinds[part], text=text)
        if schema is not None:
            undeclared.update(_undeclared(engine, name, schema=schema))
    return undeclared


def _missing_forms(text: str, *, locale: str) -> Iterator[tuple[int, frozenset[str]]]:
    needed = needed_forms(locale)
    for line, forms in plural_forms(text):
        if missing := needed - forms:
            yield line, missing


def _undeclared(
    engine: Environment, name: str, *, schema: Mapping[str, Any]
) -> Iterator[str]:
    for path in engine.undeclared_variables_in_template(name, nested=True):
        if not _is_declared(schema, path.split(".")):
            yield path


def _own_variable_fault(variable: str, content: TemplateContent) -> str:
    """Say what is wrong with a variable that the schema does not have; "" for the way
    out, which the platform adds where there is one."""
    if variable != WAY_OUT:
        return f"{variable} is not in the schema"
    template = content.version.template
    category = find_category(tenant_id=template.tenant_id, name=template.category)
    is_marketing = category.legal_class is LegalClass.MARKETING
    if content.channel != Channel.EMAIL or not is_marketing:
        return f"{WAY_OUT} is for e-mail of class marketing"
    return "" if settings.PUBLIC_URL else f"{WAY_OUT} needs the setting PUBLIC_URL"


def _is_declared(schema: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Follow a dotted name through `properties`; the schema may leave what is inside
    of a variable open, but not whether there is one."""
    first, *rest = path
    declared = schema.get("properties", {}).get(first)
    for name in rest:
        if not isinstance(declared, dict) or "properties" not in declared:
            break
        declared = declared["properties"].get(name)
    return declared is not None


def _sample_problems(
    version: PinnedVersion, sample: Mapping[str, Any]
) -> Iterator[Problem]:
    """Render everything with the sample, and again without what may be left out."""
    errors = check_variables(schema=version.schema, variables=sample)
    if errors:
        for error in errors:
            yield Problem(where=f"sample{error.pointer}", message=error.message)
        return
    needed = (
        set(version.schema.get("required", ())) - defaults_of(version.schema).keys()
    )
    least = {name: value for name, value in sample.items() if name in needed}
    yield from _render_problems(version, sample, given="the sample")
    if least != sample and not check_variables(schema=version.schema, variables=least):
        yield from _render_problems(version, least, given="the required variables only")


def _render_problems(
    version: PinnedVersion, variables: Mapping[str, Any], *, given: str
) -> Iterator[Problem]:
    for channel, by_locale in version.contents.items():
        for locale in by_locale:
            try:
                render(version, channel=channel, locale=locale, variables=variables)
            except RenderFailed as failed:
                yield Problem(
                    where=f"{channel.key}/{locale}", message=f"{failed} with {given}"
                )


def _where(content: TemplateContent) -> str:
    return f"{Channel(content.channel).key}/{content.locale}"


def _texts(content: TemplateContent) -> dict[str, str]:
    return {
        name: text
        for name, text in content.parts.items()
        if isinstance(text, str) and text.strip()
    }
