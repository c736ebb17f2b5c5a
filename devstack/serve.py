"""`make stack`: a throw-away PostgreSQL and Valkey to run tests on again and again."""

from __future__ import annotations

import signal
from pathlib import Path

from devstack.folders import throw_away_folder
from devstack.leftovers import MARKER
from devstack.stack import running_stack, write_private


def serve(env_file: Path | None) -> None:
    """Run a throw-away stack until Ctrl-C; print the variables that lead to it."""
    with (
        throw_away_folder() as folder,
        running_stack(folder, durable=False) as environment,
    ):
        # Without the marker: a shell that reads them is no child of ours.
        lines = [f"{k}={v}" for k, v in environment.items() if k != MARKER]
        print("\n".join(f"export {line}" for line in lines), flush=True)
        if env_file:
            write_private(env_file, "\n".join(lines) + "\n")
        try:
            signal.pause()
        finally:
            if env_file:
                env_file.unlink(missing_ok=True)
