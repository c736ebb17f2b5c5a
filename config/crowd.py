"""Refuse before any work what would be refused for a crowd after some.

Under an overload refusals are what a process does most. A thread that refuses competes
with those that accept for one interpreter, and queues for it anew after every lock and
every write: a refusal that passed through Django cost some 0.4 of an acceptance, one
that is answered here some 0.2.
"""

from __future__ import annotations

import http
import threading
import time
from collections.abc import Iterable
from io import BytesIO
from typing import TYPE_CHECKING

import msgspec
import structlog
from msgspec import Struct

from config.observability import observe_request, request_id_of
from config.problem_details import problem_body
from config.problem_kinds import PROBLEMS
from notifications.acceptance.admission import known_category_of
from notifications.acceptance.shedding import (
    Overloaded,
    at_once,
    shed_crowd,
    under_way,
)
from notifications.acceptance.turns import Turns
from tenants.api_keys import known_principal
from tenants.categories import Priority, default_priority

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_PATH = "/v1/notifications"
_BEARER = "Bearer "
# What is larger is not read twice.
_MOST_OCTETS = 16 * 1024
_KIND = PROBLEMS[Overloaded]
_STATUS = f"{_KIND.status} {http.HTTPStatus(_KIND.status).phrase}"


class _Template(Struct):
    name: str
    version: int | None = None


class _Peek(Struct):
    """As much of a submission as says of which class it is."""

    template: _Template
    priority: str | None = None


_decoder = msgspec.json.Decoder(_Peek)
_turns = Turns()


def refuse_a_crowd(application: WSGIApplication) -> WSGIApplication:
    """Answer 503 at once to a class that finds too many submissions under way.

    Of those that come in a few are worked on at once, and the others wait, HIGH first.
    Nothing is asked that this process does not remember: whoever it does not know, and
    whatever it cannot read, goes on to the view, which refuses a crowd as well.
    """

    def answer(
        environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        if environ["PATH_INFO"] != _PATH or environ["REQUEST_METHOD"] != "POST":
            return application(environ, start_response)
        started, most = time.perf_counter(), at_once()
        priority = _peek(environ) if under_way.number >= most else None
        if priority is not None:
            try:
                shed_crowd(priority, others=under_way.number)
            except Overloaded as refused:
                return _refuse(refused, environ, start_response, started=started)
        urgent = priority is None or priority is Priority.HIGH
        # Counted from here: a thread may wait long before it reaches the view.
        with under_way, _turns.taken(at_once=most, urgent=urgent):
            return application(environ, start_response)

    return answer


def _peek(environ: WSGIEnvironment) -> Priority | None:
    """Tell the class of a submission; None for whatever the view has to look at."""
    length = environ.get("CONTENT_LENGTH", "")
    if not length.isdecimal() or int(length) > _MOST_OCTETS:
        return None
    key = environ.get("HTTP_AUTHORIZATION", "").removeprefix(_BEARER)
    principal = known_principal(key)
    if principal is None or "HTTP_TRANSFER_ENCODING" in environ:
        return None
    octets = environ["wsgi.input"].read(int(length))
    environ["wsgi.input"] = BytesIO(octets)
    try:
        body = _decoder.decode(octets)
    except msgspec.DecodeError:
        return None
    if body.priority is not None:
        return Priority.__members__.get(body.priority.upper())
    category = known_category_of(
        principal.tenant_id, body.template.name, body.template.version
    )
    return None if category is None else default_priority(category)


def _refuse(
    refused: Overloaded,
    environ: WSGIEnvironment,
    start_response: StartResponse,
    *,
    started: float,
) -> Iterable[bytes]:
    request_id = request_id_of(environ)
    body = problem_body(
        _KIND,
        instance=_PATH,
        request_id=request_id,
        detail=str(refused),
        members={name: getattr(refused, name) for name in _KIND.members},
    )
    headers = [
        ("Content-Type", "application/problem+json"),
        ("Content-Length", str(len(body))),
        ("Retry-After", str(refused.retry_after)),
        ("X-Request-Id", request_id),
    ]
    start_response(_STATUS, headers)
    observe_request(
        method="POST",
        route=_PATH.removeprefix("/"),
        status=_KIND.status,
        seconds=time.perf_counter() - started,
    )
    _tally.count()
    return [body]


class _Tally:
    """Tells of refusals in one line a second: each with its own would cost as much
    again as the refusal. What is counted after a line is told by the next one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._untold = 0
        self._next = 0.0

    def count(self) -> None:
        now = time.monotonic()
        with self._lock:
            self._untold += 1
            if now < self._next:
                return
            number, self._untold, self._next = self._untold, 0, now + 1
        # The thread's last request is not whom this is about.
        structlog.contextvars.clear_contextvars()
        _log.warning("crowd_refused", number=number)


_log = structlog.get_logger(__name__)
_tally = _Tally()
