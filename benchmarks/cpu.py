"""How much processor time a process and its children have used."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    own: int
    of_ended_children: int


def tree_cpu_seconds(root: int) -> float | None:
    """Sum up a process tree; None where there is no /proc to ask."""
    if not Path("/proc/self/stat").exists():
        return None
    children: dict[int, list[_Process]] = defaultdict(list)
    known: dict[int, _Process] = {}
    for process in _processes():
        known[process.pid] = process
        children[process.parent].append(process)
    ticks, waiting = 0, [known[root]] if root in known else []
    while waiting:
        process = waiting.pop()
        ticks += process.own + process.of_ended_children
        waiting += children[process.pid]
    return ticks / _TICKS_PER_SECOND


def _processes() -> list[_Process]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            found.append(_parse(path.read_text()))
    return found


def _parse(stat: str) -> _Process:
    # The name, in parentheses, may hold anything; what follows it does not.
    pid, _, rest = stat.partition(" ")
    fields = rest.rpartition(")")[2].split()
    return _Process(
        pid=int(pid),
        parent=int(fields[1]),
        own=int(fields[11]) + int(fields[12]),
        of_ended_children=int(fields[13]) + int(fields[14]),
    )
