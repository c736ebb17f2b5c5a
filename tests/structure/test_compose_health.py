"""How compose finds out what is well, and how soon Kafka finds out what is not."""

from __future__ import annotations

import re

import pytest

from devstack.kafka import SESSIONS
from tests.structure.compose import (
    consumers,
    given,
    program,
    served_port,
    services,
)


def test_health_checks_ask_the_port_that_is_served():
    for name, service in services().items():
        if name not in {"migrate", "worker", "beat"}:
            test = " ".join(service["healthcheck"]["test"])
            asked = re.findall(r"(?:0\.1\", |port[= ]|-p |localhost:)(\d+)", test)
            assert asked == [str(served_port(name))], name


def test_web_answers_its_health_check():
    test = " ".join(services()["web"]["healthcheck"]["test"])
    (host,) = re.findall(r'HTTPConnection\("([^"]+)"', test)

    assert host in given("web", "ALLOWED_HOSTS").split(",")
    assert given("web", "PROMETHEUS_MULTIPROC_DIR") in services()["web"]["tmpfs"]
    assert program("web")[1] == "--host=0.0.0.0"


@pytest.mark.parametrize(
    ("name", "node"), [("worker", "celery"), ("beat", "celerybeat")]
)
def test_celery_is_asked_by_the_name_it_has(name, node):
    kind, line = services()[name]["healthcheck"]["test"]

    assert kind == "CMD-SHELL"
    assert f'--destination="{node}@$$HOSTNAME"' in line
    assert not any(word.startswith("--hostname") for word in program(name))


def test_measurements_of_relay_and_consumers_are_told_within_the_network():
    for name in ("relay", *(name for name, _ in consumers())):
        assert given(name, "HEALTH_HOST") == "0.0.0.0"


def test_broker_gives_up_a_killed_consumer_as_soon_as_the_tests_broker():
    kafka = services()["kafka"]["environment"]
    names = {f"KAFKA_{name.upper().replace('.', '_')}": name for name in SESSIONS}

    assert {names[name]: kafka[name] for name in names} == SESSIONS
