"""First answers by idempotency key; they outlive the partitions of what they made.

No model: the key is composite. Hash partitions keep each index small under a stream of
inserts and deletes; no foreign keys, so that an acceptance locks nothing else.
"""

from __future__ import annotations

from django.db import migrations

LEAVES = 8

TABLE = """
CREATE TABLE idempotency_key (
  tenant_id bigint NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  hash_version smallint NOT NULL,
  resource uuid,
  status_code smallint,
  response bytea,
  created_at timestamptz NOT NULL DEFAULT app_now(),
  expires_at timestamptz NOT NULL,
  CONSTRAINT idempotency_key_pkey PRIMARY KEY (tenant_id, key),
  CONSTRAINT idempotency_key_length CHECK (length(key) BETWEEN 1 AND 255),
  CONSTRAINT idempotency_key_fingerprint_is_sha256
    CHECK (octet_length(fingerprint) = 32),
  CONSTRAINT idempotency_key_answer_is_whole
    CHECK ((status_code IS NULL) = (response IS NULL))
) PARTITION BY HASH (tenant_id, key);
CREATE INDEX idempotency_key_expires_at ON idempotency_key (expires_at);
"""

# A row is written, and given its answer in the same transaction: the room left keeps
# that update on its page and out of the indexes.
LEAF = """
CREATE TABLE idempotency_key_{number} PARTITION OF idempotency_key
  FOR VALUES WITH (MODULUS {leaves}, REMAINDER {number}) WITH (fillfactor = 80);
SELECT sample_little('idempotency_key_{number}');
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0002_initial")]
    operations = [
        migrations.RunSQL(
            [
                TABLE,
                *(LEAF.format(number=n, leaves=LEAVES) for n in range(LEAVES)),
            ],
            "DROP TABLE idempotency_key",
        ),
    ]
