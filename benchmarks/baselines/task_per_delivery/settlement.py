"""Settle one delivery whose provider accepted it: all rows in one statement."""

from __future__ import annotations

from typing import Any

import orjson

from foundation.ids import new_id
from notifications.dispatch.settling import ACTOR, Settlement

# The outbox row first, as everywhere; where it is another's nothing is written.
SETTLE_AS_SENT = """
WITH finished AS (
  DELETE FROM outbox WHERE delivery_id = %(id)s AND claim_count = %(claim_count)s
  RETURNING delivery_id
), sent AS (
  UPDATE delivery d
     SET status = 'sent', attempt_count = d.attempt_count + 1,
         provider = %(provider)s, provider_message_id = %(message_id)s, reason = '',
         code = '', updated_at = app_now(), finished_at = app_now(),
         called_at = coalesce(d.called_at, %(called_at)s)
    FROM finished
   WHERE d.id = %(id)s AND d.status = 'sending' AND d.claim_count = %(claim_count)s
  RETURNING d.id
)
INSERT INTO audit_event (id, tenant_id, kind, actor, notification_id, delivery_id,
                         reason, detail)
SELECT %(event_id)s, %(tenant_id)s, 'delivery.sent', %(actor)s, %(notification_id)s,
       sent.id, '', %(detail)s::jsonb
  FROM sent
"""


def settle_parameters(settlement: Settlement) -> dict[str, Any]:
    """Return what SETTLE_AS_SENT is given."""
    result = settlement.result
    return {
        "id": settlement.fence.delivery_id,
        "claim_count": settlement.fence.claim_count,
        "provider": settlement.provider,
        "message_id": result.provider_message_id if result else "",
        "event_id": new_id(),
        "tenant_id": settlement.tenant_id,
        "actor": ACTOR,
        "notification_id": settlement.notification_id,
        "called_at": settlement.called_at,
        "detail": orjson.dumps(_detail(settlement)).decode(),
    }


def _detail(settlement: Settlement) -> dict[str, Any]:
    """Tell what the trail tells of an accepted attempt."""
    detail: dict[str, Any] = {
        "channel": settlement.channel.key,
        "provider": settlement.provider,
        "attempt": settlement.attempt,
    }
    if result := settlement.result:
        detail |= {"outcome": result.outcome.value, "scope": result.scope.value}
        detail |= {"code": result.code} if result.code else {}
        detail["provider_message_id"] = result.provider_message_id
    return detail
