"""Dead letters: who may replay them, what that says, and what it leaves behind."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from audit.models import AuditEvent
from notifications.admin.dead_letters import report
from notifications.models import DeadLetter, Delivery
from notifications.statuses import DeliveryStatus
from tests.factories.notifications import Row, delivery_of, insert, outbox_of
from tests.factories.staff import Role, console_of, said
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

LIST = "notifications/deadletter/"


@pytest.fixture
def tenant():
    return TenantFactory.create()


def dead(tenant, **changes) -> UUID:
    row = {"status": DeliveryStatus.DEAD, "reason": "attempts_used_up", **changes}
    return insert(Row(tenant_id=tenant.pk, **row)).delivery_id


def replays() -> list[tuple[UUID | None, str]]:
    events = AuditEvent.objects.filter(kind="delivery.replayed").order_by("id")
    return list(events.values_list("delivery_id", "actor"))


def test_replay_keeps_the_id_and_is_audited_with_who_did_it(tenant):
    delivery_id = dead(tenant, claim_count=3)
    console = console_of(tenant, Role.OPERATOR)

    answer = console.act(LIST, "replay", delivery_id)

    assert said(answer) == ["Replayed 1."]
    assert delivery_of(delivery_id)["status"] == "pending"
    assert outbox_of(delivery_id) is not None
    assert not DeadLetter.objects.exists()
    assert replays() == [(delivery_id, f"staff:{console.user.username}")]


def test_replay_says_what_it_left_out_and_why(tenant):
    past = datetime.now(UTC) - timedelta(minutes=1)
    chosen = [
        *(dead(tenant) for _ in range(3)),
        dead(tenant, status=DeliveryStatus.PARKED, reason="account_fault"),
    ]
    expired = dead(tenant)
    Delivery.objects.filter(pk=expired).update(expires_at=past)

    answer = console_of(tenant, Role.OPERATOR).act(LIST, "replay", *chosen, expired)

    assert said(answer) == ["Replayed 4, skipped 1: expired."]


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ({"replayed": 3}, "Replayed 3."),
        ({"replayed": 3, "expired": 1}, "Replayed 3, skipped 1: expired."),
        (
            {"expired": 2, "maybe_sent": 1, "unknown": 1},
            "Replayed 0, skipped 4: 2 expired, 1 may have been sent, "
            "1 not yours to replay.",
        ),
    ],
)
def test_report_counts_by_reason(outcome, text):
    assert report(Counter(outcome)) == text


def test_what_may_have_been_sent_is_left_out_of_a_plain_replay(tenant):
    delivery_id = dead(tenant, maybe_sent=True)

    answer = console_of(tenant, Role.OPERATOR).act(LIST, "replay", delivery_id)

    assert said(answer) == ["Replayed 0, skipped 1: may have been sent."]
    assert delivery_of(delivery_id)["status"] == "dead"


def test_replaying_what_may_have_been_sent_asks_first(tenant):
    doubtful, clear = dead(tenant, maybe_sent=True), dead(tenant)
    console = console_of(tenant, Role.OPERATOR)

    asked = console.act(LIST, "replay_even_if_maybe_sent", doubtful, clear)

    assert "Of 2 deliveries, 1 may have been sent" in asked.content.decode()
    assert delivery_of(doubtful)["status"] == "dead"

    answer = console.act(
        LIST, "replay_even_if_maybe_sent", doubtful, clear, confirmed="yes"
    )

    assert said(answer) == ["Replayed 2."]
    assert {delivery_of(pk)["status"] for pk in (doubtful, clear)} == {"pending"}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUTHOR, Role.APPROVER])
@pytest.mark.parametrize("action", ["replay", "replay_even_if_maybe_sent"])
def test_roles_that_only_look_cannot_replay(tenant, role, action):
    delivery_id = dead(tenant)
    console = console_of(tenant, role)

    answer = console.act(LIST, action, delivery_id, confirmed="yes")

    assert answer.status_code == 200
    assert delivery_of(delivery_id)["status"] == "dead"
    assert replays() == []


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMINISTRATOR])
def test_page_of_a_dead_letter_offers_its_replay(tenant, role):
    page = f"{LIST}{dead(tenant)}/change/"

    assert b'value="replay"' in console_of(tenant, role).get(page).content
    assert b'value="replay"' not in console_of(tenant, Role.VIEWER).get(page).content


def test_replay_of_a_tenant_that_one_only_looks_at_is_counted_as_left_out(tenant):
    """OWASP API5: the action is offered for one tenant and used on another."""
    other = TenantFactory.create()
    ours, theirs = dead(tenant), dead(other)
    console = console_of(tenant, Role.OPERATOR)
    console.user.memberships.create(tenant=other, role=Role.VIEWER)

    answer = console.act(LIST, "replay", ours, theirs)

    assert said(answer) == ["Replayed 1, skipped 1: not yours to replay."]
    assert delivery_of(theirs)["status"] == "dead"


def test_page_tells_the_life_of_the_whole_notification(tenant):
    delivery_id = dead(tenant, attempt_count=2)

    page = console_of(tenant, Role.VIEWER).get(f"{LIST}{delivery_id}/change/")

    kinds = [row[1] for row in page.context["tables"][0].rows]
    assert kinds == [
        "notification.accepted",
        "<strong>delivery.retried</strong>",
        "<strong>delivery.retried</strong>",
        "<strong>delivery.dead</strong>",
    ]
