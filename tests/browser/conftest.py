"""The distribution's own Chromium, without which nothing here is tested."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
MISSING = f"NOT TESTED: the pages in a browser, because {CHROMIUM} is missing"


@pytest.fixture(scope="session")
def chromium(request: pytest.FixtureRequest) -> Path:
    """Return where the browser is; in CI it must be there."""
    if not CHROMIUM.exists():
        _go_without(request)
    return CHROMIUM


def _go_without(request: pytest.FixtureRequest) -> None:
    if "CI" in os.environ:
        pytest.fail(MISSING)
    if terminal := request.config.pluginmanager.get_plugin("terminalreporter"):
        terminal.ensure_newline()
        terminal.write_line(MISSING, red=True, bold=True)
    pytest.skip(MISSING)
