"""Messages in an inbox."""

from __future__ import annotations

from typing import Any

from factory.declarations import LazyFunction
from factory.django import DjangoModelFactory

from foundation.ids import new_id
from inbox.content import Content, seal_content
from inbox.models import InboxItem


class InboxItemFactory(DjangoModelFactory[InboxItem]):
    """An unread message; name `tenant_id` and `user_id`."""

    class Meta:
        model = InboxItem

    id = LazyFunction(new_id)
    notification_id = LazyFunction(new_id)
    delivery_id = LazyFunction(new_id)
    title = "Your invoice is ready"
    body = "Invoice 17 over 120 EUR is ready."
    link = ""

    @classmethod
    def _create(
        cls, model_class: type[InboxItem], *args: Any, **fields: Any
    ) -> InboxItem:
        content = Content(
            **{name: fields.pop(name) for name in ("title", "body", "link")}
        )
        sealed = seal_content(
            tenant_id=fields["tenant_id"], item_id=fields["id"], content=content
        )
        return InboxItem.objects.create(content=sealed, **fields)
