"""Notifications, their content and deliveries, the outbox and the dead letters."""

from __future__ import annotations

from django.db import migrations, models

import foundation.database_clock

TABLES = """
CREATE TABLE notification (
  id uuid PRIMARY KEY,
  tenant_id bigint NOT NULL,
  user_id text NOT NULL,
  template_version_id bigint NOT NULL,
  content_hash bytea NOT NULL,
  category text NOT NULL,
  priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 2),
  locale text NOT NULL,
  reference text NOT NULL,
  campaign_id uuid,
  is_test boolean NOT NULL,
  accepted_by text NOT NULL,
  send_at timestamptz NOT NULL,
  expires_at timestamptz CHECK (expires_at > send_at),
  created_at timestamptz NOT NULL DEFAULT app_now()
) PARTITION BY RANGE (id);
CREATE INDEX notification_tenant ON notification (tenant_id, id);
CREATE INDEX notification_user ON notification (tenant_id, user_id, id);
CREATE INDEX notification_reference ON notification (tenant_id, reference, id)
  WHERE NOT (reference = '');

CREATE TABLE notification_content (
  id uuid PRIMARY KEY,
  tenant_id bigint NOT NULL,
  sealed bytea NOT NULL
) PARTITION BY RANGE (id);

CREATE TABLE delivery (
  id uuid PRIMARY KEY,
  notification_id uuid NOT NULL,
  tenant_id bigint NOT NULL,
  channel smallint NOT NULL,
  category text NOT NULL,
  status text NOT NULL,
  attempt_count smallint NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
  claim_count integer NOT NULL DEFAULT 0,
  maybe_sent boolean NOT NULL DEFAULT false,
  address_id uuid,
  address_sealed bytea,
  address_key bytea NOT NULL,
  expires_at timestamptz,
  retry_until timestamptz NOT NULL,
  provider text NOT NULL DEFAULT '',
  provider_message_id text NOT NULL DEFAULT '',
  reason text NOT NULL DEFAULT '',
  code text NOT NULL DEFAULT '',
  updated_at timestamptz NOT NULL DEFAULT app_now(),
  finished_at timestamptz,
  CONSTRAINT delivery_status_known CHECK (status IN (
    'pending', 'sending', 'parked', 'sent', 'delivered', 'undelivered', 'failed',
    'dead', 'suppressed', 'cancelled', 'expired')),
  CONSTRAINT delivery_finished_at_says_finished CHECK (
    (finished_at IS NULL) = (status IN ('pending', 'sending', 'parked')))
) PARTITION BY RANGE (id);

-- Narrow and short-lived: every row is inserted, re-dated a few times and deleted.
-- Vacuum must keep up with the churn, or every poll pays for the dead entries.
CREATE TABLE outbox (
  delivery_id uuid PRIMARY KEY,
  tenant_id bigint NOT NULL,
  channel smallint NOT NULL,
  priority smallint NOT NULL,
  claim_count integer NOT NULL,
  due_at timestamptz NOT NULL,
  published_at timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_insert_scale_factor = 0,
        autovacuum_vacuum_insert_threshold = 20000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0,
        autovacuum_analyze_threshold = 20000);
CREATE INDEX outbox_due ON outbox (priority, channel, due_at);
SELECT sample_little('outbox');

CREATE TABLE dead_letter (
  delivery_id uuid PRIMARY KEY,
  notification_id uuid NOT NULL,
  tenant_id bigint NOT NULL,
  channel smallint NOT NULL,
  status text NOT NULL CHECK (status IN ('dead', 'parked')),
  reason text NOT NULL,
  code text NOT NULL,
  attempt_count smallint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now()
);
CREATE INDEX dead_letter_tenant ON dead_letter (tenant_id, delivery_id);

-- A delivery is updated two or three times: room on the page keeps three quarters
-- of those updates heap-only. The UNIQUE leaves out the partition key and would be
-- refused on the parent; one notification's deliveries share a leaf, so the leaf's
-- is enough.
INSERT INTO partitioned_table (parent, leaf_statements) VALUES
  ('notification', '{}'),
  ('notification_content', '{}'),
  ('delivery', ARRAY[
    'ALTER TABLE public.%s SET (fillfactor = 60)',
    'CREATE UNIQUE INDEX ON public.%s (notification_id, channel, address_key)']);
"""

DROP_TABLES = """
DROP TABLE notification, notification_content, delivery, outbox, dead_letter;
DELETE FROM partitioned_table
 WHERE parent IN ('notification', 'notification_content', 'delivery');
"""

FIRST_PARTITIONS = """
SELECT make_partition(parent, (now() + n * interval '1 month')::date)
  FROM unnest(ARRAY['notification', 'notification_content', 'delivery']) parent,
       generate_series(-1, 3) n;
"""

CHANNELS = [(1, "email"), (2, "sms"), (3, "push"), (4, "in_app")]
CATEGORIES = [
    ("otp", "otp"),
    ("transactional", "transactional"),
    ("marketing", "marketing"),
]
FINISHED = [
    "cancelled",
    "dead",
    "delivered",
    "expired",
    "failed",
    "sent",
    "suppressed",
    "undelivered",
]
STATUSES = [
    "cancelled",
    "dead",
    "delivered",
    "expired",
    "failed",
    "parked",
    "pending",
    "sending",
    "sent",
    "suppressed",
    "undelivered",
]
STATUS_CHOICES = [
    (status, status)
    for status in (
        "pending",
        "sending",
        "parked",
        "sent",
        "delivered",
        "undelivered",
        "failed",
        "dead",
        "suppressed",
        "cancelled",
        "expired",
    )
]
NOW = foundation.database_clock.AppNow

