"""A page that shows what differs between two versions of a template."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from templates.admin.version_actions import LABELS, VersionActions, name_of
from templates.comparing import compare
from templates.models import TemplateVersion
from tenants.admin.presenting import Table, in_reading_order, label

_NEWEST = 20


class ComparedVersions(VersionActions):
    """Versions that can be laid beside the others of their template."""

    def get_urls(self) -> list[URLPattern]:
        page = path(
            "<int:pk>/compare/<int:other_pk>/",
            self.admin_site.admin_view(self.compare),
            name="templates_templateversion_compare",
        )
        return [page, *super().get_urls()]

    def compare(self, request: HttpRequest, pk: int, other_pk: int) -> HttpResponse:
        """Show the differences, the older of the two first."""
        found = [self._visible(request, each) for each in (pk, other_pk)]
        older, newer = sorted(found, key=lambda version: version.number)
        if older.template_id != newer.template_id:
            raise Http404
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{name_of(older)} and version {newer.number}",
            "older": older,
            "newer": newer,
            "differences": compare(_texts(older), _texts(newer)),
        }
        return TemplateResponse(request, "templates/admin/comparison.html", context)

    def _visible(self, request: HttpRequest, pk: int) -> TemplateVersion:
        """Find one of a tenant that the person may look at, else 404."""
        return cast("TemplateVersion", self.get_object(request, str(pk)))


def others(version: TemplateVersion) -> Table:
    """List the newest versions of the template, each with a way to compare it."""
    versions = version.template.versions.exclude(pk=version.pk).order_by("-number")
    return Table(
        title="Other versions",
        headers=["Version", "Status", "Last edited by", "Differences"],
        rows=[
            [
                str(other),
                label(other.status, LABELS),
                other.edited_by,
                format_html(
                    '<a class="text-primary-600 dark:text-primary-500" href="{}">'
                    "Compare with version {}</a>",
                    reverse(
                        "admin:templates_templateversion_compare",
                        args=(version.pk, other.pk),
                    ),
                    other.number,
                ),
            ]
            for other in versions[:_NEWEST]
        ],
    )


def _texts(version: TemplateVersion) -> dict[str, str]:
    return dict(_named_texts(version))


def _named_texts(version: TemplateVersion) -> Iterator[tuple[str, str]]:
    for content in version.contents.order_by("channel", "locale"):
        place = f"{content.get_channel_display()}/{content.locale}"
        for part, text in in_reading_order(content.parts).items():
            yield f"{place}/{part}", text
    yield "default locale", version.default_locale
    yield "schema", _laid_out(version.schema)
    yield "sample", _laid_out(version.sample)


def _laid_out(value: dict[str, Any] | None) -> str:
    if value is None:
        return ""
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
