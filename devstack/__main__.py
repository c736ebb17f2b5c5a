"""`python -m devstack …`: what the Makefile's targets call."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from devstack import folders
from devstack.programs import DevstackError


def main() -> int:
    """Run one command; return the process's exit code."""
    options = _options()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        return _run(options)
    except DevstackError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m devstack")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, about in (
        ("demo", "run the platform with sample data until Ctrl-C"),
        ("smoke", "run 200 notifications through fresh data"),
    ):
        command = commands.add_parser(name, help=about)
        command.add_argument(
            "--transport", choices=["postgres", "kafka"], default="postgres"
        )
    serve = commands.add_parser(
        "serve", help="run a throw-away PostgreSQL and Valkey until Ctrl-C"
    )
    serve.add_argument("--env-file", type=Path, help="write their variables there too")
    commands.add_parser("clean", help="remove this clone's data")
    return parser.parse_args()


def _run(options: argparse.Namespace) -> int:
    # Imported where they run: `clean` works without the virtual environment.
    match options.command:
        case "demo":
            from devstack.demo import demo

            demo(options.transport)
        case "smoke":
            from devstack.smoke import smoke

            return smoke(options.transport)
        case "serve":
            from devstack.serve import serve

            serve(options.env_file)
        case "clean":
            for folder in folders.clean():
                print(f"removed {folder}")
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    # Once: a second Ctrl-C must not cut the stopping short.
    for later in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(later, signal.SIG_IGN)
    print("\nStopping …", file=sys.stderr, flush=True)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
