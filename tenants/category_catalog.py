"""The categories of tenants, as the processes that accept and send know them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta

from tenants.categories import Cap, Category, KnownCategory, LegalClass
from tenants.models import TenantCategory
from tenants.process_cache import ProcessCache

Categories = Mapping[str, KnownCategory]


class UnknownCategory(LookupError):
    """The tenant has no category of this name."""


_categories: ProcessCache[int, Categories] = ProcessCache(
    size=10_000, lifetime=timedelta(seconds=5)
)


def find_category(*, tenant_id: int, name: str) -> KnownCategory:
    """Return a tenant's category; raise UnknownCategory.

    A new one is noticed at once, a change of one within 5 s.
    """
    known = _categories.get(tenant_id)
    if known is None or name not in known:
        known = _read([tenant_id]).get(tenant_id, {})
    if name not in known:
        raise UnknownCategory(name)
    return known[name]


def categories_of_many(tenant_ids: Collection[int]) -> Mapping[int, Categories]:
    """Return all categories of tenants by name, with one query at most."""
    cached = ((tenant_id, _categories.get(tenant_id)) for tenant_id in set(tenant_ids))
    found = {tenant_id: known for tenant_id, known in cached if known is not None}
    if missing := set(tenant_ids) - found.keys():
        found |= _read(missing)
    return found


def _read(tenant_ids: Collection[int]) -> dict[int, Categories]:
    found: dict[int, dict[str, KnownCategory]] = {}
    for row in TenantCategory.objects.filter(tenant_id__in=tenant_ids):
        found.setdefault(row.tenant_id, {})[row.name] = KnownCategory(
            name=row.name,
            base=Category(row.base),
            legal_class=LegalClass(row.legal_class),
            off_by_default=frozenset(row.off_by_default),
            cap=_cap(row),
        )
    for tenant_id, known in found.items():
        _categories.put(tenant_id, known)
    return dict(found)


def _cap(row: TenantCategory) -> Cap | None:
    if row.most_messages is None or row.most_in_hours is None:
        return None
    return Cap(most=row.most_messages, within=timedelta(hours=row.most_in_hours))
