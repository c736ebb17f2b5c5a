"""Authors, approvers and readers at the same moment."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
from django.db import IntegrityError, connection, transaction

from providers.channels import Channel
from templates.catalog import find_version
from templates.models import TemplateContent, TemplateVersion
from templates.publishing import NotADraft, add_content, approve
from tests.factories.templates import ApprovedVersionFactory, DraftFactory


def test_content_written_during_an_approval_is_refused(committed: None) -> None:
    draft = DraftFactory.create()
    outcomes: list[type[BaseException]] = []

    def write_content() -> None:
        try:
            TemplateContent.objects.create(
                version=draft, channel=Channel.SMS, locale="vi", parts={"text": "Late"}
            )
        except IntegrityError as refused:
            outcomes.append(type(refused.__cause__ or refused))
        finally:
            connection.close()

    with transaction.atomic():
        approve(version=draft, actor="staff:an")
        writer = threading.Thread(target=write_content)
        writer.start()
        wait_until_blocked("INSERT INTO")
    writer.join(timeout=10)

    assert outcomes == [psycopg.errors.RestrictViolation]
    assert not TemplateContent.objects.filter(locale="vi").exists()


def test_one_of_two_approvals_at_once_wins(committed: None) -> None:
    draft = DraftFactory.create()
    outcomes: list[str] = []
    gate = threading.Barrier(2)

    def approve_it() -> None:
        gate.wait(timeout=10)
        try:
            approve(version=draft, actor="staff:an")
            outcomes.append("approved")
        except NotADraft:
            outcomes.append("too late")
        finally:
            connection.close()

    approvers = [threading.Thread(target=approve_it) for _ in range(2)]
    for approver in approvers:
        approver.start()
    for approver in approvers:
        approver.join(timeout=10)

    assert sorted(outcomes) == ["approved", "too late"]
    assert TemplateVersion.objects.get(pk=draft.pk).status == "approved"


def test_approval_waits_for_content_and_takes_it_in(committed: None) -> None:
    draft = DraftFactory.create()
    hashes: list[bytes] = []

    def approve_it() -> None:
        try:
            hashes.append(bytes(approve(version=draft, actor="a").content_hash or b""))
        finally:
            connection.close()

    with transaction.atomic():
        add_content(
            version=draft,
            channel=Channel.SMS,
            locale="vi",
            parts={"text": "Chào"},
            actor="staff:author",
        )
        approver = threading.Thread(target=approve_it)
        approver.start()
        wait_until_blocked("FOR UPDATE")
    approver.join(timeout=10)

    without = ApprovedVersionFactory.create()
    assert len(hashes) == 1
    assert hashes[0] != without.content_hash


def test_threads_share_what_is_known(committed: None) -> None:
    versions = [ApprovedVersionFactory.create() for _ in range(3)]

    def work(number: int) -> int:
        try:
            version = versions[number % 3]
            return find_version(
                tenant_id=version.template.tenant_id,
                name=version.template.name,
                number=1,
            ).id
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(work, range(60)))

    assert found == [versions[number % 3].pk for number in range(60)]


def wait_until_blocked(statement: str) -> None:
    """Wait until another session waits for a lock with such a statement."""
    query = """SELECT count(*) FROM pg_stat_activity
                WHERE wait_event_type = 'Lock' AND query LIKE %s"""
    for _ in range(2_000):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.005), pg_stat_clear_snapshot()")
            cursor.execute(query, [f"%{statement}%"])
            if cursor.fetchone() == (1,):
                return
    raise AssertionError(f"nobody waits with {statement}")
