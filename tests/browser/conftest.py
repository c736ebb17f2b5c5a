"""The distribution's own Chromium, without which nothing here is tested."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
MISSING = f"NOT TESTED: the pages in a browser, because {CHROMIUM} is missing"


@pytest.fixture(scope="session")
def chromium(request: pytest.FixtureRequest) -> Path:
    """Return where the browser is; in CI it must be there."""
    if not CHROMIUM.exists():
        _go_without(request)
    return CHROMIUM


@pytest.fixture(scope="module")
def browser(chromium: Path) -> Generator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's event loop runs in this thread; the tests use the ORM beside it.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        launched = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        yield launched
        launched.close()


def _go_without(request: pytest.FixtureRequest) -> None:
    if "CI" in os.environ:
        pytest.fail(MISSING)
    if terminal := request.config.pluginmanager.get_plugin("terminalreporter"):
        terminal.ensure_newline()
        terminal.write_line(MISSING, red=True, bold=True)
    pytest.skip(MISSING)
