"""What a long-running process keeps out of its garbage collections."""

from __future__ import annotations

import gc


def spare_what_is_loaded() -> None:
    """Leave everything that exists by now out of every later collection.

    Django and what it imports are 120,000 objects; a full collection walks them all
    and stops every thread for 90 ms, every few seconds under load, to find nothing.
    Call it when start-up is over, before the work begins.
    """
    gc.collect()
    gc.freeze()
