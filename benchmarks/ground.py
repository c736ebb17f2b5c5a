"""A durable platform to measure on: fresh servers, migrated and filled."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.broker import PARTITIONS, Kafka
from benchmarks.failure import BenchmarkFailed
from devstack.folders import throw_away_folder
from devstack.platform import MANAGE
from devstack.postgres import SUPERUSER
from devstack.processes import Crew, crew, run
from devstack.servers import log_tail
from devstack.stack import running_stack

PEOPLE = 5_000
_ONE_BROKER = (
    *("--partitions", str(PARTITIONS)),
    *("--replication", "1", "--min-insync-replicas", "1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A filled database, and who may do what with it."""

    crew: Crew
    database: str
    owner: str
    superuser: str
    postgres_pid: int
    api_key: str
    template: dict[str, Any]
    people: int
    environment: dict[str, str]

    @property
    def topic_prefix(self) -> str:
        """Return what begins the topics of this ground and of no other."""
        return self.environment["KAFKA_PREFIX"]

    def checkpoint(self) -> None:
        """Let every measurement begin with the same share of full-page images."""
        with psycopg.connect(self.superuser, autocommit=True) as connection:
            connection.execute("CHECKPOINT")

    def tidy(self) -> None:
        """Leave no dead rows and no stale statistics to whoever measures next."""
        with psycopg.connect(self.owner, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")

    def check_invariants(self) -> None:
        """Raise unless every invariant holds."""
        run([*MANAGE, "check_invariants"], self.environment)


@contextmanager
def prepared_ground(*, history: int, kafka: Kafka | None = None) -> Iterator[Ground]:
    """Run PostgreSQL, which waits for the disk, and Valkey; fill them; clear all away.

    `history` is the number of old notifications to begin with. With a `kafka` it is the
    transport, and has topics that no other ground uses.
    """
    with throw_away_folder() as folder, running_stack(folder, durable=True) as servers:
        superuser = _superuser(folder, servers["DATABASE_URL"])
        _keep_log_segments(superuser)
        run([*MANAGE, "migrate", "--database", "owner", "--verbosity", "0"], servers)
        transport = {} if kafka is None else _over(kafka)
        environment = {
            **servers,
            **transport,
            "DATABASE_OWNER_URL": "",
            # How much can be accepted is asked, not how much a tenant may submit.
            "TENANT_RATE": "1000000",
            # Nor how often the same few people may be written to.
            "SMS_A_DAY": "0",
        }
        if kafka is not None:
            run([*MANAGE, "declare_topics", *_ONE_BROKER], environment)
        filled = json.loads(run(_filling(history), environment))
        with crew(folder=folder, environment=environment) as hired:
            ground = Ground(
                crew=hired,
                database=servers["DATABASE_URL"],
                owner=servers["DATABASE_OWNER_URL"],
                superuser=superuser,
                postgres_pid=_postgres_pid(folder),
                api_key=filled["api_key"],
                template=filled["template"],
                people=PEOPLE,
                environment=environment,
            )
            ground.tidy()
            ground.checkpoint()
            try:
                yield ground
            except BenchmarkFailed:
                _show_logs(folder)
                raise


def _over(kafka: Kafka) -> dict[str, str]:
    return {
        "DELIVERY_TRANSPORT": "kafka",
        "KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrap,
        "KAFKA_PREFIX": f"{secrets.token_hex(4)}.",
    }


def _keep_log_segments(superuser: str) -> None:
    """Let PostgreSQL use its log's files again, as one that has run for a day does.

    A fresh one makes a new file every few seconds, and every commit waits for it: 40
    to 130 ms in the 99th percentile, where one with files to use again has 14.
    """
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET min_wal_size = '2GB'")
        connection.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
        connection.execute("SELECT pg_reload_conf()")


def _show_logs(folder: Path) -> None:
    """Show what the processes said last; the folder is about to go."""
    for log in sorted(folder.glob("*.log")):
        print(f"{log.name}:\n{log_tail(log, lines=5)}", file=sys.stderr)


def _filling(history: int) -> list[str]:
    call = f"from benchmarks.people import fill; fill({PEOPLE}, {history})"
    return [*MANAGE, "shell", "--no-imports", "--command", call]


def _superuser(folder: Path, database: str) -> str:
    known = json.loads((folder / "secrets.json").read_text())
    return make_conninfo(database, user=SUPERUSER, password=known["superuser_password"])


def _postgres_pid(folder: Path) -> int:
    return int((folder / "postgres" / "postmaster.pid").read_text().splitlines()[0])
