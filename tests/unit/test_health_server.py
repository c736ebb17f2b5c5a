from __future__ import annotations

from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client import Counter

from foundation.health import serve_health

COUNTED = Counter("test_health_server_counted", "Something to expose.")


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as response:
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
