"""Previews of a tenant's template `welcome`, asked for over the API."""

from __future__ import annotations

from typing import Any

from templates.models import TemplateVersion
from tenants.models import Tenant
from tests.acme import Api
from tests.factories.templates import (
    ApprovedVersionFactory,
    DraftFactory,
    TemplateFactory,
)


def draft(tenant: Tenant, **fields: Any) -> TemplateVersion:
    template = TemplateFactory.create(tenant=tenant, name="welcome")
    version: TemplateVersion = DraftFactory.create(template=template, **fields)
    return version


def approved(tenant: Tenant, **fields: Any) -> TemplateVersion:
    template = TemplateFactory.create(tenant=tenant, name="welcome")
    version: TemplateVersion = ApprovedVersionFactory.create(
        template=template, **fields
    )
    return version


def ask(api: Api, name: str = "welcome", **wish: Any) -> Any:
    return api.post(f"/v1/templates/{name}/preview", wish)


def previews(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.content
    shown: list[dict[str, Any]] = answer.json()["previews"]
    return shown


def only(answer: Any) -> dict[str, Any]:
    (preview,) = previews(answer)
    return preview


def codes(preview: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in preview["warnings"]]
