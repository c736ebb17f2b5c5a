"""Whether a request may come at all: asked before any work."""

from __future__ import annotations

from notifications.acceptance.shedding import shed_crowd, under_way
from notifications.acceptance.submission import Caller
from templates.catalog import (
    UnknownTemplate,
    UnknownTemplateVersion,
    find_version,
    known_version,
)
from tenants.categories import Category, Priority, default_priority
from tenants.request_rate.rate import Bucket, RateStanding, count_request


def admit(
    *,
    caller: Caller,
    template_name: str,
    template_version: int | None,
    priority: Priority | None,
) -> RateStanding:
    """Let a request in and count it against its tenant's rate, or raise Overloaded or
    RateLimited."""
    category = _category_of(caller.tenant_id, template_name, template_version)
    shed_crowd(
        default_priority(category) if priority is None else priority,
        # The process has this one in hand as well.
        others=under_way.number - 1,
    )
    if caller.is_test:
        bucket = Bucket.TEST
    elif category is Category.OTP:
        bucket = Bucket.OTP
    else:
        bucket = Bucket.DEFAULT
    return count_request(tenant_id=caller.tenant_id, bucket=bucket)


def _category_of(tenant_id: int, name: str, number: int | None) -> Category:
    """Tell by the template, which staff approved: anybody can ask for HIGH.

    What has no template will be refused; until then it is like most.
    """
    try:
        version = find_version(tenant_id=tenant_id, name=name, number=number)
    except (UnknownTemplate, UnknownTemplateVersion):
        return Category.TRANSACTIONAL
    return version.base_category


def known_category_of(tenant_id: int, name: str, number: int | None) -> Category | None:
    """Tell by the template if this process remembers it."""
    version = known_version(tenant_id=tenant_id, name=name, number=number)
    return None if version is None else version.base_category
