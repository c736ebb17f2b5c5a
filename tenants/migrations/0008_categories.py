"""What templates are for, in a tenant's own words, beside the three built-in words."""

from __future__ import annotations

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

import foundation.database_clock

NAME = r"^[a-z][a-z0-9_.-]*$"
BASES = ["otp", "transactional", "marketing"]
CLASSES = ["mandatory", "transactional", "marketing"]

# A trigger and not the code that takes tenants on board: web processes of before this
# migration go on making tenants.
BUILT_IN = """
CREATE FUNCTION add_built_in_categories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tenant_category (tenant_id, name, base, legal_class, label, off_by_default)
  VALUES (NEW.id, 'otp', 'otp', 'mandatory', '', '{}'),
         (NEW.id, 'transactional', 'transactional', 'transactional', '', '{}'),
         (NEW.id, 'marketing', 'marketing', 'marketing', '', '{}');
  RETURN NEW;
END $$;
CREATE TRIGGER tenant_has_built_in_categories AFTER INSERT ON tenant
  FOR EACH ROW EXECUTE FUNCTION add_built_in_categories();
INSERT INTO tenant_category (tenant_id, name, base, legal_class, label, off_by_default)
SELECT t.id, b.name, b.name, b.legal_class, '', '{}'
  FROM tenant t, (VALUES ('otp', 'mandatory'), ('transactional', 'transactional'),
                         ('marketing', 'marketing')) b (name, legal_class)
    ON CONFLICT DO NOTHING;
"""

REVERSE_BUILT_IN = """
DROP TRIGGER tenant_has_built_in_categories ON tenant;
DROP FUNCTION add_built_in_categories();
"""

KEEP = """
CREATE FUNCTION keep_tenant_category() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.name NOT IN ('otp', 'transactional', 'marketing') THEN
      RETURN OLD;
    END IF;
    RAISE EXCEPTION 'category % is built in', OLD.name
      USING ERRCODE = 'restrict_violation';
  END IF;
  RAISE EXCEPTION 'tenant, name and base of category % stay', OLD.name
    USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER tenant_category_keep BEFORE UPDATE ON tenant_category FOR EACH ROW
  WHEN ((OLD.tenant_id, OLD.name, OLD.base)
        IS DISTINCT FROM (NEW.tenant_id, NEW.name, NEW.base))
  EXECUTE FUNCTION keep_tenant_category();
CREATE TRIGGER tenant_category_stay BEFORE DELETE ON tenant_category
  FOR EACH ROW EXECUTE FUNCTION keep_tenant_category();
"""

REVERSE_KEEP = """
DROP TRIGGER tenant_category_keep ON tenant_category;
DROP TRIGGER tenant_category_stay ON tenant_category;
DROP FUNCTION keep_tenant_category();
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0006_sms_rules")]
    operations = [
        migrations.CreateModel(
            name="TenantCategory",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="categories",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        max_length=32,
                        validators=[
                            django.core.validators.RegexValidator(
                                NAME, "Small letters, digits, _ . and - alone."
                            )
                        ],
                        help_text="What templates and preferences call it, for example weekly_tips.",
                    ),
                ),
                (
                    "base",
                    models.CharField(
                        max_length=16,
                        choices=[(name, name) for name in BASES],
                        default="marketing",
                        help_text="It decides the priority, for how long sending is tried, and the limits of text messages.",
                    ),
                ),
                (
                    "legal_class",
                    models.CharField(
                        max_length=16,
                        choices=[(name, name) for name in CLASSES],
                        default="marketing",
                        help_text="Mandatory: goes out whatever a person prefers, but never past a legal opt-out. The others people can switch off.",
                    ),
                ),
                (
                    "label",
                    models.CharField(
                        max_length=100,
                        blank=True,
                        default="",
                        help_text="What people are shown for the name.",
                    ),
                ),
                (
                    "off_by_default",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16),
                        default=list,
                        blank=True,
                        help_text="Channels that are off for whoever has not chosen.",
                        size=None,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=foundation.database_clock.AppNow(), editable=False
                    ),
                ),
            ],
            options={
                "db_table": "tenant_category",
                "verbose_name": "category",
                "verbose_name_plural": "categories",
                "constraints": [
                    models.UniqueConstraint(
                        name="tenant_category_name_once", fields=["tenant", "name"]
                    ),
                    models.CheckConstraint(
                        name="tenant_category_name_is_a_label",
                        condition=Q(name__regex=NAME),
                    ),
                    models.CheckConstraint(
                        name="tenant_category_class_fits_its_base",
                        condition=Q(base="otp", legal_class="mandatory")
                        | Q(base="transactional", legal_class="mandatory")
                        | Q(base="transactional", legal_class="transactional")
                        | Q(base="marketing", legal_class="marketing"),
                        violation_error_message="One-time passwords are mandatory, marketing is marketing; transactional messages are transactional or mandatory.",
                    ),
                    models.CheckConstraint(
                        name="tenant_category_built_in_is_its_own_base",
                        condition=~Q(name__in=BASES)
                        | Q(name="otp", base="otp")
                        | Q(name="transactional", legal_class="transactional")
                        | Q(name="marketing", base="marketing"),
                        violation_error_message="This one is built in: its base and legal class stay.",
                    ),
                    models.CheckConstraint(
                        name="tenant_category_mandatory_is_on",
                        condition=~Q(legal_class="mandatory") | Q(off_by_default=[]),
                        violation_error_message="What is mandatory is on.",
                    ),
                    models.CheckConstraint(
                        name="tenant_category_off_by_default_are_channels",
                        condition=Q(
                            off_by_default__contained_by=[
                                "email",
                                "sms",
                                "push",
                                "in_app",
                            ]
                        ),
                    ),
                ],
            },
        ),
        migrations.RunSQL(BUILT_IN, REVERSE_BUILT_IN),
        migrations.RunSQL(KEEP, REVERSE_KEEP),
    ]
