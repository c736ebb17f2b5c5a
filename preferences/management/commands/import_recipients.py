"""Create or replace people out of a CSV file."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from foundation.field_problems import locate
from preferences.recipient_csv import Row, UnreadableFile, open_csv, read_rows
from preferences.recipients import RecipientDetails, phone_region
from preferences.saving import save_recipients
from preferences.serializers.people import ListedUserSerializer
from tenants.models import Tenant

_BATCH = 500


class Command(BaseCommand):
    """Reads people as `save_users` takes them; each row that is refused is named."""

    help = (
        "Create or replace people out of a CSV file with the columns user_id, locale,"
        " time_zone, country, email, phone, and email_2, phone_2 and so on. What is"
        " empty is forgotten. Exits with 1 if a row was refused; all others are kept."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file, the tenant and the trial."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--tenant", required=True, help="Its slug.")
        parser.add_argument("--dry-run", action="store_true", help="Save nobody.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read and save a batch at a time; what was saved before an error stays."""
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant {options['tenant']!r}.")
        counts: Counter[str] = Counter()
        people: dict[str, RecipientDetails] = {}

        def save() -> None:
            saved = (
                dict.fromkeys(people, "usable")
                if options["dry_run"]
                else save_recipients(tenant_id=tenant.pk, people=people)
            )
            counts.update(str(each) for each in saved.values())
            people.clear()

        try:
            with open_csv(options["file"]) as file:
                rows = _Reader(tenant).usable(read_rows(file), self._refuse, counts)
                for user_id, details in rows:
                    people[user_id] = details
                    if len(people) == _BATCH:
                        save()
        except (OSError, UnreadableFile) as unreadable:
            save()  # what stands before the place where the file breaks off
            raise CommandError(f"{unreadable} {_told(counts)}") from unreadable
        save()
        if counts.total() == counts["refused"]:
            raise CommandError(f"There is nobody in it to save. {_told(counts)}")
        if counts["refused"]:
            raise CommandError(_told(counts))
        self.stdout.write(_told(counts))

    def _refuse(self, row: Row, problem: str) -> None:
        self.stderr.write(f"line {row.number}: {problem}")


class _Reader:
    """Makes people of rows; knows who was there already."""

    def __init__(self, tenant: Tenant) -> None:
        self._context = {"region": phone_region(tenant_id=tenant.pk)}
        self._lines: dict[str, int] = {}

    def usable(
        self, rows: Iterable[Row], refuse: Any, counts: Counter[str]
    ) -> Iterator[tuple[str, RecipientDetails]]:
        for row in rows:
            user_id, details, problem = self._read(row)
            if details is None:
                counts["refused"] += 1
                refuse(row, problem)
            else:
                yield user_id, details

    def _read(self, row: Row) -> tuple[str, RecipientDetails | None, str]:
        serializer = ListedUserSerializer(data=row.user, context=self._context)
        if row.problem or not serializer.is_valid():
            problems = [] if row.problem else locate(serializer.errors)
            told = [f"{row.column(each.pointer)}: {each.detail}" for each in problems]
            return "", None, row.problem or " ".join(told)
        user_id = serializer.validated_data["user_id"]
        if (line := self._lines.setdefault(user_id, row.number)) != row.number:
            return "", None, f"user_id: It is in line {line} already."
        return user_id, serializer.details(), ""


def _told(counts: Counter[str]) -> str:
    return (
        ", ".join(f"{number} {name}" for name, number in sorted(counts.items())) + "."
    )
