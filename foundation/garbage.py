"""What a long-running process keeps out of its garbage collections."""

from __future__ import annotations

import gc

_YOUNG = 20_000


def spare_what_is_loaded() -> None:
    """Leave everything that exists by now out of every later collection.

    Django and what it imports are 120,000 objects; a full collection walks them all
    and stops every thread for 90 ms, every few seconds under load, to find nothing.
    Call it when start-up is over, before the work begins. The young are looked at less
    often too: of 700 new objects, Python's own number, most are about to go by
    themselves, and looking at the others was a tenth of a consumer's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)
