"""Count a request against its tenant's rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from django.conf import settings

from tenants.limits import limits_of
from tenants.metrics import RATE_LIMITED
from tenants.request_rate.buckets import SECONDS_HELD, Buckets


class Bucket(StrEnum):
    """What a request counts as; each bucket of a tenant has the whole of its rate."""

    DEFAULT = "default"
    # A tenant's campaign must not keep its users from signing in.
    OTP = "otp"
    # Nor must a test that runs wild keep anything from anybody.
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateStanding:
    """How a bucket stands after a request: about so many are left of what it holds."""

    bucket: Bucket
    per_second: int
    left: int
    # Whole seconds, as HTTP has them; 0 where the request was let in.
    retry_after: int = 0

    @property
    def holds(self) -> int:
        """Return how many requests may come at once."""
        return self.per_second * SECONDS_HELD


class RateLimited(Exception):
    """The tenant makes more requests than its rate allows."""

    def __init__(self, standing: RateStanding) -> None:
        super().__init__(
            f"The tenant may make {standing.per_second} requests a second, and"
            f" {standing.holds} at once."
        )
        self.standing = standing


def count_request(*, tenant_id: int, bucket: Bucket) -> RateStanding:
    """Let a request in, or raise RateLimited."""
    per_second = limits_of(tenant_id=tenant_id).requests_per_second
    taken = _buckets().take(f"{tenant_id}:{bucket}", per_second=per_second)
    standing = RateStanding(
        bucket=bucket,
        per_second=per_second,
        left=taken.left,
        retry_after=0 if taken.is_given else max(math.ceil(taken.wait_seconds), 1),
    )
    if not taken.is_given:
        RATE_LIMITED.labels(bucket).inc()
        raise RateLimited(standing)
    return standing


@cache
def _buckets() -> Buckets:
    return Buckets(
        url=settings.REDIS_URL, expected_processes=settings.EXPECTED_WEB_PROCESSES
    )
