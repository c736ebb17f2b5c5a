"""The demo's children: a dead one is named, and all of them end with us."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from devstack.processes import Crew, DeadlineMissed, crew, run
from devstack.programs import DevstackError

WITH_CHILD = (
    "import subprocess, sys\n"
    "child = subprocess.Popen(['sleep', '600'])\n"
    "print(child.pid, flush=True)\n"
    "child.wait()\n"
)


def started(hired: Crew, name: str, program: str) -> None:
    hired.start(name, [sys.executable, "-c", program])


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_early_death_names_the_process_and_shows_its_log(tmp_path: Path) -> None:
    with crew(folder=tmp_path, environment={}) as hired:
        started(hired, "consumer", "raise SystemExit('no database here')")

        with pytest.raises(DevstackError) as told:
            hired.wait_until(lambda: False, seconds=30, what="it is ready")

    assert "consumer ended with code 1" in str(told.value)
    assert "no database here" in str(told.value)


def test_missed_deadline_says_what_was_waited_for(tmp_path: Path) -> None:
    with (
        crew(folder=tmp_path, environment={}) as hired,
        pytest.raises(DeadlineMissed, match="pigs fly"),
    ):
        hired.wait_until(lambda: False, seconds=0.01, what="pigs fly")


def test_stop_ends_the_children_of_children_too(tmp_path: Path) -> None:
    with crew(folder=tmp_path, environment={}) as hired:
        started(hired, "web", WITH_CHILD)
        log = hired.log("web")
        hired.wait_until(lambda: "\n" in log.read_text(), seconds=30, what="child")
        grandchild = int(log.read_text())
        assert is_running(grandchild)

    # Nobody of ours waits for it: killed, it may still be on its way out.
    deadline = time.monotonic() + 10
    while is_running(grandchild):
        assert time.monotonic() < deadline


def test_children_get_the_environment_and_their_role(tmp_path: Path) -> None:
    program = "import os; print(os.environ['FLAVOUR'], os.environ['ROLE_NAME'])"

    with crew(folder=tmp_path, environment={"FLAVOUR": "salt"}) as hired:
        started(hired, "scheduler", program)
        log = hired.log("scheduler")
        hired.wait_until(lambda: "\n" in log.read_text(), seconds=30, what="output")

    assert log.read_text() == "salt scheduler\n"
    assert os.stat(log).st_mode & 0o077 == 0


def test_failed_command_shows_what_it_printed() -> None:
    program = "import sys; print('half'); sys.exit('broken')"

    with pytest.raises(DevstackError, match=r"half\s+broken"):
        run([sys.executable, "-c", program], {})
