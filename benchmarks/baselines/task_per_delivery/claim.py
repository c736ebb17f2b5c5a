"""Begin one delivery: win it and read all that decides about it, in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings

from notifications.dispatch.work import Work
from notifications.transitions import Begun
from preferences.profile import KnownAddress, Profile
from providers.channels import Channel
from providers.registry import adapter_class
from providers.routing import load_routes
from templates.catalog import load_versions
from tenants.categories import Priority
from tenants.category_catalog import find_category
from tenants.data_keys import unseal

# The outbox row first, as everywhere, and both rows or none: a row that was waited for
# is looked at again, and its delivery must still have the same claim_count. Being one
# statement it is its own transaction: one round trip. E-mails and text messages alone:
# the addresses of the other channels are elsewhere.
BEGIN = """
WITH won AS (
  UPDATE outbox o
     SET claim_count = o.claim_count + 1, due_at = app_now() + %(lease)s,
         published_at = NULL
    FROM delivery d
   WHERE o.delivery_id = %(id)s AND o.due_at <= app_now() AND o.channel IN (1, 2)
     AND d.id = %(id)s AND d.claim_count = o.claim_count AND d.status = 'pending'
  RETURNING o.claim_count
)
UPDATE delivery d
   SET status = 'sending', claim_count = won.claim_count, updated_at = app_now()
  FROM won,
       notification n
  LEFT JOIN notification_content c ON c.id = n.id
  LEFT JOIN recipient r ON r.tenant_id = n.tenant_id AND r.user_id = n.user_id
  LEFT JOIN notification_preferences p
         ON p.tenant_id = n.tenant_id AND p.user_id = n.user_id
 WHERE d.id = %(id)s AND n.id = d.notification_id
RETURNING d.id, d.claim_count, d.notification_id, d.tenant_id, d.channel, d.category,
          d.attempt_count, d.maybe_sent, d.address_id, d.address_sealed, d.address_key,
          d.expires_at, d.retry_until, d.provider, d.order_key, d.called_at,
          d.unknown_count, d.reconcile_until, OLD.status, OLD.maybe_sent, OLD.reason,
          app_now(),
          n.user_id, n.template_version_id, n.locale, n.is_test, n.priority, c.sealed,
          r.locale, p.opt_outs,
          (SELECT a.normalised FROM address a
            WHERE a.id = d.address_id AND a.recipient_id = r.id
              AND a.channel = d.channel AND a.status IN ('unverified', 'verified'))
"""
_OF_DELIVERY = len(Begun._fields)


class _Rest(NamedTuple):
    """What BEGIN returns behind the delivery."""

    user_id: str
    version_id: int
    locale: str
    is_test: bool
    priority: int
    sealed_content: bytes | None
    own_locale: str | None
    opt_outs: list[str] | None
    address: bytes | None


def begin_parameters(delivery_id: UUID) -> dict[str, Any]:
    """Return what BEGIN is given."""
    return {"id": delivery_id, "lease": settings.CLAIM_LEASE}


def work_of(row: Sequence[Any]) -> Work:
    """Put together what BEGIN returned with what the process remembers."""
    begun, rest = Begun._make(row[:_OF_DELIVERY]), _Rest._make(row[_OF_DELIVERY:])
    channel = Channel(begun.channel)
    route = load_routes([begun.tenant_id]).route(
        tenant_id=begun.tenant_id, channel=channel, is_test=rest.is_test
    )
    provider = route.providers[0]
    version = load_versions([rest.version_id])[rest.version_id]
    return Work(
        begun=begun,
        channel=channel,
        priority=Priority(rest.priority),
        user_id=rest.user_id,
        locale=rest.locale or rest.own_locale or "",
        time_zone="UTC",
        is_test=rest.is_test,
        profile=_profile(begun, rest),
        version=version,
        category=find_category(tenant_id=begun.tenant_id, name=version.category),
        provider=provider,
        route=route.providers,
        adapter=adapter_class(provider),
        sealed_content=rest.sealed_content,
    )


def _profile(begun: Begun, rest: _Rest) -> Profile:
    channel = Channel(begun.channel)
    addresses: dict[Channel, tuple[KnownAddress, ...]] = {}
    if begun.address_id is not None and rest.address is not None:
        reveal = partial(_open, begun.tenant_id, begun.address_id, rest.address)
        known = KnownAddress(
            id=begun.address_id, channel=channel, reveal=reveal, key=b""
        )
        addresses[channel] = (known,)
    return Profile(
        tenant_id=begun.tenant_id,
        user_id=rest.user_id,
        read_at=begun.now,
        addresses=addresses,
        opt_outs=frozenset(rest.opt_outs or ()),
    )


def _open(tenant_id: int, address_id: UUID, sealed: bytes) -> str:
    return unseal(
        tenant_id=tenant_id, table="address.normalised", row=address_id, sealed=sealed
    ).decode()
