"""The statement that accepts: six tables' rows or none."""

from __future__ import annotations

# Everything or nothing, in one round trip: whoever inserts the key writes the rest. An
# expired key counts as new. When another transaction holds the key this waits for it
# (lock_timeout bounds the wait) and inserts nothing. Its lists come as JSON: twelve
# arrays, which psycopg writes in Python, were a sixth of what an acceptance costs. What
# expires before policy lets it go is due at its expiry, so that the expiry is told.
ACCEPT = """
WITH start AS (
  SELECT greatest(coalesce(%(send_at)s::timestamptz, app_now()), app_now()) AS send_at
), fresh AS (
  INSERT INTO idempotency_key AS k (tenant_id, key, fingerprint, hash_version, resource,
                                    status_code, response, expires_at)
  SELECT %(tenant_id)s, %(key)s, %(fingerprint)s, %(hash_version)s, %(id)s,
         %(status_code)s, %(response)s,
         coalesce(app_now() + %(dedupe_window)s::interval,
                  send_at + %(key_life)s::interval)
    FROM start
  ON CONFLICT (tenant_id, key) DO UPDATE
     SET fingerprint = excluded.fingerprint, hash_version = excluded.hash_version,
         resource = excluded.resource, status_code = excluded.status_code,
         response = excluded.response, created_at = app_now(),
         expires_at = excluded.expires_at
   WHERE k.expires_at <= app_now()
  RETURNING 1
), noted AS (
  INSERT INTO notification (id, tenant_id, user_id, template_version_id, content_hash,
                            category, priority, locale, reference, is_test, accepted_by,
                            send_at, expires_at)
  SELECT %(id)s, %(tenant_id)s, %(user_id)s, %(version_id)s, %(content_hash)s,
         %(category)s, %(priority)s, %(locale)s, %(reference)s, %(is_test)s, %(actor)s,
         send_at, coalesce(%(expires_at)s::timestamptz,
                           send_at + %(default_expiry)s::interval)
    FROM start, fresh
), kept AS (
  INSERT INTO notification_content (id, tenant_id, sealed)
  SELECT %(id)s, %(tenant_id)s, %(sealed)s FROM fresh
), target AS (
  SELECT t.*, send_at FROM start, fresh,
    json_to_recordset(%(targets)s::json)
      t(id uuid, channel smallint, status text, reason text, due_at timestamptz,
        address_id uuid, address_sealed bytea, address_key bytea, order_key bigint)
), fanned_out AS (
  INSERT INTO delivery (id, notification_id, tenant_id, channel, category, status,
                        address_id, address_sealed, address_key, order_key, expires_at,
                        retry_until, reason, finished_at)
  SELECT id, %(id)s, %(tenant_id)s, channel, %(category)s, status, address_id,
         address_sealed, address_key, order_key,
         coalesce(%(expires_at)s::timestamptz, send_at + %(default_expiry)s::interval),
         send_at + %(retry_window)s, reason,
         CASE WHEN status <> 'pending' THEN app_now() END
    FROM target
), queued AS (
  INSERT INTO outbox (delivery_id, tenant_id, channel, priority, claim_count, due_at,
                      order_key, order_at)
  SELECT id, %(tenant_id)s, channel, %(priority)s, 0,
         least(greatest(due_at, send_at),
               coalesce(%(expires_at)s::timestamptz,
                        send_at + %(default_expiry)s::interval)),
         order_key, CASE WHEN order_key IS NOT NULL THEN send_at END
    FROM target WHERE status = 'pending'
), told AS (
  INSERT INTO audit_event (id, tenant_id, kind, actor, notification_id, delivery_id,
                           reason, detail)
  SELECT e.id, %(tenant_id)s, e.kind, %(actor)s, %(id)s, e.delivery_id, e.reason,
         e.detail
    FROM fresh, json_to_recordset(%(events)s::json)
                  e(id uuid, kind text, delivery_id uuid, reason text, detail jsonb)
)
SELECT count(*)::int FROM fresh
"""
