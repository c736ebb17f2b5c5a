"""The platform's relay, but its polls have no floors: what they are held against.

Runs inside Django: `manage.py shell -c "from benchmarks.baselines.… import …"`.
"""

from __future__ import annotations

from datetime import timedelta

from notifications.management.commands.relay_outbox import build_relay, run_all
from notifications.transport.due_floors import Trail
from notifications.worker import Stop
from tenants.categories import Priority

# They trail by longer than any row is old.
TRAIL = Trail(near=timedelta(days=9_000), far=timedelta(days=9_000))


def relay() -> None:
    """Relay every class until asked to stop."""
    stop = Stop()
    stop.listen()
    run_all([build_relay(each, stop=stop, trail=TRAIL) for each in Priority], stop)
