from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
from django.db import connections
from django.test import Client

pytestmark = pytest.mark.usefixtures("db")

CLIENT = Client()


@pytest.fixture
def silent_server() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_process_lives_whatever_else_is_down():
    assert CLIENT.get("/livez").status_code == 200


def test_web_is_ready_with_a_migrated_database_and_without_valkey(settings):
    settings.CACHES = {
        "default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}
    }

    response = CLIENT.get("/readyz")

    assert (response.status_code, response.content) == (200, b"web is ready\n")


def test_web_is_not_ready_while_the_database_is_silent(silent_server, monkeypatch):
    known = connections["default"].settings_dict
    with monkeypatch.context() as patched:
        patched.setitem(known, "PORT", silent_server)
        started = time.monotonic()

        response = CLIENT.get("/readyz")

        assert response.status_code == 503
        assert time.monotonic() - started < 3


def test_measurements_count_requests_by_route():
    CLIENT.get("/v1/nothing-of-that-name")

    text = CLIENT.get("/metrics").content.decode()

    assert 'http_request_seconds_count{method="GET",route="unmatched"' in text
    assert "nothing-of-that-name" not in text
