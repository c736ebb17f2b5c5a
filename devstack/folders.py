"""Where a stack keeps its data, and who may use it at one time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from devstack.leftovers import stop_leftovers
from devstack.programs import DevstackError

CLONE = Path(__file__).resolve().parent.parent
NEST = CLONE / ".devstack"
# Nobody, who runs PostgreSQL for root, cannot reach a clone under /root.
ROOTS_PARENT = Path("/var/tmp")  # noqa: S108 - made safely, see _claim
NAME = "notifications-devstack"


def clone_folder() -> Path:
    """Return the folder, made if need be, where this clone's stack keeps its data."""
    NEST.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() != 0:
        return NEST
    digest = hashlib.sha256(os.fsencode(CLONE)).hexdigest()[:16]
    folder = ROOTS_PARENT / f"{NAME}-{digest}"
    _claim(folder)
    (NEST / "location").write_text(str(folder))
    return folder


def _claim(folder: Path) -> None:
    """Make a folder in a place open to all, or make sure that it is ours."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()
        writable = stat.S_IMODE(found.st_mode) & 0o022
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0 or writable:
            raise DevstackError(
                f"{folder} is not a folder that only root may write: remove it"
            ) from None
    folder.chmod(0o711)  # the servers' account passes through to its own folders


@contextmanager
def throw_away_folder() -> Iterator[Path]:
    """Yield a new folder that is removed afterwards."""
    is_root = os.geteuid() == 0
    parent = (ROOTS_PARENT if is_root else Path(tempfile.gettempdir())).resolve()
    _remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=f"{NAME}-once-", dir=parent))
    if is_root:
        folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _remove_abandoned(parent: Path) -> None:
    """Remove the throw-away folders, servers included, of runs that were killed."""
    for lock in parent.glob(f"{NAME}-once-*/lock"):
        folder = lock.parent
        is_ours = folder.lstat().st_uid == os.geteuid() and not folder.is_symlink()
        if not is_ours or time.time() - lock.stat().st_mtime < 60:
            continue  # a minute is for the one who is about to take the lock
        with suppress(DevstackError):  # it is in use
            remove(folder)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep every other stack off the folder; the kernel lets go when we die."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"a stack runs on {folder} already: stop it first"
            raise DevstackError(message) from None
        yield


def remove(folder: Path) -> bool:
    """Remove a folder that no running stack uses; tell whether it was there."""
    if not folder.exists():
        return False
    with locked(folder):
        stop_leftovers(folder)
        shutil.rmtree(folder)
    return True


def clean() -> list[Path]:
    """Remove this clone's data; return what was removed."""
    folders = [NEST]
    if (NEST / "location").exists():
        location = Path((NEST / "location").read_text())
        _claim(location)
        folders.insert(0, location)
    return [folder for folder in folders if remove(folder)]
