"""The page on which a version's messages are seen as people will get them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from unicodedata import name as unicode_name

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminSelectWidget

from providers.channels import Channel
from providers.sms_text import Alphabet
from templates.admin.json_field import LaidOutJSONField, lay_out
from templates.admin.version_actions import LABELS
from templates.measures import Measures
from templates.models import TemplateVersion
from templates.previewing import (
    Preview,
    PreviewedVersion,
    PreviewRefused,
    Wish,
    preview_version,
)
from tenants.admin.presenting import label
from tenants.admin.scoping import TenantScopedAdmin

_TITLES = {
    Channel.EMAIL: "E-mail",
    Channel.SMS: "Text message",
    Channel.PUSH: "Push",
    Channel.IN_APP: "In the app",
}
_ALPHABETS = {
    Alphabet.GSM7: "basic alphabet",
    Alphabet.UCS2: "Unicode because of what is marked",
}
# How good the news of a version's status is.


class WishForm(forms.Form):
    """Whose people to show the version for, and what to fill in."""

    locale = forms.ChoiceField(widget=UnfoldAdminSelectWidget)
    variables = LaidOutJSONField(required=False)

    def __init__(self, version: TemplateVersion, data: Any) -> None:
        super().__init__(data)
        known = version.contents.values_list("locale", flat=True)
        locales = sorted({version.default_locale, *known})
        self.fields["locale"].choices = [(each, each) for each in locales]  # type: ignore[attr-defined]

    def clean_variables(self) -> dict[str, Any]:
        """Take an object; an empty field is an empty one."""
        variables: object = self.cleaned_data["variables"]
        if variables is None:
            return {}
        if not isinstance(variables, dict):
            raise forms.ValidationError("Write a JSON object.")
        return variables

    def refuse(self, refused: PreviewRefused) -> None:
        """Tell what is wrong beside the field that it is in."""
        for error in refused.errors:
            _, field, *path = error.pointer.split("/", 2)
            place = f"{path[0]} " if path else ""
            message = place + error.detail
            self.add_error(field if field in self.fields else None, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A message as the page shows it; `runs` are pieces of a text message, and whether
    they are why it is not in the basic alphabet."""

    preview: Preview
    title: str
    facts: str
    runs: Sequence[tuple[str, bool]]
    replaced: str = ""


def preview_page(
    model_admin: TenantScopedAdmin, request: HttpRequest, version: TemplateVersion
) -> HttpResponse:
    """Show the version with its sample, or with what somebody has typed."""
    untouched = {
        "locale": version.default_locale,
        "variables": lay_out(version.sample or {}),
    }
    form = WishForm(version, request.POST if request.method == "POST" else untouched)
    previewed = _preview(form, version)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": f"{version.template.name} v{version.number}",
        "version": version,
        "status": label(version.status, LABELS),
        "form": form,
        "problems": previewed.problems if previewed else (),
        "cards": [_card(each) for each in previewed.previews] if previewed else (),
    }
    return TemplateResponse(request, "templates/admin/preview.html", context)


def _preview(form: WishForm, version: TemplateVersion) -> PreviewedVersion | None:
    if not form.is_valid():
        return None
    given = form.cleaned_data
    wish = Wish(locales=[given["locale"]], variables=given["variables"])
    try:
        return preview_version(version, wish)
    except PreviewRefused as refused:
        form.refuse(refused)
        return None


def _card(preview: Preview) -> Card:
    return Card(
        preview=preview,
        title=_TITLES[preview.channel],
        facts=_facts(preview.measures),
        runs=list(_runs(preview)),
        replaced=_replaced(preview),
    )


def _facts(measures: Measures) -> str:
    if sms := measures.sms:
        segments = f"{sms.segments} segment{'s' if sms.segments > 1 else ''}"
        return f"{segments} · {sms.units} units · {_ALPHABETS[sms.alphabet]}"
    if (push := measures.push) and push.bytes is not None:
        return f"{push.bytes:,} of {push.limit:,} bytes"
    if email := measures.email:
        html = "" if email.html_bytes is None else f"HTML {email.html_bytes:,} bytes · "
        return f"{html}about {email.bytes:,} bytes in all"
    return ""


def _replaced(preview: Preview) -> str:
    """Say once of each character what was written for it."""
    replacements = preview.rendered.replacements if preview.rendered else ()
    pairs = dict.fromkeys((each.character, each.replacement) for each in replacements)
    return " · ".join(
        f"{_visible(character)} → {_visible(basic) or 'nothing'}"
        for character, basic in pairs
    )


def _visible(text: str) -> str:
    """Name a character that cannot be seen."""
    if len(text) == 1 and (text.isspace() or not text.isprintable()):
        return unicode_name(text, "").lower() or f"U+{ord(text):04X}"
    return text


def _runs(preview: Preview) -> Iterator[tuple[str, bool]]:
    """Cut a text message where characters outside the basic alphabet begin and end."""
    sms = preview.measures.sms
    if sms is None or preview.rendered is None:
        return
    forcing = {at for at, _ in sms.forcing}
    text = preview.rendered.parts["text"]
    for is_forcing, run in groupby(enumerate(text), lambda each: each[0] in forcing):
        yield "".join(character for _, character in run), is_forcing
