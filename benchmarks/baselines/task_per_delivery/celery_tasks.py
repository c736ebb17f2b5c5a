"""What a Celery worker is asked to do."""

from __future__ import annotations

from uuid import UUID

from django.db import close_old_connections, connections
from gevent.monkey import is_module_patched

from benchmarks.baselines.task_per_delivery import calling, greenlet_calling
from benchmarks.baselines.task_per_delivery.celery_app import TASK, app
from benchmarks.baselines.task_per_delivery.delivering import deliver
from foundation.statements import AWAY

_call = greenlet_calling.call if is_module_patched("threading") else calling.call


@app.task(name=TASK, autoretry_for=AWAY, retry_backoff=True, max_retries=None)
def deliver_one(delivery_id: str) -> None:
    """Deliver; wait for a database that is away."""
    try:
        deliver(UUID(delivery_id), call=_call)
    except AWAY:
        connections.close_all()
        raise
    finally:
        close_old_connections()  # gives one of a pool back and keeps any other
