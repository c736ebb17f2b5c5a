"""The database of a test run, its movable clock, and tests that really commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from importlib import import_module
from importlib.util import find_spec

import psycopg
import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connections
from django.test.utils import setup_databases
from django.utils.module_loading import import_string
from pytest_django import DjangoDbBlocker
from redis import Redis

from tests.database_clock import Clock, install_clock
from tests.emptying import empty_tables

pytest_plugins = ["tests.acme", "tests.kafka", "tests.own_valkey", "tests.sleepers"]

# Dotted paths of what an app remembers in the process: a function that forgets, or
# one under functools.cache.
PROCESS_CACHES: list[str] = [
    "tenants.process_cache.forget_everything",
    "notifications.dispatch.judging.retry_policy",
    "notifications.acceptance.caps.counts",
    "notifications.acceptance.sms_rules._gathering",
]


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_blocker: DjangoDbBlocker,
) -> Generator[None]:
    """Make and migrate the run's own database as the owner; tests use it as `app`.

    pytest-django would set up only the aliases that tests name. `default` mirrors
    `owner`: without `owner` it would lead to the real database.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    name = f"test_notifications_{os.getpid()}_{worker}"
    owner = connections["owner"]
    # By default every alias waits for `default`, which is a mirror and never made.
    owner.settings_dict["TEST"] |= {"NAME": name, "DEPENDENCIES": []}
    with django_db_blocker.unblock():
        setup_databases(
            verbosity=request.config.option.verbose,
            interactive=False,
            serialized_aliases=[],
        )
        assert connections["default"].settings_dict["NAME"] == name
        owner.close()
    with owner_connection() as connection:
        install_clock(connection)
    yield
    with django_db_blocker.unblock():
        connections.close_all()
        with owner._nodb_cursor() as cursor:
            # By force: a connection that a test's thread left open is no reason.
            cursor.execute(f"DROP DATABASE {owner.ops.quote_name(name)} WITH (FORCE)")
        owner.close()


def owner_connection() -> psycopg.Connection:
    """Connect to the test database as the owner, past Django's blocking."""
    known = connections["owner"].settings_dict
    return psycopg.connect(
        host=known["HOST"],
        port=known["PORT"],
        user=known["USER"],
        password=known["PASSWORD"],
        dbname=known["NAME"],
        autocommit=True,
        options="-c lock_timeout=5s",
    )


@pytest.fixture(scope="session")
def owner(django_db_setup: None) -> Generator[psycopg.Connection]:
    """One autocommitting connection as the owner of the tables."""
    with owner_connection() as connection:
        yield connection


@pytest.fixture
def clock(owner: psycopg.Connection) -> Generator[Clock]:
    """Move the time that `app_now()` tells."""
    moved = Clock(owner)
    yield moved
    moved.reset()


@pytest.fixture
def committed(
    owner: psycopg.Connection, django_db_blocker: DjangoDbBlocker
) -> Generator[None]:
    """Let a test commit for real; then check the invariants and empty the tables."""
    with django_db_blocker.unblock():
        try:
            yield
            Clock(owner).reset()
            connections["default"].rollback()
            assert _find_violations() == []
        finally:
            connections.close_all()
            empty_tables(owner)


@pytest.fixture
def transactional_db(committed: None) -> None:
    """Stand in for pytest-django's, which would flush no mirror: `default` is one."""


def _find_violations() -> list[object]:
    if not find_spec("notifications.invariants"):
        return []
    find: Callable[[], list[object]] = import_module(
        "notifications.invariants"
    ).find_violations
    return find()


@pytest.fixture
def database_env(django_db_setup: None) -> dict[str, str]:
    """Return the variables with which a child process reaches this run's database."""
    return {
        **os.environ,
        "DATABASE_URL": _url("default"),
        "DATABASE_OWNER_URL": _url("owner"),
    }


def _url(alias: str) -> str:
    known = connections[alias].settings_dict
    login = f"{known['USER']}:{known['PASSWORD']}"
    return f"postgresql://{login}@{known['HOST']}:{known['PORT']}/{known['NAME']}"


@pytest.fixture(autouse=True)
def _forget(request: pytest.FixtureRequest) -> None:
    """Start every test with empty caches, in the process and outside."""
    for path in PROCESS_CACHES:
        remembered = import_string(path)
        getattr(remembered, "cache_clear", remembered)()
    if {"db", "committed"} & set(request.fixturenames):
        # Not clear(): that would flush what other runs keep in the same Valkey.
        cache.delete_pattern("*")  # type: ignore[attr-defined]  # django-redis' own
        with Redis.from_url(settings.REDIS_URL) as valkey:
            for key in valkey.scan_iter(f"{settings.VALKEY_PREFIX}*:{{*}}*"):
                valkey.delete(key)
