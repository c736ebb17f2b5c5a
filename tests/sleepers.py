"""usr_301, who sleeps from ten to eight in Ho Chi Minh City, and what they are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notifications.management.sample import SampleTemplate, publish
from providers.channels import Channel
from tenants.categories import Category
from tenants.models import Tenant
from tests.acme import Api, deliveries, query, sandbox_calls
from tests.database_clock import Clock

USER = "usr_301"
AT_NOON = datetime(2026, 8, 19, 5, tzinfo=UTC)
AT_TEN = datetime(2026, 8, 19, 15, tzinfo=UTC)
AT_NIGHT = datetime(2026, 8, 19, 17, 30, tzinfo=UTC)
IN_THE_MORNING = datetime(2026, 8, 20, 1, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOUR = timedelta(hours=1)

HOURS = {"start": "22:00", "end": "08:00"}
SALE: Mapping[str, Any] = {
    "recipient": {"user_id": USER},
    "template": {"name": "flash_sale"},
    "variables": {},
    "channels": ["push"],
}
CODE: Mapping[str, Any] = {
    "recipient": {"user_id": USER, "phone": "+12025550100"},
    "template": {"name": "login_code"},
    "variables": {"code": "482913"},
    "channels": ["sms"],
}
FLASH_SALE = SampleTemplate(
    name="flash_sale",
    category=Category.MARKETING,
    variables={},
    contents={
        Channel.EMAIL: {"en": {"subject": "Tonight", "text": "Everything must go."}},
        Channel.PUSH: {"en": {"title": "Tonight", "body": "Everything must go."}},
        Channel.IN_APP: {"en": {"title": "Tonight", "body": "Everything must go."}},
    },
)


@pytest.fixture
def awake(
    api: Api, acme: Tenant, clock: Clock, consume: Callable[[], None]
) -> Iterator[Api]:
    """Stop the clock at noon; usr_301 is known and has not asked for any quiet.

    In the end the days pass and all that waits is taken up: nothing is left overdue.
    """
    clock.stop_at(AT_NOON)
    publish(acme, FLASH_SALE)
    register(api, zone="Asia/Ho_Chi_Minh")
    yield api
    for at in (AT_NOON + 72 * HOUR, AT_NOON + 84 * HOUR):  # night somewhere, or not
        clock.stop_at(at)
        consume()


@pytest.fixture
def sleeper(awake: Api) -> Api:
    """Stop the clock at noon; usr_301 has asked to be left alone at night."""
    choose(awake, HOURS)
    return awake


def register(api: Api, *, zone: str | None, user_id: str = USER) -> None:
    """Tell of a person with a phone that shows pushes, in a time zone or in none."""
    answer = api.put(f"/v1/users/{user_id}", {"time_zone": zone})
    assert answer.status_code in {200, 201}, answer.content
    device = {"platform": "fcm", "token": f"phone-of-{user_id}"}
    answer = api.post(
        f"/v1/users/{user_id}/devices", device, **{"Idempotency-Key": f"{user_id}"}
    )
    assert answer.status_code in {200, 201}, answer.content


def choose(
    api: Api, hours: Mapping[str, str | None] | None, *, user_id: str = USER
) -> None:
    """Ask for quiet hours, or for none any more."""
    path = f"/v1/users/{user_id}/notification-preferences"
    answer = api.put(
        path,
        {"opt_outs": [], "quiet_hours": hours},
        **{"If-Match": api.get(path)["ETag"]},
    )
    assert answer.status_code == 200, answer.content


def calls(notification_id: str) -> list[datetime]:
    """Return when the sandbox was called for a notification."""
    return [
        call["created_at"]
        for delivery in deliveries(notification_id)
        for call in sandbox_calls(delivery["id"])
    ]


def due_at(notification_id: str) -> datetime:
    """Return when its only delivery is due."""
    (delivery,) = deliveries(notification_id)
    (row,) = query("SELECT due_at FROM outbox WHERE delivery_id = %s", delivery["id"])
    due: datetime = row["due_at"]
    return due


def standing(notification_id: str) -> tuple[str, str]:
    """Return status and reason of its only delivery."""
    (delivery,) = deliveries(notification_id)
    return delivery["status"], delivery["reason"]


def snoozed(notification_id: str) -> list[tuple[str, str, str]]:
    """Return by whom its only delivery was put off, why and until when."""
    (delivery,) = deliveries(notification_id)
    return [
        (row["actor"], row["reason"], row["until"])
        for row in query(
            "SELECT split_part(actor, ':', 1) AS actor, reason,"
            " detail ->> 'until' AS until FROM audit_event"
            " WHERE delivery_id = %s AND kind = 'delivery.snoozed' ORDER BY id",
            delivery["id"],
        )
    ]
