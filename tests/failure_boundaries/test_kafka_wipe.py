"""All topics are deleted under everything that was published: all of it is sent."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from django.conf import settings

from foundation.statements import server_cursor
from notifications import outbox
from notifications.acceptance.command import build_command
from notifications.acceptance.statement import ACCEPT
from notifications.acceptance.submission import Caller, Submission
from notifications.acceptance.targets import choose_targets
from notifications.management.sample import TEMPLATES
from notifications.outbox import Lane, Poll
from notifications.published import record_published
from notifications.relay.topic_watch import TopicWatch
from notifications.transport.kafka.publisher import Publisher
from preferences.profiles import load_profiles
from providers.channels import Channel
from templates.catalog import find_version
from tenants.categories import Priority
from tenants.category_catalog import find_category
from tenants.models import Tenant
from tests.acme import query
from tests.failure_boundaries.conftest import OwnBroker, Start
from tests.kafka import Kafka, is_all_finished, needs_apache_kafka, wait_until

pytestmark = [
    needs_apache_kafka,
    pytest.mark.timeout(900),
]

CHANNELS = (Channel.EMAIL, Channel.SMS)
LANES = tuple(Lane(Priority.NORMAL, channel) for channel in CHANNELS)
HORIZON = settings.PUBLISHED_HORIZONS[Priority.NORMAL]
LONGEST_SECONDS = 120.0
CHUNK = 1_000


def commands(tenant: Tenant, number: int) -> Iterator[dict[str, object]]:
    """Yield the parameters of so many acceptances, one delivery on each channel."""
    caller = Caller(tenant_id=tenant.pk, actor="service:test", is_test=False)
    sample = TEMPLATES[0]
    first = Submission(
        idempotency_key="",
        fingerprint=sha256(b"").digest(),
        user_id="usr_an",
        template_name=sample.name,
        variables=sample.variables,
        channels=CHANNELS,
        priority=Priority.NORMAL,
    )
    version = find_version(tenant_id=tenant.pk, name=sample.name, number=1)
    person = (tenant.pk, first.user_id)
    targets = choose_targets(
        caller=caller,
        submission=first,
        profile=load_profiles([person], channels=CHANNELS)[person],
        category=find_category(tenant_id=tenant.pk, name=version.category),
    )
    for count in range(number):
        submission = replace(first, idempotency_key=f"k-{count}")
        yield build_command(
            caller=caller, submission=submission, version=version, targets=targets
        ).parameters


def accept(tenant: Tenant, number: int) -> None:
    """Accept by the statement of every acceptance, many in one round trip."""
    waiting = list(commands(tenant, number))
    for first in range(0, number, CHUNK):
        with server_cursor() as cursor:
            cursor.executemany(ACCEPT, waiting[first : first + CHUNK])


def publish_all() -> int:
    """Publish every row as the relay does, but for its window; return how many."""
    publisher = Publisher(patience=settings.PUBLISH_LEASE * 10)
    total = 0
    for lane in LANES:
        poll = Poll(
            lane=lane,
            floor=datetime(2000, 1, 1, tzinfo=UTC),
            limit=CHUNK,
            lease=settings.PUBLISH_LEASE * 10,
        )
        while True:
            with server_cursor() as cursor:
                rows, _ = outbox.take(cursor, poll)
                if not rows:
                    break
                acknowledged = publisher.publish({lane: rows})
                total += record_published(cursor, acknowledged, horizon=HORIZON)
    publisher.close()
    return total


def all_topics_were_seen() -> bool:
    """Look as a relay does; a broker knows a new topic a moment after it was made."""
    watch = TopicWatch(LANES, horizon=HORIZON)
    watch.look()
    return watch.present == frozenset(LANES)


@pytest.mark.parametrize(
    "number", [2_000, pytest.param(100_000, marks=pytest.mark.long)]
)
def test_published_and_unclaimed_rows_survive_their_topics(
    acme: Tenant, own_broker: OwnBroker, start: Start, number: int
) -> None:
    """F17: everything is sent within two minutes of the broker's return, once."""
    wait_until(all_topics_were_seen)
    accept(acme, number // len(LANES))
    assert publish_all() == number
    given = {"KAFKA_BOOTSTRAP_SERVERS": own_broker.bootstrap}

    Kafka(prefix="").delete_topics()
    own_broker.kill()
    start("relay_outbox", "--priority", "normal", **given)
    for lane in LANES:
        start("consume_deliveries", "--channel", lane.channel.key, **given)
    own_broker.start()
    returned = time.monotonic()
    Kafka(prefix="").declare()
    wait_until(is_all_finished, seconds=600)
    took = time.monotonic() - returned

    sys.stdout.write(f"\n{number:,} sent {took:.1f} s after the broker's return\n")
    assert query("SELECT status, count(*) FROM delivery GROUP BY status") == [
        {"status": "sent", "count": number}
    ]
    assert query(
        "SELECT count(*), count(DISTINCT delivery_id) AS once FROM sandbox_message"
    ) == [{"count": number, "once": number}]
    assert took <= LONGEST_SECONDS
