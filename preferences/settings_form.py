"""The form of the preference centre: what is ticked, and what that means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict

from preferences.notification_preferences import Choices
from preferences.page_words import Words, category_label
from providers.channels import Channel
from tenants.models import TenantCategory

CHANNELS = tuple(channel.key for channel in Channel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What was ticked, and the version that was looked at; -1 where it was no number,
    which matches nothing."""

    version: int
    wanted: frozenset[str]
    opt_outs: frozenset[str]

    @classmethod
    def of(cls, form: QueryDict) -> Chosen:
        """Read what a browser sent."""
        version = form.get("version", "")
        return cls(
            version=int(version) if version.isdecimal() and len(version) < 9 else -1,
            wanted=frozenset(form.getlist("wanted")),
            opt_outs=frozenset(form.getlist("opt_out")) & frozenset(CHANNELS),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A tenant's categories, and which of them somebody gets on which channel."""

    optional: Sequence[TenantCategory]
    mandatory: Sequence[TenantCategory]
    choices: Choices

    def is_wanted(self, category: TenantCategory, channel: str) -> bool:
        """Tell whether it goes out as things are, legal opt-outs aside."""
        chosen = self.choices.categories.get(category.name, {}).get(channel)
        return channel not in category.off_by_default if chosen is None else chosen

    def with_chosen(self, chosen: Chosen, stored: Choices) -> Choices:
        """Return the choices to store: what was ticked otherwise than it stood, so that
        whoever leaves a box alone goes on following the tenant's default."""
        categories = {name: dict(by) for name, by in stored.categories.items()}
        for category in self.optional:
            for channel in CHANNELS:
                wanted = f"{category.name}:{channel}" in chosen.wanted
                if wanted is not self.is_wanted(category, channel):
                    categories.setdefault(category.name, {})[channel] = wanted
        return replace(stored, opt_outs=sorted(chosen.opt_outs), categories=categories)

    def shown(self, words: Words) -> Mapping[str, Any]:
        """Return what the page needs to draw it."""
        return {
            "categories": [
                {
                    "name": category.name,
                    "label": _label(words, category),
                    "boxes": [
                        {
                            "channel": channel,
                            "label": words[channel],
                            "checked": self.is_wanted(category, channel),
                        }
                        for channel in CHANNELS
                    ],
                }
                for category in self.optional
            ],
            "opt_outs": [
                {
                    "channel": channel,
                    "label": words[channel],
                    "checked": channel in self.choices.opt_outs,
                }
                for channel in CHANNELS
            ],
            "mandatory": ", ".join(_label(words, each) for each in self.mandatory),
        }


def read_sheet(*, tenant_id: int, choices: Choices) -> Sheet:
    """Put a person's choices beside the categories that the tenant has."""
    rows = list(TenantCategory.objects.filter(tenant_id=tenant_id).order_by("id"))
    return Sheet(
        optional=[row for row in rows if row.legal_class != "mandatory"],
        mandatory=[row for row in rows if row.legal_class == "mandatory"],
        choices=choices,
    )


def _label(words: Words, category: TenantCategory) -> str:
    return category_label(
        words, name=category.name, label=category.label_in(words["language"])
    )
