"""`python -m benchmarks GOAL`: what `make bench NAME=GOAL` calls."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from benchmarks import (
    accept,
    deliver,
    isolation,
    overload,
    policy,
    priority,
    quota,
    relay,
    relay_aged,
    render,
)
from benchmarks.environment import wait_until_quiet
from benchmarks.failure import BenchmarkFailed
from benchmarks.reporting import report
from devstack.programs import DevstackError

GOALS = {
    "accept": accept,
    "deliver": deliver,
    "isolation": isolation,
    "overload": overload,
    "policy": policy,
    "priority": priority,
    "quota": quota,
    "relay": relay,
    "relay-aged": relay_aged,
    "render": render,
}
QUIET_WITHIN_SECONDS = 180.0


def main() -> int:
    """Run one benchmark; its result is the last line and the exit code."""
    options = _options()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        if not options.any_load:
            wait_until_quiet(seconds=QUIET_WITHIN_SECONDS)
        result = GOALS[options.goal].run(options)
    except (BenchmarkFailed, DevstackError) as failed:
        print(failed, file=sys.stderr)
        result = {"ok": False, "error": str(failed).strip().splitlines()[-1]}
    except KeyboardInterrupt:
        return 130
    report(goal=options.goal, **result)
    return 0 if result["ok"] else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    goals = parser.add_subparsers(dest="goal", required=True)
    for name, goal in GOALS.items():
        options = goals.add_parser(name, help=(goal.__doc__ or "").splitlines()[0])
        options.add_argument(
            "--any-load", action="store_true", help="measure beside others' work"
        )
        goal.add_options(options)
    return parser.parse_args()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
