"""Promises that the database can be asked about: each a query that finds breaches.

Run after every scenario of the tests, by the smoke run and by operators. A query
returns what is wrong, at most a few rows; none means the promise holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction

from foundation.ids import floor_id
from foundation.statements import server_cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """A promise of docs/architecture.md and the query that finds where it is broken.

    `%(floor)s` is the smallest delivery id to look at.
    """

    name: str
    promise: str
    breaches: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One breach: of which invariant, and by which row."""

    invariant: str
    subject: str
    detail: str


INVARIANTS = (
    Invariant(
        name="I1.unfinished_has_a_row",
        promise="An unfinished delivery has exactly one outbox row.",
        breaches="""
SELECT d.id, d.status FROM delivery d LEFT JOIN outbox o ON o.delivery_id = d.id
 WHERE d.id >= %(floor)s AND d.status IN ('pending', 'sending', 'parked')
   AND o.delivery_id IS NULL""",
    ),
    Invariant(
        name="I1.row_has_an_unfinished",
        promise="An outbox row has an unfinished delivery, under the same fence.",
        breaches="""
SELECT o.delivery_id, coalesce(d.status, 'no delivery') || ' ' || o.claim_count
  FROM outbox o LEFT JOIN delivery d ON d.id = o.delivery_id
 WHERE o.delivery_id >= %(floor)s
   AND (d.id IS NULL OR d.status NOT IN ('pending', 'sending', 'parked')
        OR d.claim_count <> o.claim_count)""",
    ),
    Invariant(
        name="I1.nothing_overdue",
        promise="Nothing due stays untouched for longer than a day.",
        breaches="""
SELECT delivery_id, due_at::text FROM outbox
 WHERE delivery_id >= %(floor)s AND due_at < app_now() - interval '1 day'""",
    ),
    Invariant(
        name="I2.acceptance_is_whole",
        promise="A notification has deliveries and the event of its acceptance.",
        breaches="""
SELECT n.id, concat_ws(' ', CASE WHEN d.id IS NULL THEN 'no delivery' END,
                            CASE WHEN a.id IS NULL THEN 'no event' END)
  FROM notification n
  LEFT JOIN LATERAL (SELECT id FROM delivery
                      WHERE notification_id = n.id LIMIT 1) d ON true
  LEFT JOIN LATERAL (SELECT id FROM audit_event WHERE notification_id = n.id
                        AND kind = 'notification.accepted' LIMIT 1) a ON true
 WHERE n.id >= %(floor)s AND (d.id IS NULL OR a.id IS NULL)""",
    ),
    Invariant(
        name="I2.no_orphans",
        promise="A delivery has a notification of the same tenant.",
        breaches="""
SELECT d.id, 'tenant ' || d.tenant_id
  FROM delivery d LEFT JOIN notification n
    ON n.id = d.notification_id AND n.tenant_id = d.tenant_id
 WHERE d.id >= %(floor)s AND n.id IS NULL""",
    ),
    Invariant(
        name="I2.key_has_its_notification",
        promise="The notification that a kept answer names is there, and the tenant's.",
        breaches="""
SELECT k.resource, 'key of tenant ' || k.tenant_id
  FROM idempotency_key k LEFT JOIN notification n
    ON n.id = k.resource AND n.tenant_id = k.tenant_id
 WHERE k.resource >= %(floor)s AND n.id IS NULL
   AND position('"notification_id"'::bytea IN k.response) > 0""",
    ),
    Invariant(
        name="I3.one_key_one_notification",
        promise="No two keys name one notification.",
        breaches="""
SELECT resource, count(*)::text FROM idempotency_key
 WHERE resource >= %(floor)s AND status_code = 202
 GROUP BY resource HAVING count(*) > 1""",
    ),
    Invariant(
        name="I4.not_sent_before_its_date",
        promise="Nothing is handed over before send_at.",
        breaches="""
SELECT s.delivery_id, 'at ' || s.created_at
  FROM sandbox_message s JOIN notification n ON n.id = s.notification_id
 WHERE s.delivery_id >= %(floor)s AND s.created_at < n.send_at""",
    ),
    # The record is written when the call ends: the account's time-out is allowed for.
    # A claim obeys what was known before it, and it is a lease old at most. A tenant's
    # zone is left out, since nothing tells for how long it has been that.
    Invariant(
        name="I4.not_in_quiet_hours",
        promise="Only alerts and what is mandatory disturb anybody in quiet hours.",
        breaches="""
SELECT s.delivery_id, 'at ' || s.created_at || ', quiet in ' || quiet.zone
  FROM sandbox_message s
  JOIN notification n ON n.id = s.notification_id
  JOIN notification_preferences p
    ON p.tenant_id = n.tenant_id AND p.user_id = n.user_id
  LEFT JOIN recipient r ON r.tenant_id = n.tenant_id AND r.user_id = n.user_id,
       LATERAL (SELECT (p.quiet_hours ->> 'start')::time AS start,
                       (p.quiet_hours ->> 'end')::time AS until,
                       coalesce(p.quiet_hours ->> 'time_zone',
                                nullif(r.time_zone, '')) AS zone) quiet
 WHERE s.delivery_id >= %(floor)s AND s.channel <> 4 AND n.category <> 'otp'
   AND NOT EXISTS (SELECT FROM template_version v
                     JOIN template t ON t.id = v.template_id
                     JOIN tenant_category c
                       ON c.tenant_id = t.tenant_id AND c.name = t.category
                    WHERE v.id = n.template_version_id
                      AND c.legal_class = 'mandatory')
   AND (n.priority > 0 OR n.category = 'marketing')
   AND greatest(p.updated_at, r.updated_at) < s.created_at - interval '1 minute'
   AND (SELECT bool_and(CASE WHEN start <= until THEN shown >= start AND shown < until
                             ELSE shown >= start OR shown < until END)
          FROM unnest(ARRAY[s.created_at - interval '11 seconds', s.created_at]) moment,
               LATERAL (SELECT (moment AT TIME ZONE zone)::time AS shown) clock)""",
    ),
    Invariant(
        name="I5.cancelled_was_not_sent_later",
        promise="No attempt follows a cancellation.",
        breaches="""
SELECT s.delivery_id, 'called at ' || s.created_at
  FROM audit_event c
  JOIN sandbox_message s
    ON s.delivery_id = c.delivery_id AND s.created_at > c.created_at
 WHERE c.kind = 'delivery.cancelled' AND c.reason = 'cancelled' AND c.id >= %(floor)s
   AND NOT EXISTS (SELECT FROM audit_event r
                    WHERE r.notification_id = c.notification_id
                      AND r.delivery_id = c.delivery_id
                      AND r.kind = 'delivery.replayed'
                      AND r.created_at > c.created_at)""",
    ),
    Invariant(
        name="I7.duplicates_are_explained",
        promise="A delivery was accepted at most once more than it was unknown.",
        breaches="""
SELECT s.delivery_id, s.accepted || ' accepted, ' || u.unknown || ' unknown'
  FROM (SELECT delivery_id, min(notification_id::text)::uuid AS notification_id,
               count(*) AS accepted
          FROM sandbox_message WHERE accepted AND delivery_id >= %(floor)s
         GROUP BY delivery_id) s,
       LATERAL (SELECT count(*) AS unknown FROM audit_event a
                 WHERE a.notification_id = s.notification_id
                   AND a.delivery_id = s.delivery_id
                   AND a.detail ->> 'outcome' = 'unknown') u
 WHERE s.accepted > 1 + u.unknown""",
    ),
    Invariant(
        name="I8.finished_stays_finished",
        promise="Nothing follows an end, but a replay or a cancelling of the dead.",
        breaches="""
SELECT delivery_id, before || ' then ' || kind
  FROM (SELECT delivery_id, kind, lag(kind) OVER (
                 PARTITION BY delivery_id ORDER BY created_at, id) AS before
          FROM audit_event
         WHERE id >= %(floor)s AND delivery_id IS NOT NULL
           AND kind <> 'delivery.late_answer') follows
 WHERE before IN ('delivery.sent', 'delivery.failed', 'delivery.suppressed',
                  'delivery.cancelled', 'delivery.expired')
    OR before = 'delivery.dead'
       AND kind NOT IN ('delivery.replayed', 'delivery.cancelled')""",
    ),
    Invariant(
        name="I9.attempts_are_audited",
        promise="Every counted attempt has its event.",
        breaches="""
SELECT d.id, d.attempt_count || ' counted, ' || e.told || ' told'
  FROM delivery d,
       LATERAL (SELECT count(*) AS told FROM audit_event a
                 WHERE a.notification_id = d.notification_id AND a.delivery_id = d.id
                   AND (a.kind = 'delivery.attempt_lost'
                        OR a.kind <> 'delivery.late_answer'
                           AND a.detail ? 'outcome')) e
 WHERE d.id >= %(floor)s AND d.attempt_count > e.told""",
    ),
    Invariant(
        name="I9.dead_letters_are_listed",
        promise="A dead or parked delivery, and no other, waits for a person.",
        breaches="""
SELECT coalesce(d.id, l.delivery_id),
       coalesce(d.status, '-') || ' listed as ' || coalesce(l.status, '-')
  FROM (SELECT id, status FROM delivery
         WHERE id >= %(floor)s AND status IN ('dead', 'parked')) d
  FULL JOIN (SELECT delivery_id, status FROM dead_letter
              WHERE delivery_id >= %(floor)s) l ON l.delivery_id = d.id
 WHERE d.status IS DISTINCT FROM l.status""",
    ),
    Invariant(
        name="I11.one_tenant_throughout",
        promise="All that belongs to a notification belongs to its tenant.",
        breaches="""
SELECT n.id, known.what || ' of tenant ' || known.tenant_id
  FROM notification n JOIN (
    SELECT id AS notification_id, tenant_id, 'content' AS what
      FROM notification_content
     UNION ALL SELECT notification_id, tenant_id, 'delivery' FROM delivery
     UNION ALL SELECT notification_id, tenant_id, kind FROM audit_event
     UNION ALL SELECT notification_id, tenant_id, 'dead letter' FROM dead_letter
     UNION ALL SELECT notification_id, tenant_id, 'sandbox message'
                 FROM sandbox_message
     UNION ALL SELECT d.notification_id, o.tenant_id, 'outbox row'
                 FROM outbox o JOIN delivery d ON d.id = o.delivery_id
  ) known ON known.notification_id = n.id
 WHERE n.id >= %(floor)s AND known.notification_id >= %(floor)s
   AND known.tenant_id <> n.tenant_id""",
    ),
    Invariant(
        name="I12.finished_has_its_event",
        promise="The last event of a finished delivery says how it finished.",
        breaches="""
SELECT d.id, d.status || ' but last told ' || coalesce(e.kind, 'nothing')
  FROM delivery d
  LEFT JOIN LATERAL (SELECT a.kind FROM audit_event a
                      WHERE a.notification_id = d.notification_id
                        AND a.delivery_id = d.id AND a.kind <> 'delivery.late_answer'
                      ORDER BY a.created_at DESC, a.id DESC LIMIT 1) e ON true
 WHERE d.id >= %(floor)s
   AND d.status NOT IN ('pending', 'sending', 'delivered', 'undelivered')
   AND e.kind IS DISTINCT FROM 'delivery.' || d.status""",
    ),
    # Who was dead let the others go on, whatever became of it since.
    Invariant(
        name="I17.order_is_kept",
        promise="Nobody is called before the end of an older one of the order key.",
        breaches="""
WITH ordered AS MATERIALIZED (
  SELECT d.id, d.notification_id, d.order_key, d.finished_at, n.send_at
    FROM delivery d JOIN notification n ON n.id = d.notification_id
   WHERE d.id >= %(floor)s AND d.order_key IS NOT NULL
)
SELECT s.delivery_id, 'called before the end of ' || older.id
  FROM ordered d
  JOIN ordered older ON older.order_key = d.order_key
                    AND (older.send_at, older.id) < (d.send_at, d.id)
  JOIN sandbox_message s ON s.delivery_id = d.id
 WHERE coalesce(older.finished_at > s.created_at, true)
   AND NOT EXISTS (SELECT FROM audit_event e
                    WHERE e.notification_id = older.notification_id
                      AND e.delivery_id = older.id AND e.kind = 'delivery.dead')""",
    ),
    Invariant(
        name="I17.who_waits_has_one_before",
        promise="What waits for an older one of its order key has one.",
        breaches="""
SELECT o.delivery_id, 'until ' || o.due_at
  FROM outbox o JOIN delivery d ON d.id = o.delivery_id
 WHERE o.delivery_id >= %(floor)s AND o.due_at > app_now()
   AND o.published_at IS NULL AND d.status = 'pending' AND d.reason = 'order'
   AND NOT EXISTS (SELECT FROM outbox older
                    WHERE older.order_key = o.order_key
                      AND (older.order_at, older.delivery_id)
                        < (o.order_at, o.delivery_id))""",
    ),
    # The record is written when the call ends: the account's time-out is allowed for.
    Invariant(
        name="I15.not_sent_after_expiry",
        promise="Nothing is handed over after it has expired.",
        breaches="""
SELECT s.delivery_id, 'at ' || s.created_at
  FROM sandbox_message s JOIN delivery d ON d.id = s.delivery_id
 WHERE s.delivery_id >= %(floor)s AND s.accepted
   AND s.created_at > d.expires_at + interval '11 seconds'""",
    ),
)

_EXAMPLES = 20
_BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)


def find_violations(*, since: datetime | None = None) -> list[Violation]:
    """Ask every invariant about the deliveries made since then, all if None."""
    floor = floor_id(since or _BEGINNING)
    return [violation for one in INVARIANTS for violation in _ask(one, floor)]


def _ask(invariant: Invariant, floor: object) -> Iterable[Violation]:
    with transaction.atomic(), server_cursor() as cursor:
        # A question to the whole history, which a request's time-out would cut off.
        cursor.execute("SET LOCAL statement_timeout = '10min'")
        cursor.execute(
            f"{invariant.breaches} LIMIT {_EXAMPLES}".encode(), {"floor": floor}
        )
        for subject, detail in cursor.fetchall():
            yield Violation(
                invariant=invariant.name, subject=str(subject), detail=str(detail)
            )
