from __future__ import annotations

import ast
import re

from django.conf import global_settings

from tests.structure.source import APPS, ROOT, Source, sources

# Read by the libraries they are named for.
LIBRARIES = (
    "CELERY_",
    "REST_FRAMEWORK",
    "ROOT_URLCONF",
    "SPECTACULAR_",
    "UNFOLD",
    "WHITENOISE_",
)
# prometheus_client takes its folder from the environment and nowhere else; failpoints
# are set for child processes of tests.
READERS = ("config/", "foundation/health.py", "foundation/failpoints.py")


def our_names(settings: Source) -> set[str]:
    assigned = {
        node.id
        for node in ast.walk(settings.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return {
        name
        for name in assigned
        if name.isupper()
        and not name.startswith("_")
        and not hasattr(global_settings, name)
        and not name.startswith(LIBRARIES)
    }


def test_every_setting_of_ours_is_read_somewhere():
    (settings,) = (
        source for source in sources("config") if source.path == "config/settings.py"
    )
    elsewhere = "\n".join(
        file.read_text()
        for app in APPS
        for file in (ROOT / app).rglob("*.py")
        if file != ROOT / settings.path
    )
    loaded = {
        node.id
        for node in ast.walk(settings.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }

    unused = [
        name
        for name in sorted(our_names(settings) - loaded)
        if not re.search(rf"\b{name}\b", elsewhere)
    ]

    assert unused == []


def test_environment_is_read_in_one_place():
    """Feature code reads django.conf.settings."""
    readers = [
        f"{source.path}:{node.lineno}"
        for source in sources(*APPS)
        if not source.path.startswith(READERS)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}
    ]

    assert readers == []
