"""The two roles, the database clock and the maker of partitions.

Runs before every other migration, so that the default privileges hold for all
tables. The owner runs it; the role that runs the platform must exist already:
`CREATE ROLE app LOGIN PASSWORD '…'`.
"""

from __future__ import annotations

from django.conf import settings
from django.db import migrations

ROLES = f"""
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{settings.DATABASE_APP_ROLE}') THEN
    RAISE EXCEPTION 'role "{settings.DATABASE_APP_ROLE}" does not exist'
      USING HINT = 'create it first: CREATE ROLE {settings.DATABASE_APP_ROLE} LOGIN PASSWORD ''...''';
  END IF;
END $$;
GRANT USAGE ON SCHEMA public TO {settings.DATABASE_APP_ROLE};
GRANT SELECT ON ALL TABLES IN SCHEMA public TO {settings.DATABASE_APP_ROLE};
ALTER DEFAULT PRIVILEGES IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {settings.DATABASE_APP_ROLE};
ALTER DEFAULT PRIVILEGES IN SCHEMA public
  GRANT USAGE, SELECT ON SEQUENCES TO {settings.DATABASE_APP_ROLE};
"""

REVERSE_ROLES = f"""
ALTER DEFAULT PRIVILEGES IN SCHEMA public
  REVOKE ALL ON TABLES FROM {settings.DATABASE_APP_ROLE};
ALTER DEFAULT PRIVILEGES IN SCHEMA public
  REVOKE ALL ON SEQUENCES FROM {settings.DATABASE_APP_ROLE};
"""

# Statement time, not clock_timestamp(): a VOLATILE function cannot be an index
# condition, and a poll would filter every future row (112 ms against 0.02 ms).
CLOCK = """
CREATE FUNCTION app_now() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT statement_timestamp()';
"""

# Leaves are made on their own and attached: ATTACH takes SHARE UPDATE EXCLUSIVE on
# the parent and blocks no writer, where CREATE … PARTITION OF takes ACCESS EXCLUSIVE.
# `leaf_statements` hold what the parent would refuse (a UNIQUE without the partition
# key) or cannot pass on (storage parameters); %s stands for the leaf.
# The function runs as the owner, so that the role `app` can have the next partitions
# made (beat does) without owning a table; it takes only parents registered here.
PARTITIONS = f"""
CREATE TABLE partitioned_table (
  parent text PRIMARY KEY,
  leaf_statements text[] NOT NULL DEFAULT '{{}}'
);
REVOKE ALL ON partitioned_table FROM {settings.DATABASE_APP_ROLE};
GRANT SELECT ON partitioned_table TO {settings.DATABASE_APP_ROLE};

CREATE FUNCTION uuid7_floor(moment timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0')
          || repeat('0', 20))::uuid
$$;

-- Big tables are read by their ids: 3,000 sampled rows tell the planner enough, without
-- what is sealed or a document, and ANALYZE of a partition takes a tenth of the second
-- that it would take of a processor; with two of them, callers waited that second.
CREATE FUNCTION sample_little(big regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  EXECUTE (SELECT format('ALTER TABLE %s %s', big, string_agg(
                    format('ALTER COLUMN %I SET STATISTICS %s', attname,
                           CASE WHEN atttypid IN ('bytea'::regtype, 'jsonb'::regtype)
                                THEN 0 ELSE 10 END), ', '))
             FROM pg_attribute
            WHERE attrelid = big AND attnum > 0 AND NOT attisdropped);
END $$;
REVOKE ALL ON FUNCTION sample_little(regclass) FROM PUBLIC;

CREATE FUNCTION make_partition(parent_name text, month date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  first_day date := date_trunc('month', month)::date;
  leaf text := format('%s_%s', parent_name, to_char(first_day, '"p"YYYY_MM'));
  registered public.partitioned_table;
  statement text;
BEGIN
  SELECT * INTO registered FROM public.partitioned_table t WHERE t.parent = parent_name;
  IF NOT FOUND THEN
    RAISE EXCEPTION '% is not a partitioned table of this platform', parent_name;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('make_partition'), hashtext(parent_name));
  IF to_regclass(format('public.%I', leaf)) IS NOT NULL THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL)', leaf, parent_name);
  EXECUTE format('REVOKE ALL ON public.%I FROM {settings.DATABASE_APP_ROLE}', leaf);
  PERFORM public.sample_little(format('public.%I', leaf)::regclass);
  FOREACH statement IN ARRAY registered.leaf_statements LOOP
    EXECUTE format(statement, quote_ident(leaf));
  END LOOP;
  EXECUTE format(
    'ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
    parent_name, leaf,
    public.uuid7_floor(first_day::timestamp AT TIME ZONE 'UTC'),
    public.uuid7_floor((first_day + interval '1 month') AT TIME ZONE 'UTC'));
  RETURN true;
END $$;
REVOKE ALL ON FUNCTION make_partition(text, date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION make_partition(text, date) TO {settings.DATABASE_APP_ROLE};
"""

REVERSE_PARTITIONS = """
DROP FUNCTION make_partition(text, date);
DROP FUNCTION sample_little(regclass);
DROP FUNCTION uuid7_floor(timestamptz);
DROP TABLE partitioned_table;
"""


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    run_before = [
        ("contenttypes", "0001_initial"),
        ("sessions", "0001_initial"),
        ("audit", "0001_initial"),
        ("providers", "0001_initial"),
        ("templates", "0001_initial"),
        ("preferences", "0001_initial"),
        ("inbox", "0001_initial"),
        ("notifications", "0001_initial"),
    ]
    operations = [
        migrations.RunSQL(ROLES, REVERSE_ROLES),
        migrations.RunSQL(CLOCK, "DROP FUNCTION app_now()"),
        migrations.RunSQL(PARTITIONS, REVERSE_PARTITIONS),
    ]
