"""The suppression list: found by address, added to by a form, lifted by an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from foundation.ids import public_id
from preferences.address_keys import address_key
from preferences.contact import UnusableAddress, normalise_address
from preferences.held import Held, Reason
from preferences.models import Suppression
from preferences.suppression import Entry, UnknownSuppression, add_suppression
from preferences.suppression import lift_suppression as lift
from providers.channels import Channel
from tenants.admin.acts import Act, actor_of
from tenants.admin.confirming import Question, ask, is_confirmed
from tenants.admin.newest_first import (
    NewestFirstAdmin,
    Search,
    by,
    find_in_tenants,
)
from tenants.admin.presenting import label, words
from tenants.admin.typed import ModelForm
from tenants.category_catalog import UnknownCategory, find_category
from tenants.models import Tenant

_CHANNELS = [(Channel.EMAIL.value, "E-mail"), (Channel.SMS.value, "Text message")]
_SHOWN = (
    ("entry", "tenant"),
    ("shown_channel", "shown_reason", "shown_category"),
    ("created_at", "created_by"),
    ("lifted_at", "lifted_by"),
)


class SuppressionForm(ModelForm):
    """An address that nothing may be sent to; the list keeps its hash alone."""

    channel = forms.TypedChoiceField(
        choices=_CHANNELS, coerce=int, widget=UnfoldAdminSelectWidget
    )
    address = forms.CharField(
        max_length=320,
        widget=UnfoldAdminTextInputWidget,
        help_text="An e-mail address or a phone number.",
    )
    reason = forms.ChoiceField(
        choices=[(each.value, words(each.value)) for each in Reason],
        widget=UnfoldAdminSelectWidget,
    )

    class Meta:
        model = Suppression
        fields = ("tenant", "channel", "address", "category", "reason")

    def clean(self) -> dict[str, Any]:
        """Read the address as the API would, and refuse what is no category."""
        given = self.cleaned_data
        if not {"tenant", "channel", "address"} <= given.keys():
            return given
        tenant: Tenant = given["tenant"]
        try:
            given["key"] = _key(tenant, Channel(given["channel"]), given["address"])
        except UnusableAddress as unusable:
            self.add_error("address", unusable.detail)
        if name := given.get("category"):
            try:
                find_category(tenant_id=tenant.pk, name=name)
            except UnknownCategory:
                self.add_error("category", "The tenant has no such category.")
        return given


@admin.register(Suppression)
class SuppressionAdmin(NewestFirstAdmin):
    """Entries come from providers, people and staff; those that were lifted stay."""

    form = SuppressionForm
    add_act = Act.KEEP_SUPPRESSIONS
    acts_of_actions: ClassVar[Mapping[str, Act]] = {"lift": Act.KEEP_SUPPRESSIONS}
    actions = ("lift",)
    search_help_text: ClassVar[str] = "A whole address, or sup_…"
    searches: ClassVar[Mapping[str, Search]] = {"sup": by("pk")}
    list_display = (
        "entry",
        "tenant",
        "shown_channel",
        "shown_reason",
        "shown_category",
        "created_at",
        "lifted_at",
    )

    @admin.display(description="entry")
    def entry(self, obj: Suppression) -> str:
        """Show the id that the API and the trail use."""
        return public_id("sup", obj.pk)

    @admin.display(description="channel")
    def shown_channel(self, obj: Suppression) -> str:
        """Name the channel."""
        return dict(_CHANNELS)[obj.channel]

    @admin.display(description="reason")
    def shown_reason(self, obj: Suppression) -> str:
        """Show why, and whether it still holds."""
        colour = "info" if obj.lifted_at else "danger"
        return label(words(obj.reason), {words(obj.reason): colour})

    @admin.display(description="category")
    def shown_category(self, obj: Suppression) -> str:
        """Name the category; none is all of them."""
        return obj.category or "everything"

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Show an entry as it is in the list: there is nothing more of it."""
        return SuppressionForm.Meta.fields if obj is None else _SHOWN

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> Any:
        """Nothing of an entry can be edited."""
        return () if obj is None else [name for row in _SHOWN for name in row]

    def find(
        self, request: HttpRequest, queryset: QuerySet[Any], term: str
    ) -> QuerySet[Any]:
        """Find an entry by its id, or all of an address."""
        found = super().find(request, queryset, term)
        if found.query.is_empty():
            return find_in_tenants(
                request, queryset, lambda tenant: _place(tenant, term)
            )
        return found

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        """Put the address on the list; the trail says who did."""
        given = form.cleaned_data
        row = add_suppression(
            Entry(
                tenant_id=obj.tenant_id,
                channel=Channel(given["channel"]),
                key=given["key"],
                held=Held(reason=Reason(given["reason"]), category=given["category"]),
                actor=actor_of(request.user),
            )
        )
        obj.pk = row.pk

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Go to the list, and say that nothing more is sent there."""
        self.message_user(request, f"On the list as {public_id('sup', obj.pk)}.")
        return HttpResponseRedirect(reverse("admin:preferences_suppression_changelist"))

    def is_offered(self, action: str, obj: Suppression) -> bool:
        return obj.lifted_at is None

    @admin.action(description="Lift")
    def lift(
        self, request: HttpRequest, queryset: QuerySet[Suppression]
    ) -> TemplateResponse | None:
        """Let messages go there again."""
        rows = [
            row
            for row in queryset
            if row.lifted_at is None
            and self.allows(request, Act.KEEP_SUPPRESSIONS, row)
        ]
        if rows and not is_confirmed(request):
            question = Question(
                action="lift",
                title="Lift entries of the suppression list",
                text="Messages will go to these addresses again. Somebody asked that"
                " they do not, or nothing ever arrived there.",
                button="Lift",
                rows=[(row.pk, f"{self.entry(row)}, {row.reason}") for row in rows],
            )
            return ask(request, self, question)
        lifted = sum(_lift(row, actor=actor_of(request.user)) for row in rows)
        skipped = len(queryset) - lifted
        self.message_user(request, f"Lifted {lifted}, skipped {skipped}.")
        return None


def _lift(row: Suppression, *, actor: str) -> bool:
    try:
        lift(tenant_id=row.tenant_id, suppression_id=row.pk, actor=actor)
    except UnknownSuppression:
        return False  # somebody else was faster
    return True


def _key(tenant: Tenant, channel: Channel, address: str) -> bytes:
    value = normalise_address(
        address, channel=channel, region=tenant.default_region or None
    )
    return address_key(tenant_id=tenant.pk, channel=channel, value=value)


def _place(tenant: Tenant, address: str) -> Q | None:
    """Return where an address is on a tenant's list; None if it cannot be one there."""
    channel = Channel.EMAIL if "@" in address else Channel.SMS
    try:
        key = _key(tenant, channel, address)
    except UnusableAddress:
        return None
    return Q(tenant_id=tenant.pk, channel=channel.value, key=key)
