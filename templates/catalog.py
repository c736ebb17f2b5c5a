"""Approved versions, as notifications are accepted and rendered with them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any

import orjson
from django.db.models import QuerySet

from providers.channels import Channel
from templates.models import (
    NAME_PATTERN,
    Template,
    TemplateContent,
    TemplateVersion,
)
from tenants.categories import Category
from tenants.category_catalog import find_category
from tenants.process_cache import ProcessCache

Contents = Mapping[Channel, Mapping[str, Mapping[str, str]]]


class UnknownTemplate(Exception):
    """There is no template of this name."""


class UnknownTemplateVersion(Exception):
    """The template has no such approved version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedVersion:
    """All that acceptance and rendering need; `contents` is channel, locale, part.

    `category` is the tenant's, `base_category` the built-in one that it is based on.
    """

    id: int
    tenant_id: int
    name: str
    number: int
    category: str
    base_category: Category
    content_hash: bytes
    schema: dict[str, Any]
    contents: Contents
    default_locale: str


# What was approved never changes, so it is kept for as long as there is room.
_versions: ProcessCache[int, PinnedVersion] = ProcessCache(
    size=512, lifetime=timedelta(days=36_500)
)
# Which version a name means does change: a newer one is approved, an old one retired.
_ids: ProcessCache[tuple[int, str, int | None], int] = ProcessCache(
    size=4_096, lifetime=timedelta(seconds=5)
)


def find_version(*, tenant_id: int, name: str, number: int | None) -> PinnedVersion:
    """Return the approved version of that number, or the latest one for None.

    Raises UnknownTemplate or UnknownTemplateVersion; a newly approved or retired
    version is noticed within 5 s.
    """
    key = (tenant_id, name, number)
    version_id = _ids.get(key)
    if version_id is None:
        version_id = _look_up(tenant_id=tenant_id, name=name, number=number)
        _ids.put(key, version_id)
    return load_versions([version_id])[version_id]


def known_version(
    *, tenant_id: int, name: str, number: int | None
) -> PinnedVersion | None:
    """Return what find_version would if this process remembers it; asks nobody."""
    version_id = _ids.get((tenant_id, name, number))
    return None if version_id is None else _versions.get(version_id)


def find_any_version(
    *, tenant_id: int, name: str, number: int | None
) -> TemplateVersion:
    """Return the version of that number in whatever status, or the latest approved one
    for None.

    Raises UnknownTemplate or UnknownTemplateVersion; asks the database each time.
    """
    versions = _versions_of(tenant_id, name).select_related("template")
    version = (
        versions.filter(status=TemplateVersion.Status.APPROVED)
        if number is None
        else versions.filter(number=number)
    ).first()
    if version is None:
        raise _unknown(tenant_id, name)
    return version


def load_versions(ids: Collection[int]) -> dict[int, PinnedVersion]:
    """Return versions by id, retired ones too, in at most two queries.

    Not scoped by tenant: the ids were pinned when a tenant's notification was
    accepted. Ids of drafts and unknown ones are left out.
    """
    cached = ((version_id, _versions.get(version_id)) for version_id in set(ids))
    found = {version_id: version for version_id, version in cached if version}
    if missing := set(ids) - found.keys():
        for version in _read(missing):
            _versions.put(version.id, version)
            found[version.id] = version
    return found


def clear_caches() -> None:
    """Forget everything, for tests."""
    _versions.clear()
    _ids.clear()


def pin(version: TemplateVersion, contents: Iterable[TemplateContent]) -> PinnedVersion:
    """Put a version and its contents together, with the hash that names the whole."""
    template = version.template
    by_channel: dict[Channel, dict[str, dict[str, str]]] = defaultdict(dict)
    for content in contents:
        by_channel[Channel(content.channel)][content.locale] = content.sent_parts
    return PinnedVersion(
        id=version.id,
        tenant_id=template.tenant_id,
        name=template.name,
        number=version.number,
        category=template.category,
        base_category=find_category(
            tenant_id=template.tenant_id, name=template.category
        ).base,
        content_hash=bytes(version.content_hash or _hash(version, by_channel)),
        schema=version.schema,
        contents=dict(by_channel),
        default_locale=version.default_locale,
    )


def _hash(version: TemplateVersion, contents: Contents) -> bytes:
    """Hash all that decides what is rendered, as canonical JSON."""
    whole = {
        "format": 1,
        "schema": version.schema,
        "default_locale": version.default_locale,
        "contents": {channel.key: by_locale for channel, by_locale in contents.items()},
    }
    return sha256(orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)).digest()


def _look_up(*, tenant_id: int, name: str, number: int | None) -> int:
    versions = _versions_of(tenant_id, name).filter(
        status=TemplateVersion.Status.APPROVED
    )
    if number is not None:
        versions = versions.filter(number=number)
    version_id = versions.values_list("id", flat=True).first()
    if version_id is None:
        raise _unknown(tenant_id, name)
    return version_id


def _versions_of(tenant_id: int, name: str) -> QuerySet[TemplateVersion]:
    """Return the versions of a template, the latest first."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise UnknownTemplate(UnknownTemplate.__doc__)
    return TemplateVersion.objects.filter(
        template__tenant_id=tenant_id, template__name=name
    ).order_by("-number")


def _unknown(tenant_id: int, name: str) -> UnknownTemplate | UnknownTemplateVersion:
    if Template.objects.filter(tenant_id=tenant_id, name=name).exists():
        return UnknownTemplateVersion(UnknownTemplateVersion.__doc__)
    return UnknownTemplate(UnknownTemplate.__doc__)


def _read(ids: Collection[int]) -> Iterable[PinnedVersion]:
    versions = (
        TemplateVersion.objects.filter(id__in=ids, content_hash__isnull=False)
        .select_related("template")
        .order_by("id")
    )
    contents: dict[int, list[TemplateContent]] = defaultdict(list)
    for content in TemplateContent.objects.filter(version_id__in=ids).order_by("id"):
        contents[content.version_id].append(content)
    return [pin(version, contents[version.id]) for version in versions]
