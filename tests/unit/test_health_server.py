from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client import Counter
from pytest_django.fixtures import Settings

from devstack.servers import free_port
from foundation.health import serve_health
from notifications.worker import telling_health

COUNTED = Counter("test_health_server_counted", "Something to expose.")


def get(port: int, path: str, *, host: str = "127.0.0.1") -> tuple[int, str]:
    try:
        with urlopen(f"http://{host}:{port}{path}", timeout=10) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_process_tells_that_it_lives_and_whether_it_is_ready():
    ready = False

    with serve_health(role="consumer", port=0, ready=lambda: ready) as port:
        assert get(port, "/livez") == (200, "consumer is alive\n")
        assert get(port, "/readyz")[0] == 503
        ready = True
        assert get(port, "/readyz") == (200, "consumer is ready\n")
        assert get(port, "/elsewhere")[0] == 404


def test_measurements_are_exposed():
    COUNTED.inc()

    with serve_health(role="consumer", port=0, ready=lambda: True) as port:
        status, text = get(port, "/metrics")

    assert status == 200
    assert "test_health_server_counted_total" in text


def test_server_stops_with_its_block():
    with serve_health(role="consumer", port=0, ready=lambda: True) as port:
        pass

    with pytest.raises(OSError, match="refused"):
        get(port, "/livez")


@pytest.mark.parametrize(
    ("host", "reaches"),
    [
        ("0.0.0.0", nullcontext()),
        ("127.0.0.1", pytest.raises(OSError, match="refused")),
    ],
)
def test_worker_tells_its_health_where_the_settings_say(
    settings: Settings, host: str, reaches: AbstractContextManager[object]
) -> None:
    settings.HEALTH_HOST = host
    port = free_port()

    with (
        telling_health({"health_port": port}, role="relay", ready=lambda: True),
        reaches,
    ):
        assert get(port, "/livez", host="127.0.0.2") == (200, "relay is alive\n")


def test_worker_without_a_port_serves_nothing() -> None:
    with telling_health({"health_port": None}, role="relay", ready=lambda: True):
        assert "health" not in {thread.name for thread in threading.enumerate()}
