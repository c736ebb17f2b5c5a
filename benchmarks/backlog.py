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
    *, key: str, count: int, people: int, priority: str = "normal"
) -> None:
    """Accept text messages to people who take them, one notification each."""
    caller, takers = _caller(), _takers(people)
    accept_some = partial(
        _accept_some, caller, takers, key, count, Priority[priority.upper()]
    )
    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(accept_some, range(_THREADS)))


def accept_steadily(
    *, key: str, seconds: float, per_second: float, people: int
) -> None:
    """Accept urgent ones, so many a second by the clock."""
    caller, takers = _caller(), _takers(people)
    begun = time.monotonic()
    for number in range(int(seconds * per_second)):
        time.sleep(max(begun + number / per_second - time.monotonic(), 0))
        _accept_one(caller, takers, key, number, Priority.HIGH)


def _caller() -> Caller:
    tenant = Tenant.objects.get(slug=SLUG)
    return Caller(tenant_id=tenant.pk, actor="service:bench", is_test=False)


def _takers(people: int) -> list[int]:
    return [number for number in range(people) if number % OPTED_OUT_ONE_IN]


def _accept_some(
    caller: Caller,
    takers: list[int],
    key: str,
    count: int,
    priority: Priority,
    first: int,
) -> None:
    for number in range(first, count, _THREADS):
        _accept_one(caller, takers, key, number, priority)
    connections.close_all()


def _accept_one(
    caller: Caller, takers: list[int], key: str, number: int, priority: Priority
) -> None:
    submission = Submission(
        idempotency_key=f"{key}{number:010}",
        fingerprint=sha256(str(number).encode()).digest(),
        user_id=user_id(takers[number % len(takers)]),
        template_name=TEMPLATES[0].name,
        template_version=1,
        variables=TEMPLATES[0].variables,
        channels=(Channel.SMS,),
        priority=priority,
    )
    accept(caller=caller, submission=submission)
