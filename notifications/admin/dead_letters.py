"""Deliveries that wait for a person: look at them, and give them another try."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.timesince import timesince

from foundation.database_clock import AppNow
from foundation.ids import public_id
from notifications.admin.explaining import (
    DELIVERY_LABELS,
    delivery_link,
    notification_link,
    trail,
)
from notifications.models import DeadLetter, Delivery
from notifications.replay import REPLAYED, replay
from tenants.admin.acts import Act, actor_of, may
from tenants.admin.confirming import Question, ask, is_confirmed
from tenants.admin.newest_first import (
    NEWEST,
    NewestFirstAdmin,
    Search,
    by,
    by_sibling,
)
from tenants.admin.presenting import Table, label, words
from tenants.admin.scoping import TenantFilter

# What people are told about deliveries that replay leaves as they are.
_OBJECTIONS = {
    "expired": "expired",
    "maybe_sent": "may have been sent",
    "not_stuck": "no longer stuck",
    "unknown": "not yours to replay",
}


@admin.register(DeadLetter)
class DeadLetterAdmin(NewestFirstAdmin):
    """The one list of what is stuck; it is as short as the operators are quick."""

    searches: ClassVar[Mapping[str, Search]] = {
        "dlv": by("pk"),
        "ntf": by_sibling("pk", "notification_id"),
    }
    acts_of_actions = {
        "replay": Act.REPLAY,
        "replay_even_if_maybe_sent": Act.REPLAY,
    }
    actions = ("replay", "replay_even_if_maybe_sent")
    list_display = (
        "shown_id",
        "shown_status",
        "tenant",
        "channel",
        "shown_reason",
        "code",
        "attempt_count",
        "age",
    )
    fields = (
        ("delivery", "shown_status", "tenant"),
        ("notification", "channel", "age"),
        ("shown_reason", "code", "attempt_count"),
    )
    # A narrow table of its own, which is why these two need no index.
    list_filter: ClassVar[tuple[Any, ...]] = (TenantFilter, "status", "channel")

    def lookup_allowed(
        self, lookup: str, value: str, request: HttpRequest | None = None
    ) -> bool:
        return lookup in {
            TenantFilter.parameter_name,
            "status__exact",
            "channel__exact",
        }

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        rows: QuerySet[Model] = super().get_queryset(request).annotate(now=AppNow())
        return rows

    @admin.display(description="delivery")
    def shown_id(self, obj: DeadLetter) -> str:
        """Show the delivery's public id, which a replay keeps."""
        return public_id("dlv", obj.pk)

    @admin.display(description="status")
    def shown_status(self, obj: DeadLetter) -> str:
        """Show whether retries were used up, or an operator must decide."""
        return label(obj.status, DELIVERY_LABELS)

    @admin.display(description="delivery")
    def delivery(self, obj: DeadLetter) -> str:
        """Link to the delivery."""
        return delivery_link(obj.pk)

    @admin.display(description="notification")
    def notification(self, obj: DeadLetter) -> str:
        """Link to what it is a part of."""
        return notification_link(obj.notification_id)

    @admin.display(description="reason")
    def shown_reason(self, obj: DeadLetter) -> str:
        """Show what stopped it."""
        return words(obj.reason)

    @admin.display(description="age")
    def age(self, obj: DeadLetter) -> str:
        """Tell how long it has been waiting, by the database's clock."""
        return timesince(obj.created_at, vars(obj)["now"], depth=1)

    def tables(self, obj: DeadLetter) -> list[Table]:
        """Show how it came to this."""
        return [
            trail(
                tenant_id=obj.tenant_id,
                notification_id=obj.notification_id,
                about=obj.pk,
            )
        ]

    @admin.action(description="Replay")
    def replay(self, request: HttpRequest, queryset: QuerySet[DeadLetter]) -> None:
        """Give deliveries another try, but for what may have been sent."""
        self._replay(request, queryset, even_if_maybe_sent=False)

    @admin.action(description="Replay even if it may have been sent")
    def replay_even_if_maybe_sent(
        self, request: HttpRequest, queryset: QuerySet[DeadLetter]
    ) -> TemplateResponse | None:
        """Give deliveries another try, at the risk of a second message."""
        if is_confirmed(request):
            self._replay(request, queryset, even_if_maybe_sent=True)
            return None
        return ask(request, self, _question(queryset[:NEWEST]))

    def _replay(
        self,
        request: HttpRequest,
        queryset: QuerySet[DeadLetter],
        *,
        even_if_maybe_sent: bool,
    ) -> None:
        rows = list(queryset.values_list("pk", "tenant_id")[:NEWEST])
        outcome = replay(
            [delivery_id for delivery_id, _ in rows],
            tenant_ids={
                tenant_id
                for _, tenant_id in rows
                if may(request.user, Act.REPLAY, tenant_id=tenant_id)
            },
            actor=actor_of(request.user),
            even_if_maybe_sent=even_if_maybe_sent,
        )
        level = messages.SUCCESS if outcome[REPLAYED] else messages.WARNING
        self.message_user(request, report(outcome), level)


def report(outcome: Counter[str]) -> str:
    """Say how many ended how, as in "Replayed 3, skipped 1: expired"."""
    skipped = {reason: count for reason, count in outcome.items() if reason != REPLAYED}
    said = f"Replayed {outcome[REPLAYED]}"
    if not skipped:
        return f"{said}."
    if len(skipped) == 1:
        (reason,) = skipped
        return f"{said}, skipped {skipped[reason]}: {_OBJECTIONS[reason]}."
    reasons = ", ".join(
        f"{count} {_OBJECTIONS[reason]}" for reason, count in sorted(skipped.items())
    )
    return f"{said}, skipped {sum(skipped.values())}: {reasons}."


def _question(rows: QuerySet[DeadLetter]) -> Question:
    ids = [row.pk for row in rows]
    doubtful = Delivery.objects.filter(pk__in=ids, maybe_sent=True).count()
    return Question(
        action="replay_even_if_maybe_sent",
        title="Replay even if it may have been sent",
        text=(
            f"Of {len(ids)} deliveries, {doubtful} may have been sent: an attempt was "
            "never answered. Whoever has the message already would get it again."
        ),
        button="Replay all the same",
        rows=[(row.pk, _describe(row)) for row in rows],
    )


def _describe(row: DeadLetter) -> str:
    channel = row.get_channel_display()
    return f"{public_id('dlv', row.pk)} on {channel}: {words(row.reason or row.status)}"
