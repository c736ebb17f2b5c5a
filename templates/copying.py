"""Begin a version from another one, or go back to one in a single act."""

from __future__ import annotations

from django.db import transaction

from audit.events import EventKind
from providers.channels import Channel
from templates.models import TemplateVersion
from templates.publishing import (
    add_content,
    approve,
    create_version,
    record_step,
    submit,
)


class NeverApproved(Exception):
    """One can only go back to what was approved."""


def copy_version(
    *, source: TemplateVersion, actor: str, same_layouts: bool = False
) -> TemplateVersion:
    """Start the next version of the template as a draft that says the same, in the
    layouts as they are now, or as it had them."""
    with transaction.atomic():
        draft = create_version(
            template=source.template,
            schema=source.schema,
            sample=source.sample,
            default_locale=source.default_locale,
            actor=actor,
        )
        for content in source.contents.select_related("layout_version").order_by("id"):
            parts = dict(content.parts)
            if same_layouts and content.layout_version:
                parts["layout"] = str(content.layout_version)
            add_content(
                version=draft,
                channel=Channel(content.channel),
                locale=content.locale,
                parts=parts,
                actor=actor,
            )
    return draft


def roll_back(*, version: TemplateVersion, actor: str) -> TemplateVersion:
    """Approve the text of an earlier version anew, as the newest one.

    Who wrote it answers for it still, so that where versions are reviewed everybody
    else may do this (OwnWork). Raises ApprovalRefused where it is no longer fit.
    """
    if version.content_hash is None:
        raise NeverApproved(NeverApproved.__doc__)
    with transaction.atomic():
        author = version.edited_by or "unknown"
        copy = copy_version(source=version, actor=author, same_layouts=True)
        submit(version=copy, actor=actor)
        approved = approve(version=copy, actor=actor)
        record_step(
            EventKind.TEMPLATE_ROLLED_BACK, approved, actor=actor, to=version.number
        )
    return approved
