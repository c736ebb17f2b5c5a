"""One Celery task per delivery: the application, and the command that queues the tasks.

`python -m benchmarks.baselines.task_per_delivery.celery_app` queues a task for each
delivery that is due.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

import django
from celery import Celery, signals

from benchmarks.baselines.task_per_delivery.due import due_deliveries
from foundation.garbage import spare_what_is_loaded

TASK = "deliver"
# The platform's cache is in another database of the Valkey.
_BROKER_DATABASE = "/1"

app = Celery(
    "task_per_delivery",
    broker=urlsplit(os.environ["REDIS_URL"])._replace(path=_BROKER_DATABASE).geturl(),
    include=["benchmarks.baselines.task_per_delivery.celery_tasks"],
    # The fixup for Django closes the connection before and after every task.
    fixups=[],
    set_as_current=False,
)
app.conf.update(
    # What a worker holds when it dies is done by another one; no results are kept.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    task_send_sent_event=False,
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    worker_disable_rate_limits=True,
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        # What a worker held that died is given to another one after this.
        "visibility_timeout": 120,
        # One list to wait at and not four.
        "priority_steps": [0],
        # Every greenlet acknowledges by itself; kombu's ten would be too few for them,
        # and what cannot be acknowledged is never taken up again.
        "max_connections": 64,
    },
)


@signals.import_modules.connect(sender=app)
def _set_up_django(**_: Any) -> None:
    django.setup()


@signals.worker_ready.connect
@signals.worker_process_init.connect
def _spare_what_is_loaded(**_: Any) -> None:
    spare_what_is_loaded()


def main() -> None:
    """Queue a task for every delivery that is due."""
    with app.producer_or_acquire() as producer:
        for delivery_id in due_deliveries():
            app.send_task(TASK, [delivery_id.hex], producer=producer)


if __name__ == "__main__":
    main()
