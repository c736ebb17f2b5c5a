"""Show enough of an address to recognise it, and not enough to write to it."""

from __future__ import annotations

_DOTS = "•••"


def mask_address(address: str) -> str:
    """Write r•••@example.org, +84•••678, or the end of a push token."""
    local, at, domain = address.rpartition("@")
    if at:
        return f"{local[:1]}{_DOTS}@{domain}"
    if address.startswith("+"):
        return f"{address[:3]}{_DOTS}{address[-3:]}"
    return f"{_DOTS}{address[-4:]}" if len(address) > 16 else _DOTS
