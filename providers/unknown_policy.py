"""What to do when nobody can say whether a provider took a message."""

from __future__ import annotations

from enum import StrEnum

from providers.channels import Channel
from tenants.categories import Category


class UnknownPolicy(StrEnum):
    """The three answers; settings.PROVIDERS chooses one for each category."""

    # Ask the provider for some minutes before anything else is done.
    RECONCILE = "reconcile"
    # Once, at once, as the same message.
    RETRY = "retry"
    # Leave it to a person.
    PARK = "park"


def default_policy(*, category: Category, channel: Channel) -> UnknownPolicy:
    """Choose between a possible duplicate and a message that is late or lost.

    A second code does little harm, and a late one is of no use; an advertisement
    twice is worse than none.
    """
    match category:
        case Category.OTP:
            return UnknownPolicy.RETRY
        case Category.MARKETING:
            return UnknownPolicy.PARK
        case _ if channel is Channel.IN_APP:
            return UnknownPolicy.RETRY
        case _:
            return UnknownPolicy.RECONCILE
