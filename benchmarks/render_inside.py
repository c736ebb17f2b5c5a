"""What `render` measures, inside Django: `measure(rounds, renders)`."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.template import Context, Engine

from benchmarks.failure import BenchmarkFailed
from benchmarks.figures import percentile
from benchmarks.reporting import report
from providers.channels import Channel
from templates.catalog import PinnedVersion
from templates.rendering import RenderFailed, render
from tenants.categories import Category

Side = Callable[[], Mapping[str, str]]

_ROWS = [
    {"name": f"Cà phê số {n}", "count": n, "price": f"{n}.000 ₫"} for n in range(1, 21)
]
_VARIABLES: Mapping[str, Any] = {
    "name": "Nguyễn Thị Bình",
    "code": "482913",
    "number": "ĐH-2026-0815",
    "rows": _ROWS,
    "total": "210000",
    "due": "2026-08-19T17:30:00Z",
}
_LETTER = (
    "<h1>Xin chào {{ name }}</h1><table>{% for row in rows %}<tr><td>{{ row.name }}"
    "</td><td>{{ row.count }}</td><td>{{ row.price }}</td></tr>{% endfor %}</table>"
    "<p>{{ number }}</p>"
)
# Channel, its parts, and whether Django writes the same.
_TEXTS: Mapping[str, tuple[Channel, dict[str, str], bool]] = {
    "sms": (Channel.SMS, {"text": "{{ code }} là mã Acme của bạn, {{ name }}."}, True),
    "push": (
        Channel.PUSH,
        {"title": "Đơn {{ number }}", "body": "{{ name }}, hàng đang đến."},
        True,
    ),
    "email": (
        Channel.EMAIL,
        {"subject": "Đơn {{ number }}", "text": "Xin chào {{ name }}."},
        True,
    ),
    "email of 20 rows": (
        Channel.EMAIL,
        {"subject": "{{ number }}", "html": _LETTER},
        True,
    ),
    "invoice by sms": (
        Channel.SMS,
        {"text": "{{ number }}: {{ total|currency('VND') }}, hạn {{ due|date }}."},
        False,
    ),
}
# What eats time, memory or stack in engines that let it.
_LONG = "x" * 30_000
_LIST = list(range(1_900))
_BOMBS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nested loops": (
        "{% for a in l %}{% for b in l %}{% for c in l %}{% endfor %}{% endfor %}"
        "{% endfor %}x",
        {"l": _LIST},
    ),
    "replace": ("{{ s|replace('x', s) }}", {"s": _LONG}),
    "join": ("{{ l|join(s) }}", {"l": _LIST, "s": _LONG}),
    "split and join": ("{{ s|split('')|join(s) }}", {"s": _LONG}),
    "sort": ("{{ l|sort|unique|reverse|join }}", {"l": _LIST}),
    "many times": ("{{ s }}" * 1_000, {"s": _LONG}),
    "dear number": ("{{ n|number }}", {"n": "1e999999999"}),
    "dear money": ("{{ n|currency('USD') }}", {"n": "9" * 30_000}),
    "dear date": ("{{ n|date }}", {"n": "9" * 30_000}),
    "dear plural": ("{{ n|plural(one='', other='') }}", {"n": "1" * 30_000}),
    "filters in nested loops": (
        "{% for a in l %}{% for b in l %}{{ b|currency('VND') }}{% endfor %}"
        "{% endfor %}",
        {"l": _LIST},
    ),
    "filters in loops": (
        "{% for a in l %}{{ a|currency('VND') }}{% endfor %}",
        {"l": _LIST},
    ),
    "dates in loops": (
        "{% for a in l %}{{ '2026-08-19T17:30:00Z'|datetime('full') }}{% endfor %}",
        {"l": _LIST},
    ),
}
_ATTACKS = Path("tests/data/template_attacks.txt").read_text("utf-8")


def measure(rounds: int, renders: int) -> None:
    """Check, measure in turns, and print; the slowest text is the value."""
    p50: dict[str, dict[str, list[float]]] = {}
    for name, (channel, parts, is_django) in _TEXTS.items():
        sides: dict[str, Side] = {"ours": _ours(channel, parts)}
        if is_django:
            sides["django"] = _django(parts)
            if sides["ours"]() != sides["django"]():
                raise BenchmarkFailed(f"the engines write {name} differently")
        p50[name] = {side: [] for side in sides}
        for number in range(rounds + 1):
            for side, write in sides.items():
                spent = _spent(write, renders)
                if number:  # the first one warms up
                    p50[name][side].append(percentile(spent, 0.5) * 1e6)
    medians = {
        name: {side: statistics.median(told) for side, told in by_side.items()}
        for name, by_side in p50.items()
    }
    for name, told in medians.items():
        report(text=name, p50_us=told, load_average=os.getloadavg()[0])
    worst = max(medians, key=lambda name: medians[name]["ours"])
    compared = [told for told in medians.values() if "django" in told]
    bomb, bomb_ms = _slowest_bomb()
    report(
        text=worst,
        p50_us=medians[worst]["ours"],
        ratios=[told["django"] / told["ours"] for told in compared],
        bomb=bomb,
        bomb_ms=bomb_ms,
    )


def _spent(write: Side, renders: int) -> list[float]:
    spent = []
    for _ in range(renders):
        started = time.perf_counter()
        write()
        spent.append(time.perf_counter() - started)
    return spent


def _ours(channel: Channel, parts: dict[str, str]) -> Side:
    version = _pinned(channel, parts)
    return lambda: (
        render(
            version,
            channel=channel,
            locale="vi-VN",
            variables=_VARIABLES,
            time_zone="Asia/Ho_Chi_Minh",
        ).parts
    )


def _django(parts: dict[str, str]) -> Side:
    engines = {
        name: Engine(autoescape=name == "html").from_string(text)
        for name, text in parts.items()
    }
    return lambda: {
        name: template.render(Context(dict(_VARIABLES), autoescape=name == "html"))
        for name, template in engines.items()
    }


def _pinned(channel: Channel, parts: dict[str, str]) -> PinnedVersion:
    return PinnedVersion(
        id=1,
        tenant_id=1,
        name="bench",
        number=1,
        category="transactional",
        base_category=Category.TRANSACTIONAL,
        content_hash=sha256(repr((channel, parts)).encode()).digest(),
        schema={"type": "object"},
        contents={channel: {"vi": parts}},
        default_locale="vi",
    )


def _slowest_bomb() -> tuple[str, float]:
    """Tell the slowest of the bombs, and of all that tests know to attack with."""
    worst, most = "", 0.0
    attacks = {each: (each, {"name": "An"}) for each in _ATTACKS.splitlines()}
    for name, (text, variables) in {**_BOMBS, **attacks}.items():
        version = _pinned(Channel.EMAIL, {"subject": "s", "text": text})
        started = time.perf_counter()
        try:
            render(version, channel=Channel.EMAIL, locale="vi", variables=variables)
        except RenderFailed as failed:
            outcome = failed.reason.value
        else:
            outcome = "written"
        spent = (time.perf_counter() - started) * 1_000
        if name in _BOMBS:
            report(bomb=name, outcome=outcome, ms=spent)
        if spent > most:
            worst, most = name, spent
    return worst, most
