"""Make the partitions of the coming months; beat does the same every hour."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from notifications.partitions import make_partitions


class Command(BaseCommand):
    help = "Make what is missing of this month's and the next months' partitions."

    def handle(self, *args: Any, **options: Any) -> None:
        made = make_partitions()
        for parent, month in made:
            self.stdout.write(f"{parent} {month:%Y-%m}")
        self.stdout.write(f"{len(made)} made")
