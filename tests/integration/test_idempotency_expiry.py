"""Keys are forgotten when their time is over, and not before."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.conf import settings
from django.utils.module_loading import import_string

from config import celery_app
from notifications import tasks
from tests.acme import query, run_together

WEEK = timedelta(days=7)
SECOND = timedelta(seconds=1)


def keys() -> list[str]:
    return [row["key"] for row in query("SELECT key FROM idempotency_key ORDER BY key")]


def test_a_key_lives_for_a_week_after_the_date_or_for_its_own_window(api, clock):
    later = clock.now() + timedelta(days=30)
    api.accept(idempotency_key="a-minute", dedupe_window_seconds=60)
    api.accept(idempotency_key="b-week")
    api.accept(idempotency_key="c-scheduled", send_at=later.isoformat())
    api.accept(idempotency_key="d-month", dedupe_window_seconds=30 * 24 * 3600)
    left = []
    for passed in (timedelta(0), 61 * SECOND, WEEK, timedelta(days=30), 37 * WEEK / 7):
        clock.set_offset(passed + SECOND)
        tasks.forget_expired_idempotency_keys()
        left.append([key[0] for key in keys()])

    assert left == [[*"abcd"], [*"bcd"], [*"cd"], ["c"], []]


def test_a_week_counts_for_every_other_post_too(api, clock):
    notification_id = api.accept()
    first = api.cancel(notification_id, **{"Idempotency-Key": "cancel"})
    clock.advance(WEEK - 60 * SECOND)
    tasks.forget_expired_idempotency_keys()
    replayed = api.cancel(notification_id, **{"Idempotency-Key": "cancel"})
    clock.advance(120 * SECOND)
    anew = api.cancel(notification_id, **{"Idempotency-Key": "cancel"})

    assert replayed["Idempotent-Replayed"] == "true"
    assert replayed.content == first.content
    assert "Idempotent-Replayed" not in anew


def test_all_that_are_expired_go_in_batches_whoever_else_is_at_it(
    api, clock, monkeypatch
):
    """F55"""
    monkeypatch.setattr(tasks, "_EXPIRED_KEYS_AT_ONCE", 3)
    for number in range(20):
        api.accept(idempotency_key=f"short:{number}", dedupe_window_seconds=60)
    api.accept(idempotency_key="long")
    clock.advance(61 * SECOND)

    results = run_together(*[partial(tasks.forget_expired_idempotency_keys)] * 3)

    assert results == [None] * 3
    assert keys() == ["long"]


def test_forgetting_the_key_leaves_the_notification(api, clock):
    first = api.accept(dedupe_window_seconds=60)
    clock.advance(61 * SECOND)
    tasks.forget_expired_idempotency_keys()

    assert api.accept(dedupe_window_seconds=60) != first
    assert api.standing(first)["status"] == "accepted"


def test_beat_has_every_task_done_by_a_worker():
    scheduled = {str(entry["task"]) for entry in settings.CELERY_BEAT_SCHEDULE.values()}

    celery_app.loader.import_default_modules()

    assert scheduled == {
        name for name in celery_app.tasks if name.startswith("notifications.")
    }
    for name in scheduled:
        assert celery_app.tasks[name].run == import_string(name).run
