"""The embedded PostgreSQL and Valkey: what starts, what stops, what stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from devstack import folders
from devstack.folders import CLONE, throw_away_folder
from devstack.programs import DevstackError
from devstack.stack import running_stack


@pytest.fixture
def folder() -> Iterator[Path]:
    with throw_away_folder() as made:
        yield made


def test_stack_serves_both_roles_and_refuses_a_wrong_password(folder: Path) -> None:
    with running_stack(folder, durable=False) as environment:
        url = environment["DATABASE_OWNER_URL"]
        with psycopg.connect(url) as owner:
            owner.execute("CREATE TABLE kept (id int)")
            owner.execute("SET session_replication_role = replica")
        with (
            psycopg.connect(environment["DATABASE_URL"]) as app,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            app.execute("SELECT * FROM kept")
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(url.replace("notify_owner:", "notify_owner:x"))
        with redis.Redis.from_url(environment["REDIS_URL"]) as client:
            assert client.config_get("maxmemory-policy") == {
                "maxmemory-policy": "noeviction"
            }


def test_second_start_keeps_data_and_secrets(folder: Path) -> None:
    with (
        running_stack(folder, durable=True) as first,
        psycopg.connect(first["DATABASE_OWNER_URL"]) as owner,
    ):
        owner.execute("CREATE TABLE kept (id int)")

    with (
        running_stack(folder, durable=True) as second,
        psycopg.connect(second["DATABASE_OWNER_URL"]) as owner,
    ):
        assert owner.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    assert second["SEALING_KEYS"] == first["SEALING_KEYS"]


def test_second_stack_on_running_data_is_refused(folder: Path) -> None:
    with (
        running_stack(folder, durable=False),
        pytest.raises(DevstackError, match="already"),
        running_stack(folder, durable=False),
    ):
        pass


def test_killed_run_does_not_stop_the_next_start(folder: Path) -> None:
    program = (
        "import pathlib, signal, sys\n"
        "from devstack.stack import running_stack\n"
        "with running_stack(pathlib.Path(sys.argv[1]), durable=False) as env:\n"
        "    print(env['DATABASE_URL'], flush=True)\n"
        "    signal.pause()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        cwd=CLONE,
        stdout=subprocess.PIPE,
        text=True,
    ) as killed:
        assert killed.stdout is not None
        url = killed.stdout.readline().strip()
        killed.kill()

    psycopg.connect(url).close()  # its PostgreSQL lives on

    with running_stack(folder, durable=False) as environment:
        psycopg.connect(environment["DATABASE_URL"]).close()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)


def test_stale_pid_of_a_living_stranger_does_not_stop_the_next_start(
    folder: Path,
) -> None:
    with running_stack(folder, durable=False):
        kept = (folder / "postgres" / "postmaster.pid").read_text().splitlines()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        stale = "\n".join([str(stranger.pid), *kept[1:]])
        (folder / "postgres" / "postmaster.pid").write_text(stale)

        with running_stack(folder, durable=False) as environment:
            psycopg.connect(environment["DATABASE_URL"]).close()

        assert stranger.poll() is None
        stranger.terminate()


def test_abandoned_throw_away_folder_is_removed_by_the_next_run(folder: Path) -> None:
    abandoned = folder.with_name(f"{folders.NAME}-once-abandoned{os.getpid()}")
    abandoned.mkdir(mode=0o700)
    lock = abandoned / "lock"
    lock.touch()
    os.utime(lock, (time.time() - 100, time.time() - 100))

    with throw_away_folder():
        assert not abandoned.exists()


def test_interrupted_serve_stops_its_servers_and_removes_its_folder(
    tmp_path: Path,
) -> None:
    env_file = tmp_path / "stack.env"
    command = [sys.executable, "-m", "devstack", "serve", "--env-file", str(env_file)]
    with subprocess.Popen(
        command, cwd=CLONE, stdout=subprocess.PIPE, text=True
    ) as serve:
        assert serve.stdout is not None
        url = serve.stdout.readline().strip().removeprefix("export DATABASE_URL=")
        psycopg.connect(url).close()
        serve.send_signal(signal.SIGTERM)
        serve.communicate()

    assert serve.returncode == 130
    assert not env_file.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
