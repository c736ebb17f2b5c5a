"""The answer never reaches the caller."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.acme import ROOT, query, submission

SUBMIT = """
import django, json, os, sys
django.setup()
from django.test import Client
answer = Client(SERVER_NAME="127.0.0.1").post(
    "/v1/notifications", json.loads(os.environ["BODY"]),
    content_type="application/json",
    headers=json.loads(os.environ["HEADERS"]))
print(answer.status_code)
"""


@pytest.fixture
def submitting_process(api, database_env):
    """Submit in a process of its own, which a failpoint may kill."""

    def run(failpoint: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", SUBMIT],
            cwd=ROOT,
            env={
                **database_env,
                "DJANGO_SETTINGS_MODULE": "config.settings",
                "BODY": json.dumps(submission()),
                "HEADERS": json.dumps(dict(api.headers)),
                "NOTIFY_FAILPOINTS": failpoint,
            },
            check=False,
            timeout=60,
        )
        return done.returncode

    return run


def notifications() -> int:
    return int(query("SELECT count(*) AS n FROM notification")[0]["n"])


def test_a_retry_after_a_crash_behind_the_commit_finds_the_notification(
    api, submitting_process
):
    """F01, F05"""
    assert submitting_process("acceptance.after_commit=kill") == -signal.SIGKILL
    assert notifications() == 1

    again = api.submit()

    assert again.headers["Idempotent-Replayed"] == "true"
    assert notifications() == 1


def test_a_crash_before_the_commit_leaves_nothing(api, submitting_process):
    """F05"""
    assert submitting_process("acceptance.before_commit=kill") == -signal.SIGKILL
    for table in ("idempotency_key", "notification", "delivery", "outbox"):
        assert query(f"SELECT 1 FROM {table}") == []

    again = api.submit()

    assert "Idempotent-Replayed" not in again.headers
    assert notifications() == 1


def test_a_caller_that_hangs_up_gets_the_answer_at_its_next_try(api, live_server):
    """F01, over a real connection"""
    host, port = live_server.thread.host, live_server.thread.port
    body = json.dumps(submission()).encode()
    head = (
        f"POST /v1/notifications HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: {api.headers['Authorization']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, port)) as connection:
        connection.sendall(head.encode() + body)
    deadline = time.monotonic() + 20
    while notifications() == 0 and time.monotonic() < deadline:
        pass

    again = api.submit()

    assert again.headers["Idempotent-Replayed"] == "true"
    assert notifications() == 1
