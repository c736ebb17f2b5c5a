"""Render before accepting, where a tenant wants to hear at once of what cannot go out.

Without that a message that comes out too large fails in the claim, or is clipped by a
mail program, and whoever submitted it learns so from its status.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foundation.field_problems import FieldProblem
from notifications.acceptance.submission import (
    InvalidSubmission,
    Submission,
)
from notifications.acceptance.targets import Target
from preferences.policy import Verdict
from preferences.profile import Profile
from providers.channels import Channel
from templates.catalog import PinnedVersion
from templates.measures import GMAIL_CLIPS_AT, Measures, measure_message
from templates.rendering import Rendered, RenderFailed, RenderOptions, render
from tenants.limits import Limits, limits_of

# As many as providers take for one message.
MOST_SEGMENTS = 10


def check_sizes(
    *,
    submission: Submission,
    version: PinnedVersion,
    profile: Profile,
    targets: Sequence[Target],
) -> None:
    """Raise InvalidSubmission for what would not arrive whole, if the tenant asks."""
    limits = limits_of(tenant_id=version.tenant_id)
    if not limits.checks_sizes:
        return
    going = {
        each.channel
        for each in targets
        if each.decision.verdict is not Verdict.SUPPRESS
    }
    errors = [
        FieldProblem(f"/channels/{index}", fault)
        for index, channel in enumerate(submission.channels)
        if channel in going
        for fault in _faults(submission, version, profile, channel, limits)
    ]
    if errors:
        raise InvalidSubmission(*errors)


def _faults(
    submission: Submission,
    version: PinnedVersion,
    profile: Profile,
    channel: Channel,
    limits: Limits,
) -> Iterator[str]:
    try:
        rendered: Rendered = render(
            version,
            channel=channel,
            locale=submission.locale or profile.locale or "",
            variables=submission.variables,
            time_zone=profile.time_zone or limits.time_zone,
            options=RenderOptions(transliterates_sms=limits.transliterates_sms),
        )
    except RenderFailed as failed:
        place = f" in {failed.part}" if failed.part else ""
        yield f"cannot be rendered: {failed.reason.value}{place}"
        return
    yield from _too_large(measure_message(rendered, channel=channel))


def _too_large(measures: Measures) -> Iterator[str]:
    sms, push, email = measures.sms, measures.push, measures.email
    if sms is not None and sms.segments > MOST_SEGMENTS:
        yield f"comes to {sms.segments} segments, and {MOST_SEGMENTS} may be sent"
    if push is not None and push.fault:
        size = "" if push.bytes is None else f": {push.bytes} bytes of {push.limit}"
        yield f"would not be sent, {push.fault.replace('_', ' ')}{size}"
    if email is not None and (email.html_bytes or 0) > GMAIL_CLIPS_AT:
        yield f"has {email.html_bytes} bytes of HTML, cut off after {GMAIL_CLIPS_AT}"
