"""A Kafka broker: one that is named, Apache Kafka by Maven or Docker, or a mock."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from devstack.folders import CLONE
from devstack.programs import Account, DevstackError
from devstack.servers import START_SECONDS, Launch, free_port, start, stop

POM = CLONE / "devstack" / "kafka.pom.xml"
JARS = CLONE / ".venv" / "kafka"
LEAST_JAVA = 17
# A consumer that was killed keeps its partitions for as long as its session lasts: the
# broker's 45 seconds are too long for whoever takes its place.
SESSIONS = {
    "group.consumer.min.session.timeout.ms": 3_000,
    "group.consumer.session.timeout.ms": 3_000,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.heartbeat.interval.ms": 500,
}
HEAP = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """Where it listens, and whether it is Apache Kafka or only speaks like it."""

    bootstrap: str
    is_real: bool

    @property
    def environment(self) -> dict[str, str]:
        mock = {} if self.is_real else {"KAFKA_IS_MOCK": "true"}
        return {"KAFKA_BOOTSTRAP_SERVERS": self.bootstrap, **mock}


@contextmanager
def running_kafka(folder: Path) -> Iterator[Broker]:
    """Run a broker on a folder, or use the one that the environment names.

    Its data is thrown away at every start: Kafka is transport, never truth.
    """
    named = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    if named:
        is_real = "KAFKA_IS_MOCK" not in os.environ
        yield Broker(bootstrap=named, is_real=is_real)
    elif _has_java() and shutil.which("mvn"):
        with running_broker(folder, jars=known_jars()) as bootstrap:
            yield Broker(bootstrap=bootstrap, is_real=True)
    elif _has_docker():
        with _in_docker() as bootstrap:
            yield Broker(bootstrap=bootstrap, is_real=True)
    elif "CI" in os.environ:
        raise DevstackError("CI needs Apache Kafka: install a JDK 17 and Maven")
    else:
        with _mock(folder) as bootstrap:
            yield Broker(bootstrap=bootstrap, is_real=False)


@contextmanager
def running_broker(
    folder: Path, *, jars: Path, port: int | None = None
) -> Iterator[str]:
    """Run Apache Kafka, one node that is broker and controller; yield its address."""
    home = folder / "kafka"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    process = start_broker(home, jars=jars, port=port or free_port())
    try:
        yield bootstrap_of(home)
    finally:
        stop(process, signals=(signal.SIGTERM,))


def start_broker(home: Path, *, jars: Path, port: int) -> subprocess.Popen[bytes]:
    """Start a broker on a folder; one that is empty is formatted first."""
    if not (home / "server.properties").exists():
        _format(home, jars=jars, port=port)
    command = [*_java(home, jars), "kafka.Kafka", str(home / "server.properties")]
    return start(
        Launch(
            name="Apache Kafka",
            command=command,
            home=home,
            log=home / "kafka.log",
            account=Account(),
            is_ready=lambda: answers(bootstrap_of(home)),
            environment={"PATH": os.environ.get("PATH", os.defpath)},
        )
    )


def bootstrap_of(home: Path) -> str:
    """Return where the broker of a folder listens."""
    properties = (home / "server.properties").read_text()
    found = re.search(r"^advertised\.listeners=PLAINTEXT://(.*)$", properties, re.M)
    if found is None:
        raise DevstackError(f"{home} is not a broker's folder")
    return found[1]


def answers(bootstrap: str) -> bool:
    """Tell whether a broker answers there."""
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        return bool(client.list_topics(timeout=1).brokers)
    except KafkaException:
        return False


def _format(home: Path, *, jars: Path, port: int) -> None:
    (home / "log4j2.properties").write_text(_LOGGING)
    properties = _PROPERTIES.format(
        port=port, controller_port=free_port(), data=home / "data"
    )
    sessions = "".join(f"{name}={value}\n" for name, value in SESSIONS.items())
    (home / "server.properties").write_text(properties + sessions)
    options = ["format", "--standalone", "-t", _cluster_id()]
    tool = ["kafka.tools.StorageTool", *options, "-c", str(home / "server.properties")]
    done = subprocess.run(
        [*_java(home, jars), *tool], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DevstackError(
            f"Kafka's storage was not formatted:\n{done.stderr[-2000:]}"
        )


def _java(home: Path, jars: Path) -> list[str]:
    logging = f"-Dlog4j2.configurationFile={home / 'log4j2.properties'}"
    return ["java", *HEAP, logging, "-cp", f"{jars}/*"]


def _cluster_id() -> str:
    return uuid4().hex[:22]


def known_jars() -> Path:
    """Return the folder with the broker's jars, fetched by Maven the first time."""
    version = re.search(r"<kafka.version>(.*)</kafka.version>", POM.read_text())
    wanted = JARS / (version[1] if version else "unknown")
    if wanted.exists():
        return wanted
    print("Fetching Apache Kafka with Maven …", file=sys.stderr, flush=True)
    unfinished = JARS / f"unfinished-{os.getpid()}"
    done = subprocess.run(
        [
            *("mvn", "--batch-mode", "--quiet", "--file", str(POM)),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={unfinished}",
            "-DincludeScope=runtime",
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise DevstackError(f"Maven did not bring Kafka:\n{done.stdout[-2000:]}")
    if not wanted.exists():
        unfinished.rename(wanted)
    return wanted


def _has_java() -> bool:
    if not shutil.which("java"):
        return False
    told = subprocess.run(
        ["java", "-version"], capture_output=True, text=True, check=False
    ).stderr
    found = re.search(r'version "(\d+)', told)
    return found is not None and int(found[1]) >= LEAST_JAVA


def _has_docker() -> bool:
    if not shutil.which("docker"):
        return False
    told = subprocess.run(["docker", "info"], capture_output=True, check=False)
    return told.returncode == 0


@contextmanager
def _in_docker() -> Iterator[str]:
    port = free_port()
    settings: Mapping[str, str] = {
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_LISTENERS": f"PLAINTEXT://:{port},CONTROLLER://:9093",
        "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://127.0.0.1:{port}",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
        **{
            f"KAFKA_{name.upper().replace('.', '_')}": str(value)
            for name, value in SESSIONS.items()
        },
    }
    variables = [w for k, v in settings.items() for w in ("--env", f"{k}={v}")]
    name = f"notifications-kafka-{os.getpid()}"
    publish = ["--publish", f"127.0.0.1:{port}:{port}"]
    run = ["docker", "run", "--rm", "--detach", "--name", name, *publish, *variables]
    subprocess.run([*run, "apache/kafka:4.1.1"], check=True, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(f"127.0.0.1:{port}"):
            if time.monotonic() > deadline:
                raise DevstackError("the broker in Docker does not answer")
        yield f"127.0.0.1:{port}"
    finally:
        subprocess.run(["docker", "kill", name], check=False, stdout=subprocess.DEVNULL)


@contextmanager
def _mock(folder: Path) -> Iterator[str]:
    """Run librdkafka's mock broker in a process of its own."""
    print(
        "NO APACHE KAFKA HERE (no JDK 17 with Maven, no Docker): librdkafka's mock"
        " broker stands in, and tests that need a real one do not run.",
        file=sys.stderr,
        flush=True,
    )
    told = folder / "mock-kafka"
    told.unlink(missing_ok=True)
    process = start(
        Launch(
            name="librdkafka's mock broker",
            command=[sys.executable, "-m", "devstack.mock_kafka", str(told)],
            home=CLONE,
            log=folder / "mock-kafka.log",
            account=Account(),
            is_ready=told.exists,
            environment=os.environ,
        )
    )
    try:
        yield told.read_text()
    finally:
        stop(process, signals=(signal.SIGTERM,))


_PROPERTIES = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=8
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""
_LOGGING = """\
rootLogger.level=WARN
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %c: %m%n
"""
