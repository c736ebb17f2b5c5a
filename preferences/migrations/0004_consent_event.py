"""The ledger of consents: append-only by trigger and by grant, like the audit trail."""

from __future__ import annotations

from django.conf import settings
from django.db import migrations, models

import foundation.database_clock
import foundation.ids

# A person's consents are few and asked for one person at a time.
TABLE = """
CREATE TABLE consent_event (
  id uuid PRIMARY KEY,
  tenant_id bigint NOT NULL,
  person_key bytea NOT NULL,
  channel smallint,
  category text NOT NULL,
  change text NOT NULL CHECK (change IN ('given', 'withdrawn')),
  source text NOT NULL,
  wording text NOT NULL,
  actor text NOT NULL,
  evidence bytea,
  created_at timestamptz NOT NULL DEFAULT app_now()
);
CREATE INDEX consent_event_person ON consent_event (tenant_id, person_key, id);
"""

APPEND_ONLY = f"""
CREATE FUNCTION refuse_consent_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'consents are append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER consent_event_append_only BEFORE UPDATE OR DELETE ON consent_event
  FOR EACH ROW EXECUTE FUNCTION refuse_consent_change();
CREATE TRIGGER consent_event_no_truncate BEFORE TRUNCATE ON consent_event
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_consent_change();
REVOKE ALL ON consent_event FROM {settings.DATABASE_APP_ROLE};
GRANT SELECT, INSERT ON consent_event TO {settings.DATABASE_APP_ROLE};
"""

REVERSE_APPEND_ONLY = """
DROP TRIGGER consent_event_no_truncate ON consent_event;
DROP TRIGGER consent_event_append_only ON consent_event;
DROP FUNCTION refuse_consent_change();
"""


class Migration(migrations.Migration):
    dependencies = [("preferences", "0003_category_choices")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(TABLE, "DROP TABLE consent_event"),
            ],
            state_operations=[
                migrations.CreateModel(
                    name="ConsentEvent",
                    fields=[
                        (
                            "id",
                            models.UUIDField(
                                primary_key=True,
                                default=foundation.ids.new_id,
                                serialize=False,
                            ),
                        ),
                        ("tenant_id", models.BigIntegerField()),
                        ("person_key", models.BinaryField()),
                        ("channel", models.SmallIntegerField(null=True)),
                        ("category", models.TextField()),
                        (
                            "change",
                            models.TextField(),
                        ),
                        (
                            "source",
                            models.TextField(),
                        ),
                        ("wording", models.TextField()),
                        ("actor", models.TextField()),
                        ("evidence", models.BinaryField(null=True)),
                        (
                            "created_at",
                            models.DateTimeField(
                                db_default=foundation.database_clock.AppNow()
                            ),
                        ),
                    ],
                    options={
                        "db_table": "consent_event",
                        "indexes": [
                            models.Index(
                                fields=["tenant_id", "person_key", "id"],
                                name="consent_event_person",
                            ),
                        ],
                    },
                ),
            ],
        ),
        migrations.RunSQL(APPEND_ONLY, REVERSE_APPEND_ONLY),
    ]
