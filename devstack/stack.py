"""A PostgreSQL and a Valkey with the platform's roles, database and secrets."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from devstack.folders import locked
from devstack.leftovers import MARKER, stop_leftovers
from devstack.postgres import Cluster, running_postgres
from devstack.programs import server_account
from devstack.valkey import running_valkey

OWNER = "notify_owner"
APP = "app"
DATABASE = "notifications"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Made once per folder, so that a second start reads what the first one wrote."""

    superuser_password: str
    owner_password: str
    app_password: str
    valkey_password: str
    secret_key: str
    sealing_keys: str
    user_token_secrets: str


@contextmanager
def running_stack(folder: Path, *, durable: bool) -> Iterator[dict[str, str]]:
    """Run PostgreSQL and Valkey on a folder; yield the environment for children.

    Not durable is for data nobody misses: nothing waits for the disk.
    """
    account = server_account()
    with locked(folder):
        stop_leftovers(folder)
        known = _secrets(folder / "secrets.json")
        cluster = Cluster(
            folder=folder,
            account=account,
            superuser_password=known.superuser_password,
            durable=durable,
        )
        valkey = running_valkey(
            folder=folder, account=account, password=known.valkey_password
        )
        with running_postgres(cluster) as database_port, valkey as valkey_port:
            _make_roles(cluster.url(database_port), known)
            environment = _environment(known, database_port, valkey_port)
            yield {**environment, MARKER: str(folder)}


def _secrets(path: Path) -> Secrets:
    if path.exists():
        return Secrets(**json.loads(path.read_text()))
    sealing_key = base64.b64encode(secrets.token_bytes(32)).decode()
    made = Secrets(
        superuser_password=secrets.token_hex(24),
        owner_password=secrets.token_hex(24),
        app_password=secrets.token_hex(24),
        valkey_password=secrets.token_hex(24),
        secret_key=secrets.token_urlsafe(50),
        sealing_keys=f"1:{sealing_key}",
        user_token_secrets=secrets.token_urlsafe(50),
    )
    write_private(path, json.dumps(asdict(made), indent=1))
    return made


def write_private(path: Path, content: str) -> None:
    """Write a file that we alone can read, whole or not at all."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(content)
    unfinished.rename(path)


def _make_roles(url: str, known: Secrets) -> None:
    """Make the two roles and the database, or do what a killed start left undone."""
    with psycopg.connect(url, autocommit=True) as connection:
        for role, password, rights in (
            (OWNER, known.owner_password, "LOGIN CREATEDB"),
            (APP, known.app_password, "LOGIN"),
        ):
            if not _exists(connection, "pg_roles", "rolname", role):
                connection.execute(sql.SQL("CREATE ROLE {}").format(_name(role)))
            connection.execute(
                sql.SQL("ALTER ROLE {} {} PASSWORD {}").format(
                    _name(role), sql.SQL(rights), sql.Literal(password)
                )
            )
        # The tests' owner empties tables past the triggers that guard the audit,
        # and drops its database under whatever connection a test left open.
        connection.execute(
            sql.SQL(
                "GRANT SET ON PARAMETER session_replication_role TO {0};"
                "GRANT pg_signal_backend TO {0}"
            ).format(_name(OWNER))
        )
        if not _exists(connection, "pg_database", "datname", DATABASE):
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(
                    _name(DATABASE), _name(OWNER)
                )
            )


def _name(text: str) -> sql.Identifier:
    return sql.Identifier(text)


def _exists(
    connection: psycopg.Connection, catalog: str, column: str, name: str
) -> bool:
    query = sql.SQL("SELECT FROM {} WHERE {} = {}").format(
        _name(catalog), _name(column), sql.Literal(name)
    )
    return connection.execute(query).rowcount > 0


def _environment(
    known: Secrets, database_port: int, valkey_port: int
) -> dict[str, str]:
    def url(role: str, password: str) -> str:
        return f"postgresql://{role}:{password}@127.0.0.1:{database_port}/{DATABASE}"

    return {
        "DATABASE_URL": url(APP, known.app_password),
        "DATABASE_OWNER_URL": url(OWNER, known.owner_password),
        "REDIS_URL": f"redis://:{known.valkey_password}@127.0.0.1:{valkey_port}/0",
        "SECRET_KEY": known.secret_key,
        "SEALING_KEYS": known.sealing_keys,
        "USER_TOKEN_SECRETS": known.user_token_secrets,
        "ALLOWED_HOSTS": "127.0.0.1,localhost",
        "HTTPS": "false",
    }
