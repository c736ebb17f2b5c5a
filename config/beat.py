"""What beat has done, and how often."""

from __future__ import annotations

from datetime import timedelta

CELERY_BEAT_SCHEDULE = {
    "make-partitions": {
        "task": "notifications.tasks.make_partitions",
        "schedule": timedelta(hours=1),
    },
    "resume-mended-accounts": {
        "task": "notifications.tasks.resume_mended_accounts",
        "schedule": timedelta(seconds=5),
        "options": {"expires": 5},
    },
    "forget-expired-idempotency-keys": {
        "task": "notifications.tasks.forget_expired_idempotency_keys",
        "schedule": timedelta(minutes=5),
    },
    "forget-old-daily-usage": {
        "task": "notifications.tasks.forget_old_daily_usage",
        "schedule": timedelta(hours=6),
    },
}
