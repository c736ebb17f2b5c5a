"""How many messages of a category a person gets in a span of time."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from django.conf import settings

from notifications.acceptance.submission import Caller, Submission
from notifications.acceptance.targets import Target
from preferences.policy import Verdict
from tenants.categories import KnownCategory
from tenants.data_keys import blind_index
from tenants.number_counts.counts import Counted, Counts, Rule

CAP = "category_cap"


def count_for_cap(
    *,
    caller: Caller,
    submission: Submission,
    category: KnownCategory,
    targets: Sequence[Target],
) -> Counted | None:
    """Count a notification that goes out on some channel; None where nobody counts.

    Test keys' messages go nowhere, and are not counted.
    """
    goes_out = any(each.decision.verdict is not Verdict.SUPPRESS for each in targets)
    if category.cap is None or caller.is_test or not goes_out:
        return None
    person = blind_index(
        tenant_id=caller.tenant_id, purpose=CAP, value=submission.user_id
    )
    short = urlsafe_b64encode(person).decode().rstrip("=")
    rule = Rule(
        name=CAP,
        key=f"cap:{{{caller.tenant_id}}}:{category.name}:{short}",
        window=category.cap.within,
        limit=category.cap.most,
    )
    return counts().count([rule])


def capped(targets: Sequence[Target]) -> list[Target]:
    """Hold back all that would go out."""
    return [
        each
        if each.decision.verdict is Verdict.SUPPRESS
        else replace(each, decision=each.decision.instead(reason="capped", rule=CAP))
        for each in targets
    ]


def take_back(counted: Sequence[Counted]) -> None:
    """Let a message that was not accepted after all count for nothing."""
    for each in counted:
        counts().take_back(each)


@cache
def counts() -> Counts:
    """Return the counts of this process, of numbers as well as of people."""
    return Counts(
        url=settings.REDIS_URL, expected_processes=settings.EXPECTED_WEB_PROCESSES
    )
