"""The audit trail: partitioned by month, append-only by trigger and by grant."""

from __future__ import annotations

from django.conf import settings
from django.db import migrations, models

import foundation.database_clock
import foundation.ids

TABLE = """
CREATE TABLE audit_event (
  id uuid PRIMARY KEY,
  tenant_id bigint NOT NULL,
  kind text NOT NULL,
  actor text NOT NULL,
  notification_id uuid,
  delivery_id uuid,
  reason text NOT NULL,
  detail jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT app_now()
) PARTITION BY RANGE (id);
CREATE INDEX audit_event_notification ON audit_event (notification_id);
INSERT INTO partitioned_table (parent) VALUES ('audit_event');
"""

# Row triggers are inherited by the leaves; TRUNCATE of a leaf is refused because
# nobody but the owner has any right on a leaf.
APPEND_ONLY = f"""
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit trail is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_event_append_only BEFORE UPDATE OR DELETE ON audit_event
  FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_event_no_truncate BEFORE TRUNCATE ON audit_event
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
REVOKE ALL ON audit_event FROM {settings.DATABASE_APP_ROLE};
GRANT SELECT, INSERT ON audit_event TO {settings.DATABASE_APP_ROLE};
"""

REVERSE_APPEND_ONLY = """
DROP TRIGGER audit_event_no_truncate ON audit_event;
DROP TRIGGER audit_event_append_only ON audit_event;
DROP FUNCTION refuse_audit_change();
"""

FIRST_PARTITIONS = """
SELECT make_partition('audit_event', (now() + n * interval '1 month')::date)
  FROM generate_series(-1, 3) n;
"""


class Migration(migrations.Migration):
    initial = True
    dependencies = [("tenants", "0001_database")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    TABLE,
                    "DROP TABLE audit_event;"
                    "DELETE FROM partitioned_table WHERE parent = 'audit_event';",
                ),
            ],
            state_operations=[
                migrations.CreateModel(
                    name="AuditEvent",
                    fields=[
                        (
                            "id",
                            models.UUIDField(
                                default=foundation.ids.new_id,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("tenant_id", models.BigIntegerField()),
                        ("kind", models.TextField()),
                        ("actor", models.TextField()),
                        ("notification_id", models.UUIDField(null=True)),
                        ("delivery_id", models.UUIDField(null=True)),
                        ("reason", models.TextField(blank=True, default="")),
                        ("detail", models.JSONField(default=dict)),
                        (
                            "created_at",
                            models.DateTimeField(
                                db_default=foundation.database_clock.AppNow()
                            ),
                        ),
                    ],
                    options={
                        "db_table": "audit_event",
                        "indexes": [
                            models.Index(
                                fields=["notification_id"],
                                name="audit_event_notification",
                            )
                        ],
                    },
                ),
            ],
        ),
        migrations.RunSQL(APPEND_ONLY, REVERSE_APPEND_ONLY),
        migrations.RunSQL(FIRST_PARTITIONS, migrations.RunSQL.noop),
    ]
