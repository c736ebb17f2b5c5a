"""Ask once more before an action that cannot be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import ModelAdmin, helpers
from django.http import HttpRequest
from django.template.response import TemplateResponse

_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an action would do, and to which rows: (primary key, what people see).

    With a `note` the form asks for that too, and posts it under this name.
    """

    action: str
    title: str
    text: str
    button: str
    rows: Sequence[tuple[object, str]]
    note: str = ""


def is_confirmed(request: HttpRequest) -> bool:
    """Tell whether this is the answer to a question."""
    return "confirmed" in request.POST


def ask(
    request: HttpRequest, model_admin: ModelAdmin[Any], question: Question
) -> TemplateResponse:
    """Show the question; its form calls the same action again."""
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": question.title,
        "question": question,
        "shown": [text for _, text in question.rows[:_SHOWN]],
        "more": len(question.rows[_SHOWN:]),
        "checkbox_name": helpers.ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "tenants/admin/confirm.html", context)