STATE = [
    migrations.CreateModel(
        name="Notification",
        fields=[
            ("id", models.UUIDField(primary_key=True, serialize=False)),
            ("tenant_id", models.BigIntegerField()),
            ("user_id", models.TextField()),
            ("template_version_id", models.BigIntegerField()),
            ("content_hash", models.BinaryField()),
            ("category", models.TextField(choices=CATEGORIES)),
            (
                "priority",
                models.SmallIntegerField(
                    choices=[(0, "high"), (1, "normal"), (2, "low")]
                ),
            ),
            ("locale", models.TextField(blank=True, default="")),
            ("reference", models.TextField(blank=True, default="")),
            ("campaign_id", models.UUIDField(null=True)),
            ("is_test", models.BooleanField()),
            ("accepted_by", models.TextField()),
            ("send_at", models.DateTimeField()),
            ("expires_at", models.DateTimeField(null=True)),
            ("created_at", models.DateTimeField(db_default=NOW())),
        ],
        options={
            "db_table": "notification",
            "indexes": [
                models.Index(fields=["tenant_id", "id"], name="notification_tenant"),
                models.Index(
                    fields=["tenant_id", "user_id", "id"], name="notification_user"
                ),
                models.Index(
                    condition=models.Q(("reference", ""), _negated=True),
                    fields=["tenant_id", "reference", "id"],
                    name="notification_reference",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="NotificationContent",
        fields=[
            ("id", models.UUIDField(primary_key=True, serialize=False)),
            ("tenant_id", models.BigIntegerField()),
            ("sealed", models.BinaryField()),
        ],
        options={"db_table": "notification_content"},
    ),
    migrations.CreateModel(
        name="Delivery",
        fields=[
            ("id", models.UUIDField(primary_key=True, serialize=False)),
            ("notification_id", models.UUIDField()),
            ("tenant_id", models.BigIntegerField()),
            ("channel", models.SmallIntegerField(choices=CHANNELS)),
            ("category", models.TextField(choices=CATEGORIES)),
            ("status", models.TextField(choices=STATUS_CHOICES)),
            ("attempt_count", models.SmallIntegerField(default=0)),
            ("claim_count", models.IntegerField(default=0)),
            ("maybe_sent", models.BooleanField(default=False)),
            ("address_id", models.UUIDField(null=True)),
            ("address_sealed", models.BinaryField(null=True)),
            ("address_key", models.BinaryField()),
            ("expires_at", models.DateTimeField(null=True)),
            ("retry_until", models.DateTimeField()),
            ("provider", models.TextField(blank=True, default="")),
            ("provider_message_id", models.TextField(blank=True, default="")),
            ("reason", models.TextField(blank=True, default="")),
            ("code", models.TextField(blank=True, default="")),
            ("updated_at", models.DateTimeField(db_default=NOW())),
            ("finished_at", models.DateTimeField(null=True)),
        ],
        options={
            "db_table": "delivery",
            "verbose_name_plural": "deliveries",
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(("status__in", STATUSES)),
                    name="delivery_status_known",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(
                            ("finished_at__isnull", False), ("status__in", FINISHED)
                        ),
                        models.Q(
                            ("finished_at__isnull", True),
                            models.Q(("status__in", FINISHED), _negated=True),
                        ),
                        _connector="OR",
                    ),
                    name="delivery_finished_at_says_finished",
                ),
            ],
        },
    ),
    migrations.CreateModel(
        name="OutboxRow",
        fields=[
            ("delivery_id", models.UUIDField(primary_key=True, serialize=False)),
            ("tenant_id", models.BigIntegerField()),
            ("channel", models.SmallIntegerField()),
            ("priority", models.SmallIntegerField()),
            ("claim_count", models.IntegerField(default=0)),
            ("due_at", models.DateTimeField()),
            ("published_at", models.DateTimeField(null=True)),
        ],
        options={
            "db_table": "outbox",
            "indexes": [
                models.Index(
                    fields=["priority", "channel", "due_at"], name="outbox_due"
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="DeadLetter",
        fields=[
            ("delivery_id", models.UUIDField(primary_key=True, serialize=False)),
            ("notification_id", models.UUIDField()),
            ("tenant_id", models.BigIntegerField()),
            ("channel", models.SmallIntegerField(choices=CHANNELS)),
            (
                "status",
                models.TextField(choices=[("dead", "dead"), ("parked", "parked")]),
            ),
            ("reason", models.TextField()),
            ("code", models.TextField(blank=True, default="")),
            ("attempt_count", models.SmallIntegerField()),
            ("created_at", models.DateTimeField(db_default=NOW())),
        ],
        options={
            "db_table": "dead_letter",
            "indexes": [
                models.Index(
                    fields=["tenant_id", "delivery_id"], name="dead_letter_tenant"
                )
            ],
        },
    ),
]


class Migration(migrations.Migration):
    initial = True
    dependencies = [("tenants", "0001_database")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(TABLES, DROP_TABLES)],
            state_operations=STATE,
        ),
        migrations.RunSQL(FIRST_PARTITIONS, migrations.RunSQL.noop),
    ]
