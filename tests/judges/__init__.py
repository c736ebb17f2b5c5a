"""Programs of others that answer what the platform answers too: run by node.

They are installed once, for as long as their lock file stays what it is. Where that
cannot be done their tests are skipped, and the run says how many; under CI they fail.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

NEEDS_NODE = "needs node and npm"
_HERE = Path(__file__).parent
_MANIFESTS = ("package.json", "package-lock.json")
_INSTALLED = _HERE.parents[1] / ".devstack" / "judges"


def ask(script: str, questions: Any) -> Any:
    """Run a script of this folder; what goes in and comes out is JSON."""
    packages = _packages()
    if packages is None:
        if os.environ.get("CI"):
            pytest.fail("Under CI the judges are compulsory: install node and npm.")
        pytest.skip(NEEDS_NODE)
    answer = subprocess.run(
        ["node", str(_HERE / script)],
        input=json.dumps(questions),
        env={**os.environ, "NODE_PATH": str(packages)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(answer.stdout)


@cache
def _packages() -> Path | None:
    """Install what the lock file names, unless another worker has; None if it cannot
    be had."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return None
    locked = b"".join((_HERE / name).read_bytes() for name in _MANIFESTS)
    folder = _INSTALLED / sha256(locked).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            for name in _MANIFESTS:
                shutil.copy(_HERE / name, folder)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            try:
                subprocess.run(
                    command, cwd=folder, capture_output=True, timeout=300, check=True
                )
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
                return None
            (folder / "done").touch()
    return folder / "node_modules"
