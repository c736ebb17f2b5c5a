"""Text messages of a tenant that wants them in the basic alphabet."""

from __future__ import annotations

from collections.abc import Callable

from foundation.ids import parse_public_id
from notifications.management.sample import SampleTemplate, publish
from providers.channels import Channel
from providers.sandbox_reading import page
from tenants.categories import Category
from tenants.models import Tenant
from tests.acme import Api
from tests.texts import limit, text

ORDER = SampleTemplate(
    name="order",
    category=Category.TRANSACTIONAL,
    variables={"name": "Đặng"},
    contents={Channel.SMS: {"en": {"text": "Chào {{ name }} \u2013 đơn hàng đây"}}},
)


def sent(api: Api, tenant: Tenant, consume: Callable[..., None], name: str) -> str:
    """Send a text message to the sandbox and return what it said."""
    order, key = {"name": "order"}, ascii(name)
    answer = text(api, key, template=order, variables={"name": name}).json()
    consume()
    found = page(
        tenant_id=tenant.pk,
        notification_id=parse_public_id("ntf", answer["notification_id"]),
        cursor=None,
        limit=1,
    )
    (message,) = found.messages
    return message.content.parts["text"]


def test_it_goes_out_as_it_was_written_unless_the_tenant_wants_otherwise(
    api, acme, consume
):
    """O-SMS-1"""
    publish(acme, ORDER)

    assert sent(api, acme, consume, "Đặng") == "Chào Đặng \u2013 đơn hàng đây"


def test_it_goes_out_in_the_basic_alphabet_where_it_can(api, acme, consume):
    publish(acme, ORDER)
    limit(acme, transliterates_sms=True)

    assert sent(api, acme, consume, "Đặng") == "Chào Dang - don hàng day"
    assert sent(api, acme, consume, "Đặng 🎉") == "Chào Đặng 🎉 \u2013 đơn hàng đây"
