"""Ask the database whether every promise holds; exits 1 where one does not."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from notifications.invariants import INVARIANTS, find_violations


class Command(BaseCommand):
    help = "Check the invariants of docs/architecture.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--since", help="look at deliveries made since, RFC 3339 with an offset"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        with connection.cursor() as cursor:
            # It may read months of history.
            cursor.execute("SET statement_timeout = 0")
        violations = find_violations(since=_moment(options["since"]))
        if options["json"]:
            found = [asdict(violation) for violation in violations]
            self.stdout.write(json.dumps({"violations": found}))
        else:
            for violation in violations:
                self.stdout.write(
                    f"{violation.invariant}: {violation.subject} {violation.detail}"
                )
            self.stdout.write(
                f"{len(INVARIANTS)} invariants, {len(violations)} violations"
            )
        if violations:
            sys.exit(1)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as malformed:
        raise CommandError("--since is not an RFC 3339 date and time") from malformed
    if moment.tzinfo is None:
        raise CommandError("--since needs an offset, for example Z")
    return moment
