"""One id, one log line and one measurement for every request."""

from __future__ import annotations

import json
import logging
import logging.config
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import orjson
import psycopg
import structlog
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from prometheus_client import Histogram
from structlog.typing import EventDict, WrappedLogger

from foundation.health import metrics_exposition
from foundation.statements import server_cursor
from notifications.outbox import sample_ages
from providers.account_faults import sample_faults
from tenants.process_cache import ProcessCache

SAMPLE_EVERY = timedelta(seconds=5)
PATIENCE_SECONDS = 1.0

# The client's id is kept where it is harmless in a log line and a header.
_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_QUIET = frozenset({"/livez", "/readyz", "/metrics"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Fields that may not reach a log, whoever puts them there.
_SECRET = frozenset(
    {
        "address",
        "authorization",
        "body",
        "cookie",
        "email",
        "idempotency_key",
        "password",
        "phone",
        "query_string",
        "request",
        "secret",
        "token",
        "variables",
    }
)

# "DETAIL:  Failing row contains (…)", up to the next exception of the trace.
_ROW = re.compile(r"DETAIL:.*?(?=\n\n(?:The above|During handling)|\Z)", re.DOTALL)

_log = structlog.get_logger("http")
_request_seconds = Histogram(
    "http_request_seconds",
    "Time from the first middleware to the finished response.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)


class RequestIdMiddleware:
    """Gives every request an id, and tells afterwards what became of it.

    First of all middlewares. A request id that came with the request is replaced
    unless it is plain; from here on the header holds the one that counts.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        request_id = request_id_of(request.META)
        request.META["HTTP_X_REQUEST_ID"] = request_id
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self._get_response(request)
        response["X-Request-Id"] = request_id
        if request.path not in _QUIET:
            _tell(request, response, seconds=time.perf_counter() - started)
        return response


def request_id_of(environ: Mapping[str, Any]) -> str:
    """Return the id that came with a request if it is harmless, or a new one."""
    request_id: str = environ.get("HTTP_X_REQUEST_ID", "")
    if _REQUEST_ID.fullmatch(request_id):
        return request_id
    # No secret. uuid4 asks the system, and has to queue for the interpreter after that.
    return f"{random.getrandbits(128):032x}"


def observe_request(*, method: str, route: str, status: int, seconds: float) -> None:
    """Measure one request."""
    _request_seconds.labels(method, route, f"{status // 100}xx").observe(seconds)


def _tell(request: HttpRequest, response: HttpResponseBase, *, seconds: float) -> None:
    # The route, never the path: ids in it may be people's.
    route = request.resolver_match.route if request.resolver_match else "unmatched"
    method = request.method if request.method in _METHODS else "other"
    status = response.status_code
    observe_request(method=method, route=route, status=status, seconds=seconds)
    _log.info(
        "request",
        method=method,
        route=route,
        status=status,
        ms=round(seconds * 1000, 1),
    )


def metrics(request: HttpRequest) -> HttpResponse:
    """Serve the measurements of this process, or of all workers, to Prometheus."""
    _outbox_sampler.sample()
    content, content_type = metrics_exposition()
    return HttpResponse(content, content_type=content_type)


class _OutboxSampler:
    """Asks the database how old the outbox is, in a thread of its own.

    A server that hangs must not take the metrics with it. One question at a time.
    """

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._recent: ProcessCache[str, bool] = ProcessCache(
            size=1, lifetime=SAMPLE_EVERY
        )

    def sample(self) -> None:
        if self._recent.get("outbox") or not self._busy.acquire(blocking=False):
            return
        self._recent.put("outbox", True)
        thread = threading.Thread(target=self._ask, daemon=True)
        thread.start()
        thread.join(PATIENCE_SECONDS)

    def _ask(self) -> None:
        try:
            with server_cursor() as cursor:
                sample_ages(cursor)
                sample_faults(cursor)
        except (Error, psycopg.Error) as failed:
            _log.warning("outbox_not_sampled", error=type(failed).__name__)
        finally:
            connection.close()
            self._busy.release()


_outbox_sampler = _OutboxSampler()


def drop_path(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Take the path out of `Internal Server Error: /v1/users/…`."""
    if event.get("logger") == "django.request":
        event["event"] = str(event["event"]).partition(": ")[0]
    return event


def _write_json(event: EventDict, **options: Any) -> str:
    try:
        return orjson.dumps(event, **options).decode()
    except TypeError:  # half a surrogate pair, a huge number
        return json.dumps(event, **options)


def drop_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Blank what must never be logged."""
    for name in _SECRET & event.keys():
        event[name] = "[dropped]"
    if "exception" in event:
        event["exception"] = _ROW.sub("DETAIL: [dropped]", event["exception"])
    return event


# One list, however often logging is configured (get_wsgi_application does it again):
# loggers that are in use by then hold on to theirs.
_PROCESSORS: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    drop_path,
    drop_secrets,
    structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
]


def configure_logging(options: dict[str, Any]) -> None:
    """Write every log line, ours and the libraries', as JSON to stderr."""
    structlog.configure(
        processors=_PROCESSORS,
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "json": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": _PROCESSORS[:-1],
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        structlog.processors.JSONRenderer(serializer=_write_json),
                    ],
                }
            },
            "handlers": {
                "stderr": {"class": "logging.StreamHandler", "formatter": "json"}
            },
            "root": {"handlers": ["stderr"], "level": options["level"]},
            "loggers": {
                "django": {"handlers": [], "level": "INFO", "propagate": True},
                # RequestIdMiddleware has said it already, without the path.
                "django.request": {"level": "ERROR"},
                "django.server": {"handlers": [], "level": "ERROR"},
            },
        }
    )
