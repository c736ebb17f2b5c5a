"""Text messages to numbers of every kind, and tenants with rules about them."""

from __future__ import annotations

from typing import Any

from django.test import Client

from notifications.management.sample import TEMPLATES, SampleTemplate, publish
from providers.channels import Channel
from tenants.categories import Category
from tenants.models import Tenant
from tenants.process_cache import forget_everything
from tests.acme import Api
from tests.factories.tenants import TenantFactory, api_key, authorization

AN, LAO, BRITISH = "+84901234567", "+8562055512345", "+447400123456"
OTP = {"template": {"name": "login_code"}, "variables": {"code": "482913"}}
SALE = SampleTemplate(
    name="sms_sale",
    category=Category.MARKETING,
    variables={},
    contents={Channel.SMS: {"en": {"text": "Everything must go."}}},
)


def limit(tenant: Tenant, **fields: object) -> Tenant:
    Tenant.objects.filter(pk=tenant.pk).update(**fields)
    forget_everything()  # as if five seconds had passed
    return tenant


def text(api: Api, key: object, *, phone: str | None = AN, **changes: Any) -> Any:
    """Submit a text message to a number, or to usr_x's own."""
    given = {} if phone is None else {"phone": phone}
    body = {
        "idempotency_key": f"key-{key}",
        "recipient": {"user_id": "usr_x", **given},
        "channels": ["sms"],
    }
    return api.submit(**{**body, **changes})


def code(api: Api, key: object, **changes: Any) -> Any:
    """Submit a one-time password."""
    return text(api, key, **{**OTP, **changes})


def statuses(answers: list[Any]) -> list[int]:
    return [answer.status_code for answer in answers]


def neighbour() -> Api:
    """Call the API for another tenant with the same templates."""
    tenant = TenantFactory.create()
    for template in TEMPLATES:
        publish(tenant, template)
    return Api(Client(), authorization(api_key(tenant)))
