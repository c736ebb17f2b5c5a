"""What was approved cannot be changed, not even by plain SQL."""

from __future__ import annotations

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction

from templates.models import TemplateContent
from templates.publishing import retire
from tests.factories.templates import ApprovedVersionFactory, DraftFactory

pytestmark = pytest.mark.django_db


def execute(statement: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        changed: int = cursor.rowcount
    return changed


CHANGES = [
    """UPDATE template_version SET schema = '{"a": 1}'""",
    """UPDATE template_version SET sample = '{}'""",
    "UPDATE template_version SET default_locale = 'vi'",
    "UPDATE template_version SET number = 2",
    "UPDATE template_version SET content_hash = sha256('a')",
    "UPDATE template_version SET approved_by = 'staff:other'",
    "UPDATE template_version SET approved_at = now()",
    """UPDATE template_version
          SET status = 'draft', content_hash = NULL, approved_at = NULL""",
    "UPDATE template_version SET status = 'retired', default_locale = 'vi'",
    "DELETE FROM template_version",
    """UPDATE template_content SET parts = '{"text": "Send money"}'""",
    "UPDATE template_content SET locale = 'vi'",
    "UPDATE template_content SET channel = 2",
    "DELETE FROM template_content",
    """INSERT INTO template_content (version_id, channel, locale, parts)
       SELECT id, 2, 'vi', '{"text": "Send money"}' FROM template_version""",
    "UPDATE template SET category = 'otp'",
    "UPDATE template SET name = 'other'",
    "UPDATE template SET tenant_id = tenant_id + 1",
]


@pytest.mark.parametrize("is_retired", [False, True], ids=["approved", "retired"])
@pytest.mark.parametrize("statement", CHANGES)
def test_plain_sql_is_refused(statement: str, is_retired: bool) -> None:
    version = ApprovedVersionFactory.create()
    if is_retired:
        retire(version=version, actor="staff:an")

    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        execute(statement)

    assert isinstance(refused.value.__cause__, psycopg.errors.RestrictViolation)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE template_version SET status = 'approved'",
        "UPDATE template_version SET status = 'retired'",
        "UPDATE template_version SET approved_by = ''",
    ],
)
def test_retired_version_stays_retired(statement: str) -> None:
    retire(version=ApprovedVersionFactory.create(), actor="staff:an")

    with pytest.raises(IntegrityError), transaction.atomic():
        execute(statement)


def test_orm_is_refused_as_well() -> None:
    version = ApprovedVersionFactory.create()
    content = version.contents.order_by("id")[0]

    for change in (version.save, version.delete, content.save, content.delete):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()


def test_draft_can_be_changed_and_deleted() -> None:
    draft = DraftFactory.create()

    assert execute("UPDATE template_version SET default_locale = 'vi'") == 1
    assert execute("UPDATE template SET name = 'other', category = 'otp'") == 1
    draft.delete()
    assert not TemplateContent.objects.exists()


def test_draft_is_not_retired_nor_approved_without_a_hash() -> None:
    DraftFactory.create()

    for status in ("retired", "approved"):
        with pytest.raises(IntegrityError), transaction.atomic():
            execute(f"UPDATE template_version SET status = '{status}'")


def test_retiring_is_the_one_change_that_plain_sql_may_make() -> None:
    ApprovedVersionFactory.create()

    assert execute("UPDATE template_version SET status = 'retired'") == 1


def test_description_of_a_template_may_change() -> None:
    ApprovedVersionFactory.create()

    assert execute("UPDATE template SET description = 'Sent when it leaves'") == 1
