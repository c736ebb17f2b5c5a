"""Whether a request may come at all: the tenant's rate, asked before any work."""

from __future__ import annotations

from notifications.acceptance.submission import Caller
from templates.catalog import UnknownTemplate, UnknownTemplateVersion, find_version
from tenants.categories import Category
from tenants.request_rate.rate import Bucket, RateStanding, count_request


def admit(
    *, caller: Caller, template_name: str, template_version: int | None
) -> RateStanding:
    """Count a request against its tenant's rate, or raise RateLimited."""
    if caller.is_test:
        bucket = Bucket.TEST
    elif _is_otp(caller, template_name, template_version):
        bucket = Bucket.OTP
    else:
        bucket = Bucket.DEFAULT
    return count_request(tenant_id=caller.tenant_id, bucket=bucket)


def _is_otp(caller: Caller, name: str, number: int | None) -> bool:
    """Tell by the template, which staff approved: anybody can ask for HIGH."""
    try:
        version = find_version(tenant_id=caller.tenant_id, name=name, number=number)
    except (UnknownTemplate, UnknownTemplateVersion):
        return False
    return version.category == Category.OTP
