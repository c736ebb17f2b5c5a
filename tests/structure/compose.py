"""docker-compose.yml as Compose would read it, and what it is compared with."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Hashable, Iterator
from functools import cache
from typing import Any

import click
import yaml
from celery.bin.base import CLIContext
from celery.bin.celery import celery
from granian.cli import cli as granian

from config import celery as celery_app
from tests.structure.source import ROOT, sources

# Compose's own escape of a dollar sign is no variable.
_VARIABLE = re.compile(r"(?<!\$)\$(?:\$\$)*(?:\{(\w+)([^}]*)\}|(\w+))")
_URL = re.compile(r"^\w+://(?:([^:@/]*):[^@/]*@)?([^:@/]+):(\d+)")
_WAIT = re.compile(r"(\d+)([sm])")

# Those of Compose that are used here; none gives a service rights or starts it twice.
KEYS = {
    "build", "cap_drop", "command", "depends_on", "environment", "healthcheck", "image",
    "init", "logging", "ports", "pull_policy", "read_only", "restart", "security_opt",
    "shm_size", "stop_grace_period", "tmpfs", "user", "volumes",
}  # fmt: skip
# Read by prometheus_client, and not through the settings.
TOOLS = {"PROMETHEUS_MULTIPROC_DIR"}
# Of README's settings, those that .env does not reach every service with, and why.
NOT_HANDED_ON = {
    "DATABASE_OWNER_URL": "nobody but migrate is given the owner's rights",
    "KAFKA_CLIENT_OPTIONS": "the broker is the one of the file",
    "KAFKA_INSTANCE": "each consumer has one of its own",
    "KAFKA_PREFIX": "nobody else's topics are on that broker",
}
# What .env could hold, in the form that the settings want.
FILLED = {
    "ALLOWED_HOSTS": "notify.example.com",
    "APP_PASSWORD": "a1",
    "OWNER_PASSWORD": "b2",
    "SEALING_KEYS": f"1:{'A' * 43}=",
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
    "USER_TOKEN_SECRETS": "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
    "VALKEY_PASSWORD": "c3",
}


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that is there twice, as Compose does and PyYAML does not."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if key.tag.endswith(":str")]
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise yaml.constructor.ConstructorError(
                None, None, f"twice: {sorted(twice)}", node.start_mark
            )
        return super().construct_mapping(node, deep)


@cache
def document() -> dict[str, Any]:
    text = (ROOT / "docker-compose.yml").read_text()
    loaded: dict[str, Any] = yaml.load(text, StrictLoader)
    return loaded


def services() -> dict[str, dict[str, Any]]:
    """Return every service by its name."""
    found: dict[str, dict[str, Any]] = document()["services"]
    return found


def our_services() -> dict[str, dict[str, Any]]:
    """Return those that run our own image."""
    ours = document()["x-app"]["image"]
    return {name: each for name, each in services().items() if each["image"] == ours}


def commands(service: dict[str, Any]) -> list[list[str]]:
    """Return the commands that a service runs; a script has one in each line."""
    words = [str(word) for word in service["command"]]
    if words[:2] in (["sh", "-c"], ["sh", "-ec"]):
        return [shlex.split(line) for line in words[2].splitlines()]
    return [words]


def management_commands() -> Iterator[tuple[str, str, list[str]]]:
    """Yield service, name and options of every `python manage.py …`."""
    for name, service in our_services().items():
        for words in commands(service):
            if words[:2] == ["python", "manage.py"]:
                yield name, words[2], words[3:]


def consumers() -> list[tuple[str, list[str]]]:
    """Return service and options of every consumer."""
    return [
        (service, options)
        for service, name, options in management_commands()
        if name == "consume_deliveries"
    ]


def program(name: str) -> list[str]:
    """Return the words after the program's name of a service's only command."""
    ((_, *words),) = commands(services()[name])
    return words


def variables(value: Any) -> Iterator[tuple[str, str]]:
    """Walk the ${NAME…} of a value; yield the name and what follows it."""
    if isinstance(value, dict):
        for key, each in value.items():
            # Given without a value, it is handed on from .env.
            if each is None and str(key).isupper():
                yield key, "-"
            yield from variables(each)
    elif isinstance(value, list):
        for each in value:
            yield from variables(each)
    elif isinstance(value, str):
        for braced, rest, bare in _VARIABLE.findall(value):
            yield braced or bare, rest


def filled_in(service: dict[str, Any]) -> dict[str, str]:
    """Return a container's environment as Compose makes it of a filled .env."""

    def replace(found: re.Match[str]) -> str:
        name, rest = found[1] or found[3], found[2] or ""
        return FILLED.get(name) or rest.removeprefix(":").removeprefix("-")

    given = {
        name: FILLED.get(name) if value is None else _VARIABLE.sub(replace, str(value))
        for name, value in service["environment"].items()
    }
    return {name: value for name, value in given.items() if value is not None}


