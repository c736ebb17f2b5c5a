"""Goal `policy`: who may be written to, for ten thousand people at once.

The platform's own functions, in a process like a worker's: the people are loaded as the
claim loads them, and each is decided on every channel.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from benchmarks.environment import describe
from benchmarks.ground import prepared_ground
from benchmarks.reporting import report
from devstack.platform import MANAGE
from devstack.processes import run as run_command

MUST_DECIDE_US, AIM_DECIDE_US = 20.0, 10.0
MUST_QUERIES = 3


def add_options(parser: ArgumentParser) -> None:
    """Declare what may be chosen; the defaults are what the goal is judged by."""
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=5)


def run(options: Namespace) -> dict[str, Any]:
    """Measure; return the fields of the last line."""
    call = (
        "from benchmarks.policy_inside import measure;"
        f" measure({options.people}, {options.repetitions})"
    )
    with prepared_ground(history=0) as ground:
        report(environment=describe(ground.database), options=vars(options))
        told = run_command(
            [*MANAGE, "shell", "--no-imports", "--command", call], ground.environment
        )
    *parts, result = [json.loads(line) for line in told.splitlines()]
    for part in parts:
        report(**part)
    is_ok = result["decide_us"] <= MUST_DECIDE_US and result["queries"] <= MUST_QUERIES
    return {
        "value": result["decide_us"],
        "must": MUST_DECIDE_US,
        "aim": AIM_DECIDE_US,
        **result,
        "queries_must": MUST_QUERIES,
        "ok": is_ok,
    }
