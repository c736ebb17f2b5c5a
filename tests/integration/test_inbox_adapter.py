from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from foundation.ids import new_id, public_id
from foundation.statements import Cursor, server_cursor
from inbox.adapter import INSERT_ITEMS, InAppAdapter, InboxMessage
from inbox.models import InboxItem
from inbox.reading import page
from providers.base import OutboundMessage, Outcome, SendResult
from providers.channels import Channel
from tenants.categories import Priority
from tenants.models import Tenant
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")


def send(tenant: Tenant, **fields: Any) -> SendResult:
    message = OutboundMessage(
        **{
            "delivery_id": new_id(),
            "notification_id": new_id(),
            "tenant_id": tenant.pk,
            "user_id": "usr_42",
            "channel": Channel.IN_APP,
            "priority": Priority.NORMAL,
            "category": "transactional",
            "address": "usr_42",
            "parts": {"title": "Hello", "body": "World"},
            "locale": "en",
            "attempt": 1,
            "expires_at": None,
            "is_test": False,
            "address_id": None,
            **fields,
        }
    )
    return asyncio.run(InAppAdapter().send(message))


def persist(*results: SendResult) -> None:
    with server_cursor() as cursor:
        InAppAdapter().persist(cursor, [result.item for result in results])


def test_an_accepted_message_is_in_the_inbox_once_it_is_persisted() -> None:
    tenant = TenantFactory.create()
    result = send(tenant, parts={"title": "Hello", "body": "World", "link": "/x"})
    assert result.outcome is Outcome.ACCEPTED
    assert not InboxItem.objects.exists()

    persist(result)

    (message,) = page(
        tenant_id=tenant.pk, user_id="usr_42", cursor=None, limit=50
    ).messages
    assert result.provider_message_id == public_id("msg", message.id)
    assert (message.content.title, message.content.body) == ("Hello", "World")
    assert message.content.link == "/x"
    assert message.read_at is None


def test_a_delivery_persisted_again_is_there_once() -> None:
    tenant = TenantFactory.create()
    delivery: UUID = new_id()
    first, again = (send(tenant, delivery_id=delivery) for _ in range(2))

    persist(first)
    persist(first, again)

    assert isinstance(first.item, InboxMessage)
    assert InboxItem.objects.get().id == first.item.id


def test_a_batch_takes_one_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = TenantFactory.create()
    results = [send(tenant) for _ in range(500)]
    persist(results[0])

    statements: list[str] = []
    execute = Cursor.execute

    def note(cursor: Cursor, query: str, *parameters: Any) -> Cursor:
        statements.append(query)
        return execute(cursor, query, *parameters)

    monkeypatch.setattr(Cursor, "execute", note)
    persist(*results)

    assert statements == [INSERT_ITEMS]
    assert InboxItem.objects.count() == 500


def test_the_content_lies_sealed_in_the_table() -> None:
    persist(
        send(TenantFactory.create(), parts={"title": "Payslip", "body": "4,200 EUR"})
    )

    content = bytes(InboxItem.objects.get().content)

    assert b"Payslip" not in content
    assert b"4,200" not in content
