"""Versions are reviewed before they are approved, where a tenant wants it so."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models import Q
from django.db.models.lookups import In

VERSIONS = """
CREATE OR REPLACE FUNCTION keep_template_version() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept template_version := OLD;
BEGIN
  IF OLD.status = 'draft' AND TG_OP = 'DELETE' THEN
    RETURN OLD;
  ELSIF OLD.status = 'draft' AND NEW.status IN ('draft', 'in_review') THEN
    RETURN NEW;
  END IF;
  kept.status := NEW.status;
  IF NEW.status = 'draft' THEN
    kept.review_note := NEW.review_note;
  ELSIF NEW.status = 'approved' THEN
    kept.content_hash := NEW.content_hash;
    kept.approved_at := NEW.approved_at;
    kept.approved_by := NEW.approved_by;
    IF (OLD.status = 'draft' OR OLD.edited_by = NEW.approved_by) AND EXISTS (
      SELECT FROM template JOIN tenant ON tenant.id = tenant_id
       WHERE template.id = OLD.template_id AND reviews_templates)
    THEN
      RAISE EXCEPTION 'template version % needs the review of somebody else', OLD.id
        USING ERRCODE = 'restrict_violation';
    END IF;
  END IF;
  IF NEW IS NOT DISTINCT FROM kept AND (OLD.status, NEW.status) IN (
    ('in_review', 'draft'), ('draft', 'approved'), ('in_review', 'approved'),
    ('approved', 'retired'))
  THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'template version % is %: it can no longer change', OLD.id, OLD.status
    USING ERRCODE = 'restrict_violation';
END $$
"""

# As 0002_approved_is_final left them.
REVERSE_VERSIONS = """
CREATE OR REPLACE FUNCTION keep_template_version() RETURNS trigger LANGUAGE plpgsql AS $$
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
END $$
"""

# Approving makes what is sent of what was reviewed: `compiled` alone may change then.
CONTENTS = """
CREATE OR REPLACE FUNCTION keep_template_content() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  version record;
  kept template_content := OLD;
BEGIN
  FOR version IN
    SELECT id, status FROM template_version
     WHERE id IN (OLD.version_id, NEW.version_id) ORDER BY id FOR SHARE
  LOOP
    IF version.status = 'in_review' AND TG_OP = 'UPDATE' THEN
      kept.compiled := NEW.compiled;
      CONTINUE WHEN NEW IS NOT DISTINCT FROM kept;
    END IF;
    IF version.status <> 'draft' THEN
      RAISE EXCEPTION 'template version % is %: its contents can no longer change',
        version.id, version.status USING ERRCODE = 'restrict_violation';
    END IF;
  END LOOP;
  RETURN coalesce(NEW, OLD);
END $$
"""

REVERSE_CONTENTS = """
CREATE OR REPLACE FUNCTION keep_template_content() RETURNS trigger LANGUAGE plpgsql AS $$
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
END $$
"""


class Migration(migrations.Migration):
    dependencies = [
        ("templates", "0004_compiled_parts"),
        ("tenants", "0011_template_review"),
    ]
    operations = [
        migrations.AddField(
            "templateversion",
            "edited_by",
            models.CharField(
                blank=True,
                # Web processes of before this migration go on writing drafts.
                db_default="",
                default="",
                editable=False,
                help_text="Who last changed it or a content of it.",
                max_length=150,
            ),
        ),
        migrations.AddField(
            "templateversion",
            "review_note",
            models.TextField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="Why it was sent back, for its authors.",
            ),
        ),
        migrations.AlterField(
            "templateversion",
            "status",
            models.CharField(
                choices=[
                    ("draft", "Draft"),
                    ("in_review", "In Review"),
                    ("approved", "Approved"),
                    ("retired", "Retired"),
                ],
                default="draft",
                max_length=16,
            ),
        ),
        migrations.RemoveConstraint(
            "templateversion", "template_version_approval_is_whole"
        ),
        migrations.AddConstraint(
            "templateversion",
            models.CheckConstraint(
                name="template_version_approval_is_whole",
                condition=Q(
                    status__in=["draft", "in_review"],
                    content_hash__isnull=True,
                    approved_at__isnull=True,
                )
                | Q(
                    status__in=["approved", "retired"],
                    content_hash__isnull=False,
                    approved_at__isnull=False,
                ),
            ),
        ),
        migrations.RemoveConstraint(
            "templateversion", "template_version_sample_is_an_object"
        ),
        migrations.AddConstraint(
            "templateversion",
            models.CheckConstraint(
                name="template_version_sample_is_an_object",
                condition=In(
                    models.Func(
                        "sample",
                        function="jsonb_typeof",
                        output_field=models.TextField(),
                    ),
                    ["object", "null"],
                ),
            ),
        ),
        migrations.RunSQL(VERSIONS, REVERSE_VERSIONS),
        migrations.RunSQL(CONTENTS, REVERSE_CONTENTS),
    ]
