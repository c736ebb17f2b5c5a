"""The health server of processes that serve no requests."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


def metrics_exposition() -> tuple[bytes, str]:
    """Return the measurements and their content type.

    Those of all worker processes where PROMETHEUS_MULTIPROC_DIR names their folder.
    """
    registry = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # untyped there
    return generate_latest(registry), CONTENT_TYPE_LATEST


@contextmanager
def serve_health(
    *, role: str, port: int, ready: Callable[[], bool], host: str = "127.0.0.1"
) -> Iterator[int]:
    """Answer while the block runs; yield the port (0 picks a free one).

    /livez says that the process runs, /readyz asks `ready`, which must not block and
    is called from another thread.
    """
    with make_server(
        host,
        port,
        _application(role, ready),
        server_class=_ThreadingServer,
        handler_class=_QuietRequests,
    ) as server:
        thread = threading.Thread(target=server.serve_forever, name="health")
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def _application(role: str, ready: Callable[[], bool]) -> WSGIApplication:
    def answer(
        environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        status, content_type, body = "200 OK", "text/plain; charset=utf-8", b""
        match environ.get("PATH_INFO"):
            case "/livez":
                body = f"{role} is alive\n".encode()
            case "/readyz" if ready():
                body = f"{role} is ready\n".encode()
            case "/readyz":
                status, body = "503 Service Unavailable", b"not ready\n"
            case "/metrics":
                body, content_type = metrics_exposition()
            case _:
                status = "404 Not Found"
        start_response(status, [("Content-Type", content_type)])
        return [body]

    return answer


class _ThreadingServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietRequests(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass
