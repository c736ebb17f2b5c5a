"""Why a benchmark gives no figure."""

from __future__ import annotations


class BenchmarkFailed(Exception):
    """The benchmark cannot be measured here, or what it measured is not right."""
