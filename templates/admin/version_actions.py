"""What people do with a version: each act is offered where it makes sense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from templates.copying import NeverApproved, copy_version, roll_back
from templates.models import TemplateVersion
from templates.previewing import warnings_of
from templates.publishing import (
    ApprovalRefused,
    NotADraft,
    NotApproved,
    NotInReview,
    OwnWork,
    ReviewNeeded,
    approve,
    retire,
    send_back,
    submit,
)
from tenants.admin.acts import Act, actor_of
from tenants.admin.confirming import Question, ask, is_confirmed
from tenants.admin.scoping import TenantScopedAdmin

Status = TemplateVersion.Status
LABELS = {"draft": "info", "in_review": "warning", "approved": "success"}
_REFUSALS = (
    NotADraft,
    NotInReview,
    NotApproved,
    NeverApproved,
    ReviewNeeded,
    OwnWork,
)


class VersionActions(TenantScopedAdmin):
    """The actions of the list of versions, and the buttons of a version's page."""

    acts_of_actions = {
        "submit": Act.WRITE_TEMPLATES,
        "approve": Act.APPROVE_TEMPLATES,
        "send_back": Act.APPROVE_TEMPLATES,
        "retire": Act.APPROVE_TEMPLATES,
        "roll_back": Act.APPROVE_TEMPLATES,
        "new_version": Act.WRITE_TEMPLATES,
    }
    actions = tuple(acts_of_actions)

    def is_offered(self, action: str, obj: TemplateVersion) -> bool:
        match action:
            case "submit":
                return obj.status == Status.DRAFT
            case "approve":
                is_reviewed = obj.template.tenant.reviews_templates
                return obj.status == Status.IN_REVIEW or (
                    obj.status == Status.DRAFT and not is_reviewed
                )
            case "send_back":
                return obj.status == Status.IN_REVIEW
            case "retire":
                return obj.status == Status.APPROVED
            case "roll_back":
                return obj.content_hash is not None and not _is_in_use(obj)
            case _:
                return True

    @admin.action(description="Submit for review")
    def submit(self, request: HttpRequest, queryset: QuerySet[TemplateVersion]) -> None:
        """Ask for the review of drafts, which nobody can edit from then on."""
        for version in self._allowed(request, queryset, action="submit"):
            self._do(request, version, submit, done="submitted")

    @admin.action(description="Approve")
    def approve(
        self, request: HttpRequest, queryset: QuerySet[TemplateVersion]
    ) -> None:
        """Make versions usable and unchangeable."""
        for version in self._allowed(request, queryset, action="approve"):
            if self._do(request, version, approve, done="approved"):
                self._warn(request, version)

    @admin.action(description="Send back")
    def send_back(
        self, request: HttpRequest, queryset: QuerySet[TemplateVersion]
    ) -> HttpResponse | None:
        """Ask what to tell the authors, and make drafts of versions in review."""
        allowed = self._allowed(request, queryset, action="send_back")
        if not is_confirmed(request):
            question = Question(
                action="send_back",
                title="Send back to its authors",
                text="They can edit it again, and read why it was not approved.",
                button="Send back",
                rows=[(version.pk, name_of(version)) for version in allowed],
                note="What should be different?",
            )
            return ask(request, self, question)
        for version in allowed:
            note = request.POST.get("note", "").strip()
            self._do(request, version, send_back, done="sent back", note=note)
        return None

    @admin.action(description="Retire")
    def retire(self, request: HttpRequest, queryset: QuerySet[TemplateVersion]) -> None:
        """Take no new notifications for versions; those accepted are still sent."""
        for version in self._allowed(request, queryset, action="retire"):
            self._do(request, version, retire, done="retired")

    @admin.action(description="Roll back to this")
    def roll_back(
        self, request: HttpRequest, queryset: QuerySet[TemplateVersion]
    ) -> HttpResponse | None:
        """Ask, and approve the texts of earlier versions as new ones."""
        allowed = self._allowed(request, queryset, action="roll_back")
        if not is_confirmed(request):
            question = Question(
                action="roll_back",
                title="Roll back",
                text="What it says is approved anew, as the newest version: services"
                " that ask for no version get it from then on.",
                button="Roll back",
                rows=[(version.pk, name_of(version)) for version in allowed],
            )
            return ask(request, self, question)
        for version in allowed:
            self._do(request, version, roll_back, done="approved anew")
        return None

    @admin.action(description="New version from this")
    def new_version(
        self, request: HttpRequest, queryset: QuerySet[TemplateVersion]
    ) -> HttpResponse | None:
        """Start a draft that begins as a version left off, and go there."""
        chosen = self._allowed(request, queryset, action="new_version")
        if len(chosen) != 1:
            self.message_user(request, "Choose one version to begin from.")
            return None
        draft = copy_version(source=chosen[0], actor=actor_of(request.user))
        return HttpResponseRedirect(
            reverse("admin:templates_templateversion_change", args=(draft.pk,))
        )

    def _allowed(
        self, request: HttpRequest, queryset: QuerySet[TemplateVersion], *, action: str
    ) -> list[TemplateVersion]:
        act = self.acts_of_actions[action]
        return [version for version in queryset if self.allows(request, act, version)]

    def _do(
        self,
        request: HttpRequest,
        version: TemplateVersion,
        act: Callable[..., Any],
        *,
        done: str,
        **arguments: str,
    ) -> bool:
        """Do it, and say so, or why not; tell whether it was done."""
        name = name_of(version)
        try:
            act(version=version, actor=actor_of(request.user), **arguments)
        except ApprovalRefused as refused:
            reasons = "; ".join(map(str, refused.problems))
            self.message_user(request, f"{name} not {done}: {reasons}.", messages.ERROR)
        except _REFUSALS as refused:
            self.message_user(
                request, f"{name} not {done}: {refused}", messages.WARNING
            )
        else:
            self.message_user(request, f"{name} {done}.", messages.SUCCESS)
            return True
        return False

    def _warn(self, request: HttpRequest, version: TemplateVersion) -> None:
        if warnings := "; ".join(warnings_of(version)):
            text = f"{name_of(version)} warns: {warnings}."
            self.message_user(request, text, messages.WARNING)


def _is_in_use(version: TemplateVersion) -> bool:
    """Say whether services that ask for no version get this one."""
    approved = version.template.versions.filter(status=Status.APPROVED)
    newest = approved.order_by("-number").first()
    return newest is not None and newest.pk == version.pk


def name_of(version: TemplateVersion) -> str:
    """Name the template and the number."""
    return f"{version.template.name} v{version.number}"
