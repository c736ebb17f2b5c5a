"""Accounts that refuse us for a reason of their own: wrong credentials, wrong sender.

The account rests until somebody mends it. Now and then one message is let through to
see: the first that is not refused so says that it is mended. Kept in PostgreSQL and not
with the breakers, since messages wait for it: it must not be forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import structlog

from foundation.statements import Cursor
from providers.metrics import ACCOUNT_FAULT

log = structlog.get_logger(__name__)

# A false alarm is over after the first; a real one is asked about less and less often.
FIRST_PROBE = timedelta(seconds=5)
LONGEST_PROBE = timedelta(minutes=5)

_FAULTY = "SELECT provider, code FROM account_fault WHERE mended_at IS NULL"


def faulty_accounts(cursor: Cursor) -> dict[str, str]:
    """Return the accounts that rest, each with the provider's word for why."""
    cursor.execute(_FAULTY)
    return dict(cursor.fetchall())


# Whoever gets the row has the probe; the others do not wait for it.
_TAKE_PROBES = """
UPDATE account_fault
   SET next_probe_at = app_now() + least(%s * (1 << least(probes, 16)), %s),
       probes = probes + 1
 WHERE provider = ANY (ARRAY(
   SELECT provider FROM account_fault
    WHERE provider = ANY (%s) AND mended_at IS NULL AND next_probe_at <= app_now()
    ORDER BY provider FOR UPDATE SKIP LOCKED))
RETURNING provider
"""


def take_probes(cursor: Cursor, providers: Collection[str]) -> set[str]:
    """Return to which of these one message may go now, of all workers together."""
    cursor.execute(_TAKE_PROBES, [2 * FIRST_PROBE, LONGEST_PROBE, list(providers)])
    return {row[0] for row in cursor.fetchall()}


_PROBE_NOW = """
UPDATE account_fault SET next_probe_at = app_now()
 WHERE provider = ANY (%s) AND mended_at IS NULL
"""


def probe_now(cursor: Cursor, providers: Collection[str]) -> None:
    """Let the next message for each of these through, whenever it was due to be."""
    cursor.execute(_PROBE_NOW, [list(providers)])


_BEGIN_ANEW = """
DELETE FROM account_fault WHERE provider = ANY (%s) AND mended_at IS NOT NULL
"""
_NOTE_FAULTY = """
INSERT INTO account_fault (provider, code, next_probe_at)
SELECT provider, code, app_now() + %s
  FROM unnest(%s::text[], %s::text[]) fault(provider, code)
ON CONFLICT (provider) DO UPDATE SET code = excluded.code, last_at = app_now()
RETURNING provider, code, OLD.provider IS NULL
"""


def note_faulty(cursor: Cursor, faults: Mapping[str, str]) -> None:
    """Let these accounts rest; `faults` holds the provider's word for why."""
    if not faults:
        return
    # In order: two workers may note the same two accounts.
    providers = sorted(faults)
    codes = [faults[provider] for provider in providers]
    cursor.execute(_BEGIN_ANEW, [providers])
    cursor.execute(_NOTE_FAULTY, [FIRST_PROBE, providers, codes])
    for provider, code, is_new in cursor.fetchall():
        if is_new:
            log.error("account_fault", provider=provider, code=code)


_NOTE_MENDED = """
UPDATE account_fault SET mended_at = app_now()
 WHERE provider = ANY (ARRAY(
   SELECT provider FROM account_fault
    WHERE provider = ANY (%s) AND mended_at IS NULL
    ORDER BY provider FOR UPDATE))
RETURNING provider
"""


def note_mended(cursor: Cursor, providers: Collection[str]) -> set[str]:
    """Call these accounts again; return which had been at fault."""
    if not providers:
        return set()
    cursor.execute(_NOTE_MENDED, [list(providers)])
    mended = {row[0] for row in cursor.fetchall()}
    for provider in sorted(mended):
        log.info("account_mended", provider=provider)
    return mended


_OPEN = """
SELECT provider, (mended_at IS NULL)::int FROM account_fault
"""


def sample_faults(cursor: Cursor) -> None:
    """Show which accounts rest for a fault of their own."""
    cursor.execute(_OPEN)
    for provider, is_open in cursor.fetchall():
        ACCOUNT_FAULT.labels(provider).set(is_open)


_MENDED = "SELECT provider, mended_at FROM account_fault WHERE mended_at IS NOT NULL"
_FORGET = """
DELETE FROM account_fault WHERE provider = %s AND mended_at < app_now() - %s
"""


def mended_accounts(cursor: Cursor) -> dict[str, datetime]:
    """Return the accounts for which messages may still wait, and since when in vain."""
    cursor.execute(_MENDED)
    return dict(cursor.fetchall())


def forget_mended(cursor: Cursor, provider: str, *, after: timedelta) -> None:
    """Forget a fault that was mended so long ago."""
    cursor.execute(_FORGET, [provider, after])
