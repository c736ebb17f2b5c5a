"""Run a consumer: claim due deliveries, send them, settle them."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils.module_loading import import_string

from foundation.garbage import spare_what_is_loaded
from notifications.checks import DELIVERY
from notifications.dispatch.loop import Consumer, Pace
from notifications.transport.base import Subscription
from notifications.worker import (
    Stop,
    add_worker_options,
    chosen_priorities,
    telling_health,
)
from providers.channels import Channel
from tenants.categories import Priority

CHANNELS = {channel.key: channel for channel in Channel}
# HIGH is looked for more often: an OTP must not wait out somebody's rest.
HIGH_PACE = Pace(busy_pause=0.01, idle_pause=0.025)


class Command(BaseCommand):
    help = "Send due deliveries of all channels and classes, or those named."
    requires_system_checks = [DELIVERY]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--channel", action="append", choices=CHANNELS)
        add_worker_options(parser)
        parser.add_argument(
            "--once", action="store_true", help="stop when nothing is due"
        )
        parser.add_argument("--window", type=int, default=500, help="calls in flight")

    def handle(self, *args: Any, **options: Any) -> None:
        subscription = Subscription(
            channels=tuple(CHANNELS[key] for key in options["channel"] or CHANNELS),
            priorities=chosen_priorities(options),
            lease=settings.CLAIM_LEASE,
        )
        stop = Stop()
        stop.listen()
        consumer = build_consumer(subscription, stop=stop, window=options["window"])
        spare_what_is_loaded()
        with (
            telling_health(options, role="consumer", ready=consumer.is_ready),
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            runner.run(consumer.run(once=options["once"]))


def build_consumer(
    subscription: Subscription, *, stop: Stop, window: int = 500
) -> Consumer:
    """Put a consumer together over the transport that the settings choose."""
    transport = import_string(
        settings.DELIVERY_TRANSPORTS[settings.DELIVERY_TRANSPORT]
    )(subscription)
    high = Priority.HIGH in subscription.priorities
    pace = HIGH_PACE if high else Pace()
    return Consumer(
        transport=transport,
        subscription=subscription,
        stop=stop,
        pace=replace(pace, window=window),
    )
