"""Make the topics that are not there; existing ones are left as they are."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from notifications.outbox import LANES
from notifications.transport.kafka.topics import Layout, declare_topics


class Command(BaseCommand):
    help = "Declare a topic for every channel and class; nothing else makes them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        # Twice as many as consumers of one class, or some have nothing to do.
        parser.add_argument("--partitions", type=int, default=6)
        parser.add_argument("--replication", type=int, default=3)
        parser.add_argument("--min-insync-replicas", type=int, default=2)
        parser.add_argument("--retention-hours", type=int, default=24)

    def handle(self, *args: Any, **options: Any) -> None:
        layout = Layout(
            partitions=options["partitions"],
            replication=options["replication"],
            min_insync_replicas=options["min_insync_replicas"],
            retention_hours=options["retention_hours"],
        )
        for name in declare_topics(LANES, layout):
            self.stdout.write(name)
