"""librdkafka's mock broker as a process: `python -m devstack.mock_kafka FILE`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from confluent_kafka import Producer

from devstack.stack import write_private


def main() -> None:
    """Write the broker's address to the file, and serve until told to end."""
    broker = Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1})
    metadata = broker.list_topics(timeout=10)
    addresses = [f"{each.host}:{each.port}" for each in metadata.brokers.values()]
    write_private(Path(sys.argv[1]), ",".join(addresses))
    signal.pause()


if __name__ == "__main__":
    main()
