"""Run the relay: publish due deliveries to the broker, each class on its own."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from foundation.garbage import spare_what_is_loaded
from notifications.checks import DELIVERY
from notifications.outbox import LANES
from notifications.relay.publishing import Dates, Pace, Relay
from notifications.relay.topic_watch import republish
from notifications.transport.due_floors import TRAIL, Trail
from notifications.worker import (
    Stop,
    add_worker_options,
    chosen_priorities,
    telling_health,
)
from tenants.categories import Priority

# Fresh HIGH rings: see notifications.doorbell. What becomes due by its date does not.
HIGH_PACE = Pace(busy_pause=0.005, idle_pause=0.1)
HEARD_WITHIN_SECONDS = 30.0


class Command(BaseCommand):
    help = "Publish due deliveries; several may run side by side."
    requires_system_checks = [DELIVERY]

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_worker_options(parser)
        parser.add_argument(
            "--republish",
            action="store_true",
            help="make due what was published and not claimed, and end",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        priorities = chosen_priorities(options)
        if options["republish"]:
            for lane in LANES:
                if lane.priority in priorities:
                    horizon = settings.PUBLISHED_HORIZONS[lane.priority]
                    number = republish(lane, horizon=horizon)
                    self.stdout.write(f"{lane.keys}: {number}")
            return
        stop = Stop()
        stop.listen()
        relays = [build_relay(priority, stop=stop) for priority in priorities]
        spare_what_is_loaded()
        with telling_health(
            options, role="relay", ready=lambda: all(map(_was_heard, relays))
        ):
            run_all(relays, stop)


def build_relay(priority: Priority, *, stop: Stop, trail: Trail = TRAIL) -> Relay:
    """Put the relay of one class together as the settings say."""
    return Relay(
        priority=priority,
        dates=Dates(
            publish_lease=settings.PUBLISH_LEASE,
            horizon=settings.PUBLISHED_HORIZONS[priority],
        ),
        pace=HIGH_PACE if priority is Priority.HIGH else Pace(),
        stop=stop,
        trail=trail,
    )


def run_all(relays: list[Relay], stop: Stop) -> None:
    """Run a thread for each class; one that falls over ends them all."""
    with ThreadPoolExecutor(len(relays), thread_name_prefix="relay") as threads:
        running = [threads.submit(relay.run) for relay in relays]
        wait(running, return_when=FIRST_COMPLETED)
        stop.ask()
    for ended in running:
        ended.result()


def _was_heard(relay: Relay) -> bool:
    return time.monotonic() - relay.heard_at < HEARD_WITHIN_SECONDS
