"""Accept a backlog: what a benchmark of deliveries begins with.

Runs inside Django: `manage.py shell -c "from benchmarks.backlog import …"`.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256

from django.db import connections

from benchmarks.people import OPTED_OUT_ONE_IN
from benchmarks.submissions import user_id
from notifications.acceptance.accept import accept
from notifications.acceptance.submission import Caller, Submission
from notifications.management.sample import SLUG, TEMPLATES
from providers.channels import Channel
from tenants.categories import Priority
from tenants.models import Tenant

_THREADS = 4


def accept_backlog(
    *,
    key: str,
    count: int,
    people: int,
    priority: str = "normal",
    channel: str = "sms",
) -> None:
    """Accept messages to people who take them, one notification each."""
    accept_one = _Acceptor(
        key, people, Priority[priority.upper()], Channel.from_key(channel)
    )
    accept_some = partial(_accept_some, accept_one, count)
    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(accept_some, range(_THREADS)))


def accept_steadily(
    *,
    key: str,
    seconds: float,
    per_second: float,
    people: int,
    channel: str = "sms",
) -> None:
    """Accept urgent ones, so many a second by the clock."""
    accept_one = _Acceptor(key, people, Priority.HIGH, Channel.from_key(channel))
    begun = time.monotonic()
    for number in range(int(seconds * per_second)):
        time.sleep(max(begun + number / per_second - time.monotonic(), 0))
        accept_one(number)


def _accept_some(accept_one: _Acceptor, count: int, first: int) -> None:
    for number in range(first, count, _THREADS):
        accept_one(number)
    connections.close_all()


class _Acceptor:
    """Accepts the message of a number: the same person every time round."""

    def __init__(
        self, key: str, people: int, priority: Priority, channel: Channel
    ) -> None:
        tenant = Tenant.objects.get(slug=SLUG)
        self._caller = Caller(tenant_id=tenant.pk, actor="service:bench", is_test=False)
        self._takers = [number for number in range(people) if number % OPTED_OUT_ONE_IN]
        self._key = key
        self._priority = priority
        self._channel = channel

    def __call__(self, number: int) -> None:
        submission = Submission(
            idempotency_key=f"{self._key}{number:010}",
            fingerprint=sha256(str(number).encode()).digest(),
            user_id=user_id(self._takers[number % len(self._takers)]),
            template_name=TEMPLATES[0].name,
            template_version=1,
            variables=TEMPLATES[0].variables,
            channels=(self._channel,),
            priority=self._priority,
        )
        accept(caller=self._caller, submission=submission)
