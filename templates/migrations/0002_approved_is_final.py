"""What was approved stays as it was, whoever writes: notifications are pinned to it."""

from __future__ import annotations

from django.db import migrations

VERSIONS = """
CREATE FUNCTION keep_template_version() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  retired template_version := OLD;
BEGIN
  retired.status := 'retired';
  IF OLD.status = 'draft' AND TG_OP = 'DELETE' THEN
    RETURN OLD;
  ELSIF OLD.status = 'draft' AND NEW.status IN ('draft', 'approved') THEN
    RETURN NEW;
  ELSIF OLD.status = 'approved' AND NEW IS NOT DISTINCT FROM retired THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'template version % is %: it can no longer change', OLD.id, OLD.status
    USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER template_version_keep BEFORE UPDATE OR DELETE ON template_version
  FOR EACH ROW EXECUTE FUNCTION keep_template_version();
"""

REVERSE_VERSIONS = """
DROP TRIGGER template_version_keep ON template_version;
DROP FUNCTION keep_template_version();
"""

# FOR SHARE waits for an approval under way, and an approval waits for us.
CONTENTS = """
CREATE FUNCTION keep_template_content() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  version record;
BEGIN
  FOR version IN
    SELECT id, status FROM template_version
     WHERE id IN (OLD.version_id, NEW.version_id) ORDER BY id FOR SHARE
  LOOP
    IF version.status <> 'draft' THEN
      RAISE EXCEPTION 'template version % is %: its contents can no longer change',
        version.id, version.status USING ERRCODE = 'restrict_violation';
    END IF;
  END LOOP;
  RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER template_content_keep
  BEFORE INSERT OR UPDATE OR DELETE ON template_content
  FOR EACH ROW EXECUTE FUNCTION keep_template_content();
"""

REVERSE_CONTENTS = """
DROP TRIGGER template_content_keep ON template_content;
DROP FUNCTION keep_template_content();
"""

# Versions are remembered by processes together with these three.
TEMPLATES = """
CREATE FUNCTION keep_template() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM template_version
              WHERE template_id = OLD.id AND status <> 'draft') THEN
    RAISE EXCEPTION 'template % was approved: tenant, name and category stay', OLD.id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER template_keep BEFORE UPDATE ON template FOR EACH ROW
  WHEN ((OLD.tenant_id, OLD.name, OLD.category)
        IS DISTINCT FROM (NEW.tenant_id, NEW.name, NEW.category))
  EXECUTE FUNCTION keep_template();
"""

REVERSE_TEMPLATES = """
DROP TRIGGER template_keep ON template;
DROP FUNCTION keep_template();
"""


class Migration(migrations.Migration):
    dependencies = [("templates", "0001_initial")]
    operations = [
        migrations.RunSQL(VERSIONS, REVERSE_VERSIONS),
        migrations.RunSQL(CONTENTS, REVERSE_CONTENTS),
        migrations.RunSQL(TEMPLATES, REVERSE_TEMPLATES),
    ]
