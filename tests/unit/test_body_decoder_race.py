"""The body's decoder under threads that all use it for the first time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# msgspec 0.22 looks into a struct when it is first decoded; two threads that do so at
# once end the process by SIGSEGV. It must have happened before there are threads.
RACE = """
import sys, threading
from django.conf import settings
settings.configure(USE_TZ=True)
from notifications.serializers.body import decode_body

body = {"recipient": {"user_id": "usr_an"}, "template": {"name": "invoice_due"},
        "variables": {}, "channels": ["email"], "idempotency_key": "k"}
start = threading.Barrier(16)

def decode():
    start.wait()
    decode_body(body)

sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=decode) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_many_threads_may_decode_the_first_bodies_at_once() -> None:
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", RACE],
            check=False,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
