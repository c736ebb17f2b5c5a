"""Tenants with their data keys, and credentials to call the API with."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from factory.declarations import Sequence, SubFactory
from factory.django import DjangoModelFactory

from tenants.api_keys import issue_key
from tenants.categories import Category, KnownCategory, LegalClass
from tenants.models import Tenant, TenantCategory
from tenants.onboarding import Home, create_tenant
from tenants.scopes import Scope


class TenantFactory(DjangoModelFactory[Tenant]):
    """A tenant as onboarding makes it; `status` is set afterwards."""

    class Meta:
        model = Tenant

    slug = Sequence(lambda number: f"tenant-{number}")
    name = "Acme"
    default_locale = "en"
    default_region = "VN"
    time_zone = "UTC"
    status = Tenant.Status.ACTIVE

    @classmethod
    def _create(cls, model_class: type[Tenant], *args: Any, **fields: Any) -> Tenant:
        tenant = create_tenant(
            slug=fields["slug"],
            name=fields["name"],
            home=Home(
                locale=fields["default_locale"],
                region=fields["default_region"],
                time_zone=fields["time_zone"],
            ),
        )
        if fields["status"] != tenant.status:
            tenant.status = fields["status"]
            tenant.save(update_fields=["status"])
        return tenant


class TenantCategoryFactory(DjangoModelFactory[TenantCategory]):
    """A category of a tenant's own, as the form makes it: marketing unless told."""

    class Meta:
        model = TenantCategory

    tenant = SubFactory(TenantFactory)
    name = Sequence(lambda number: f"category_{number}")


_CLASSES = {
    Category.OTP: LegalClass.MANDATORY,
    Category.TRANSACTIONAL: LegalClass.TRANSACTIONAL,
    Category.MARKETING: LegalClass.MARKETING,
}


def known_category(
    base: Category,
    *,
    name: str = "",
    legal_class: LegalClass | None = None,
    off_by_default: Collection[str] = (),
) -> KnownCategory:
    """Make a category without a database: a built-in one unless it has a name."""
    return KnownCategory(
        name=name or base.value,
        base=base,
        legal_class=legal_class or _CLASSES[base],
        off_by_default=frozenset(off_by_default),
    )


def api_key(
    tenant: Tenant,
    *,
    scopes: Collection[str] = tuple(Scope),
    is_test: bool = False,
    service: str = "billing",
) -> str:
    """Issue a key with every scope, or the named ones; return its text."""
    _, text = issue_key(tenant=tenant, service=service, is_test=is_test, scopes=scopes)
    return text


def authorization(credential: str) -> dict[str, str]:
    """Return the headers= of a request made with this key or token."""
    return {"Authorization": f"Bearer {credential}"}
