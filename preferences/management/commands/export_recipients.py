"""Write a tenant's people as CSV."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from preferences.recipient_csv import write_people
from preferences.recipients import StoredRecipient, list_recipients
from tenants.models import Tenant

_PAGE = 1_000


class Command(BaseCommand):
    """Writes what `import_recipients` reads; addresses are in clear in it."""

    help = (
        "Write a tenant's people to a CSV file. Cells that a spreadsheet would take for"
        " formulas, numbers with + among them, begin with an apostrophe."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file and the tenant."""
        parser.add_argument("file", type=Path, help="It must not exist yet.")
        parser.add_argument("--tenant", required=True, help="Its slug.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write a page at a time; nobody else may read the file."""
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant {options['tenant']!r}.")
        path: Path = options["file"]
        try:
            path.touch(mode=0o600, exist_ok=False)
            with path.open("w", encoding="utf-8-sig", newline="") as file:
                number = write_people(file, _everybody(tenant.pk))
        except OSError as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(f"{number} people.")


def _everybody(tenant_id: int) -> Iterator[StoredRecipient]:
    after = ""
    while page := list_recipients(tenant_id=tenant_id, after=after, limit=_PAGE):
        yield from page
        after = page[-1].user_id
