"""All workers' common knowledge of which accounts answer, in Valkey."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from providers import valkey

_SCRIPT = (Path(__file__).parent / "board.lua").read_text()
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """When an account's breaker opens, and how it closes again.

    It opens when `failure_rate` of at least `least_calls` in a `window` went badly, and
    stays open for `recovery`, twice as long after every probe that goes badly, up to
    `longest_recovery`; `good_probes` in a row close it. A call goes badly that fails
    transiently, whose outcome is unknown, or that takes `slow_after` (half of the
    account's TIMEOUT where it is None).
    """

    window: timedelta = timedelta(seconds=10)
    least_calls: int = 20
    failure_rate: float = 0.5
    recovery: timedelta = timedelta(seconds=5)
    longest_recovery: timedelta = timedelta(minutes=1)
    good_probes: int = 3
    slow_after: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one worker has seen of an account since its last report.

    `probe` is how its own probe went: good, bad, or empty while there is none.
    """

    well: int
    badly: int
    probe: str = ""
    wants_probe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What holds for the account now; `ask_again` in seconds, 0 for whenever."""

    is_open: bool
    may_probe: bool = False
    ask_again: float = 0.0


class Board:
    """One worker's way to the boards of all accounts; for one event loop."""

    def __init__(self, *, url: str, prefix: str = "") -> None:
        """Begin all keys with `prefix`, where several platforms share a Valkey."""
        self._prefix = prefix
        self._valkey = valkey.connect(url)
        self._script = self._valkey.register_script(_SCRIPT)
        self._name = uuid4().hex

    async def report(
        self, alias: str, report: Report, *, policy: BreakerPolicy, probe_life: float
    ) -> Decision:
        """Report, and hear what to do; raise one of valkey.AWAY.

        A probe that has not been reported after `probe_life` seconds counts as lost.
        """
        is_open, may_probe, ask_again = await self._script(
            keys=[f"{self._prefix}breaker:{{{alias}}}"],
            args=[
                report.well,
                report.badly,
                report.probe,
                int(report.wants_probe),
                self._name,
                policy.window // _MICROSECOND,
                policy.least_calls,
                policy.failure_rate,
                policy.recovery // _MICROSECOND,
                policy.longest_recovery // _MICROSECOND,
                int(probe_life * 1_000_000),
                policy.good_probes,
            ],
        )
        return Decision(
            is_open=bool(is_open),
            may_probe=bool(may_probe),
            ask_again=ask_again / 1_000_000,
        )

    async def aclose(self) -> None:
        """Close the connection."""
        await self._valkey.aclose()
