"""What is run of the procrastinate baseline: its schema, its queueing, its worker.

Runs inside Django: `manage.py shell -c "from benchmarks.….procrastinate_running …"`.
"""

from __future__ import annotations

import os

import psycopg
import uvloop
from django.conf import settings
from procrastinate.jobs import DeleteJobCondition
from procrastinate.types import JSONDict
from psycopg import sql

from benchmarks.baselines.task_per_delivery.due import due_deliveries
from benchmarks.baselines.task_per_delivery.procrastinate_app import (
    SCHEMA,
    TASK,
    app,
    make_pool,
)
from foundation.garbage import spare_what_is_loaded
from providers.gateway import Gateway

_DEFERRED_AT_ONCE = 1_000
_GRANTS = """
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA {schema}
   TO {role};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};
"""


def make_schema() -> None:
    """Make procrastinate's tables in a schema of their own, once."""
    names = {
        "schema": sql.Identifier(SCHEMA),
        "role": sql.Identifier(settings.DATABASE_APP_ROLE),
    }
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as connection:
        known = connection.execute("SELECT to_regnamespace(%s)", [SCHEMA]).fetchone()
        if known != (None,):
            return
        connection.execute(sql.SQL("CREATE SCHEMA {schema}").format(**names))
        connection.execute(sql.SQL("SET search_path = {schema}").format(**names))
        connection.execute(app.schema_manager.get_schema())
        connection.execute(sql.SQL(_GRANTS).format(**names))


def queue() -> None:
    """Defer a job for every delivery that is due; the jobs of before are forgotten."""
    uvloop.run(_queue())


async def _queue() -> None:
    jobs: list[JSONDict] = [{"delivery_id": due.hex} for due in due_deliveries()]
    async with (
        make_pool(os.environ["DATABASE_URL"], size=1) as pool,
        app.open_async(pool),
    ):
        async with pool.connection() as connection:
            await connection.execute("TRUNCATE procrastinate_jobs CASCADE")
        for first in range(0, len(jobs), _DEFERRED_AT_ONCE):
            some = jobs[first : first + _DEFERRED_AT_ONCE]
            await app.configure_task(TASK).batch_defer_async(*some)


def work(*, concurrency: int, delete_jobs: str) -> None:
    """Work until asked to stop by SIGTERM."""
    uvloop.run(_work(concurrency, DeleteJobCondition(delete_jobs)))


async def _work(concurrency: int, delete_jobs: DeleteJobCondition) -> None:
    gateway = Gateway()
    async with (
        make_pool(os.environ["DATABASE_URL"], size=concurrency) as pool,
        app.open_async(pool),
    ):
        spare_what_is_loaded()
        await app.run_worker_async(
            concurrency=concurrency,
            delete_jobs=delete_jobs,
            additional_context={"pool": pool, "gateway": gateway},
        )
    await gateway.aclose()