def example() -> dict[str, str | None]:
    """Return the variables of .env.example; None for those commented out."""
    lines = (ROOT / ".env.example").read_text().splitlines()
    found = [re.fullmatch(r"(#?)(\w+)=(.*)", line) for line in lines]
    return {each[2]: None if each[1] else each[3] for each in found if each}


def settings_of_the_readme() -> set[str]:
    """Return the variables of README's settings table."""
    _, table = (ROOT / "README.md").read_text().split("\n| variable | |\n")
    rows = table.split("\n\n")[0].splitlines()
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def address(url: str) -> tuple[str, str, int]:
    """Return who, where and at which port of a URL with a port."""
    if (found := _URL.match(url)) is None:
        raise ValueError(url)
    return found[1] or "", found[2], int(found[3])


def seconds(text: str) -> int:
    """Return how long `2m` or `30s` is."""
    if (found := _WAIT.fullmatch(text)) is None:
        raise ValueError(text)
    return int(found[1]) * {"s": 1, "m": 60}[found[2]]


@cache
def settings_tree() -> ast.Module:
    (settings,) = (
        source for source in sources("config") if source.path == "config/settings.py"
    )
    return settings.tree


def settings_variables(within: ast.AST | None = None) -> dict[str, bool]:
    """Return what config/settings.py reads, and whether it has no default."""
    return {
        node.args[0].value: "default" not in {word.arg for word in node.keywords}
        for node in ast.walk(within or settings_tree())
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "env"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


def settings_conditions() -> Iterator[tuple[set[str], set[str]]]:
    """Yield what each `if` of the settings reads, and what only its branch reads."""
    for node in settings_tree().body:
        if isinstance(node, ast.If):
            condition = settings_variables(node.test).keys()
            yield set(condition), settings_variables(node).keys() - condition


def given(name: str, variable: str) -> str:
    """Return a variable of a service as the file has it."""
    value: str = services()[name]["environment"][variable]
    return value


def values_of(option: str, words: list[str]) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words) if word == option]


def parse_granian(words: list[str]) -> dict[str, Any]:
    """Parse as the program would; raise if it knows an option or a value not."""
    return granian.make_context("granian", list(words)).params


def parse_celery(application: str, command: str, options: list[str]) -> dict[str, Any]:
    """Parse as the program would; `--app` is its own option, before the command."""
    if application != f"--app={celery_app.__name__.removesuffix('.celery')}":
        raise ValueError(application)
    known = CLIContext(app=celery_app.app, no_color=True, workdir=None)
    parent = click.Context(celery, obj=known)
    return celery.commands[command].make_context(command, options, parent).params


def served_port(name: str) -> int:
    """Return the port that a service's command serves, or its image by default."""
    service = services()[name]
    match name:
        case "web":
            return int(parse_granian(program(name))["port"])
        case "valkey":
            return int(re.findall(r"^port (\d+)$", service["command"][2], re.M)[0])
        case "kafka":
            listeners = service["environment"]["KAFKA_LISTENERS"]
            return int(re.findall(r"PLAINTEXT://:(\d+)", listeners)[0])
        case "postgres":
            return 5432
    return int(values_of("--health-port", program(name))[0])
