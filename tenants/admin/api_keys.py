"""API keys: issued by a form that shows the key once, revoked by an action."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from foundation.database_clock import AppNow
from tenants.admin.acts import Act, actor_of
from tenants.admin.confirming import Question, ask, is_confirmed
from tenants.admin.presenting import label
from tenants.admin.scoping import TenantFilter, TenantScopedAdmin
from tenants.admin.typed import ModelForm
from tenants.api_keys import (
    LIVE_KEYS_PER_SERVICE,
    TooManyLiveKeys,
    issue_key,
    live_keys,
    revoke_key,
)
from tenants.models import ApiKey
from tenants.scopes import Scope

_STANDINGS = {"valid": "success", "expired": "warning", "revoked": "danger"}
_SCOPES = [(scope.value, scope.value) for scope in Scope]


class ApiKeyForm(ModelForm):
    """What a new key is for."""

    scopes = forms.MultipleChoiceField(
        choices=_SCOPES, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    class Meta:
        model = ApiKey
        fields = ("tenant", "service", "environment", "scopes", "expires_at")

    def clean(self) -> dict[str, Any]:
        """Refuse a third live key here, where there is a form to say so."""
        given = self.cleaned_data
        if {"tenant", "service", "environment"} <= given.keys():
            live = live_keys(tenant_id=given["tenant"].pk).filter(
                service=given["service"], environment=given["environment"]
            )
            if live.count() >= LIVE_KEYS_PER_SERVICE:
                raise forms.ValidationError(TooManyLiveKeys.__doc__ or "")
        return given


@admin.register(ApiKey)
class ApiKeyAdmin(TenantScopedAdmin):
    """Only the beginning of a key is ever shown again; nothing of it can be edited."""

    form = ApiKeyForm
    add_act = Act.ISSUE_KEYS
    acts_of_actions = {"revoke": Act.REVOKE_KEYS}
    actions = ("revoke",)
    ordering = ("-id",)
    list_display = (
        "shown_prefix",
        "tenant",
        "service",
        "shown_environment",
        "standing",
        "expires_at",
        "created_at",
        "created_by",
    )
    list_select_related = ("tenant",)
    list_filter = (TenantFilter, "environment")
    search_fields = ("prefix", "service")

    @admin.display(description="key")
    def shown_prefix(self, obj: ApiKey) -> str:
        """Show the part that people know a key by."""
        return str(obj)

    @admin.display(description="environment")
    def shown_environment(self, obj: ApiKey) -> str:
        """Show the environment as a label."""
        return label(obj.environment, {"live": "primary", "test": "info"})

    @admin.display(description="standing")
    def standing(self, obj: ApiKey) -> str:
        """Tell whether the key opens anything."""
        if obj.revoked_at is not None:
            return label("revoked", _STANDINGS)
        return label("valid" if vars(obj)["is_live"] else "expired", _STANDINGS)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        in_time = Q(expires_at__isnull=True) | Q(expires_at__gt=AppNow())
        rows: QuerySet[Model] = (
            super()
            .get_queryset(request)
            .annotate(is_live=ExpressionWrapper(in_time, output_field=BooleanField()))
        )
        return rows

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Show a key as it is, without the digest."""
        if obj is None:
            return ApiKeyForm.Meta.fields
        return (*self.list_display[:5], "shown_scopes", *self.list_display[5:])

    @admin.display(description="scopes")
    def shown_scopes(self, obj: ApiKey) -> str:
        """List what the key may do."""
        return ", ".join(obj.scopes)

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> Any:
        """Nothing of an issued key can be edited."""
        return () if obj is None else self.get_fields(request, obj)

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        """Issue the key, and show it this once."""
        key, text = issue_key(
            tenant=obj.tenant,
            service=obj.service,
            is_test=obj.environment == ApiKey.Environment.TEST,
            scopes=obj.scopes,
            expires_at=obj.expires_at,
            created_by=actor_of(request.user),
        )
        obj.pk, obj.prefix = key.pk, key.prefix
        self._record(request, "api_key.issued", key)
        self.message_user(
            request,
            format_html(
                "This is the key. It is shown this once: <code>{}</code>", text
            ),
            messages.WARNING,
        )

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Go to the list, with no other message beside the key."""
        return HttpResponseRedirect(reverse("admin:tenants_apikey_changelist"))

    def is_offered(self, action: str, obj: ApiKey) -> bool:
        return obj.revoked_at is None

    @admin.action(description="Revoke")
    def revoke(
        self, request: HttpRequest, queryset: QuerySet[ApiKey]
    ) -> TemplateResponse | None:
        """End keys; every process has forgotten them within 5 s."""
        keys = [key for key in queryset if self.allows(request, Act.REVOKE_KEYS, key)]
        if keys and not is_confirmed(request):
            question = Question(
                action="revoke",
                title="Revoke API keys",
                text="Whoever uses these keys is refused within 5 seconds, for good.",
                button="Revoke",
                rows=[(key.pk, f"{key} of {key.service}") for key in keys],
            )
            return ask(request, self, question)
        ended = [key for key in keys if key.revoked_at is None]
        with transaction.atomic():
            for key in ended:
                revoke_key(key=key)
                self._record(request, "api_key.revoked", key)
        skipped = len(queryset) - len(ended)
        self.message_user(request, f"Revoked {len(ended)}, skipped {skipped}.")
        return None

    def _record(self, request: HttpRequest, kind: str, key: ApiKey) -> None:
        detail = {
            "key": key.prefix,
            "service": key.service,
            "environment": key.environment,
        }
        self.record(request, kind=kind, tenant_id=key.tenant_id, detail=detail)
