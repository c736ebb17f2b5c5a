"""Goal `render`: what it costs to write one message, and the most that a bomb costs.

Rendering asks no server, so that none is started. The baseline is Django's own template
engine, compiled once, on those of the texts that both engines read alike.
"""

from __future__ import annotations

import json
import os
import secrets
from argparse import ArgumentParser, Namespace
from base64 import b64encode
from typing import Any

from benchmarks.reporting import report
from devstack.platform import MANAGE
from devstack.processes import run as run_command

MUST_US, AIM_US = 50.0, 25.0
MUST_BOMB_MS = 50.0


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--renders", type=int, default=2_000, help="each, a round")


def run(options: Namespace) -> dict[str, Any]:
    """Measure; return the fields of the last line."""
    call = (
        "from benchmarks.render_inside import measure;"
        f" measure({options.rounds}, {options.renders})"
    )
    report(options=vars(options), load_average=os.getloadavg()[0])
    told = run_command(
        [*MANAGE, "shell", "--no-imports", "--command", call], _environment()
    )
    *parts, result = [json.loads(line) for line in told.splitlines()]
    for part in parts:
        report(**part)
    is_ok = result["p50_us"] <= MUST_US and result["bomb_ms"] <= MUST_BOMB_MS
    return {
        "value": result["p50_us"],
        "must": MUST_US,
        "aim": AIM_US,
        **result,
        "bomb_ms_must": MUST_BOMB_MS,
        "ok": is_ok,
    }


def _environment() -> dict[str, str]:
    """Return settings that lead nowhere."""
    return {
        **os.environ,
        "DATABASE_URL": "postgresql://app@127.0.0.1:1/none",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "SECRET_KEY": secrets.token_urlsafe(60),
        "USER_TOKEN_SECRETS": secrets.token_urlsafe(60),
        "SEALING_KEYS": f"1:{b64encode(secrets.token_bytes(32)).decode()}",
    }
