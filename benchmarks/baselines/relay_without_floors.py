"""The platform's relay, but its polls have no floors: what they are held against.

Runs inside Django: `manage.py shell -c "from benchmarks.baselines.… import …"`.
"""

from __future__ import annotations

from notifications.management.commands.relay_outbox import build_relay, run_all
from notifications.transport.due_floors import Trail
from notifications.worker import Stop
from tenants.categories import Priority

ALWAYS_IGNORED = Trail(ignored_every_seconds=-1.0)


def relay() -> None:
    """Relay every class until asked to stop."""
    stop = Stop()
    stop.listen()
    run_all(
        [build_relay(each, stop=stop, trail=ALWAYS_IGNORED) for each in Priority], stop
    )
