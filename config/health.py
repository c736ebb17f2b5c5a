"""Whether a web process lives, and whether it may be given requests."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse

PATIENCE_SECONDS = 1.0


def livez(request: HttpRequest) -> HttpResponse:
    """Answer as long as the process does; asks nobody else."""
    return HttpResponse("web is alive\n", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 once the database answers within a second and is migrated.

    Valkey is no condition: without it requests are served all the same.
    """
    if _probe.answers():
        return HttpResponse("web is ready\n", content_type="text/plain")
    return HttpResponse("not ready\n", content_type="text/plain", status=503)


class _DatabaseProbe:
    """Asks the database in a thread of its own.

    A server that hangs lets neither statement_timeout nor the socket's end the wait.
    One question at a time: while one hangs, the answer to all is no.
    """

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._migrated = False

    def answers(self) -> bool:
        if not self._busy.acquire(timeout=PATIENCE_SECONDS):
            return False
        answer: SimpleQueue[bool] = SimpleQueue()
        threading.Thread(target=self._ask, args=[answer], daemon=True).start()
        try:
            return answer.get(timeout=PATIENCE_SECONDS)
        except Empty:
            return False

    def _ask(self, answer: SimpleQueue[bool]) -> None:
        try:
            answer.put(self._is_ready())
        finally:
            connection.close()
            self._busy.release()

    def _is_ready(self) -> bool:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            self._migrated = self._migrated or _is_migrated()
        except Error:
            return False
        return self._migrated


def _is_migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


_probe = _DatabaseProbe()
