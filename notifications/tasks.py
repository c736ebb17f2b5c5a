"""What beat has done regularly; each task may run twice or late without harm."""

from __future__ import annotations

from celery import shared_task

from notifications import partitions, replay
from tenants import daily_quotas, idempotency, pumping_alarms

_EXPIRED_KEYS_AT_ONCE = 5000


@shared_task
def make_partitions() -> None:
    """Have the next months' partitions made."""
    partitions.make_partitions()


@shared_task
def resume_mended_accounts() -> None:
    """Send on what waited for provider accounts that are well again."""
    replay.resume_mended_accounts()


@shared_task
def forget_expired_idempotency_keys() -> None:
    """Delete expired keys, in batches, until none is left."""
    while idempotency.forget_expired(_EXPIRED_KEYS_AT_ONCE):
        pass


@shared_task
def forget_old_daily_usage() -> None:
    """Delete what tenants have used of days long past."""
    daily_quotas.forget_old_days()
    pumping_alarms.forget_old_alarms()
