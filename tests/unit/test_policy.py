from __future__ import annotations

import pytest

from preferences.policy import Decision, Verdict, decide
from preferences.profile import Profile
from providers.channels import Channel
from tenants.categories import Category


@pytest.mark.parametrize("category", Category)
def test_an_opt_out_of_the_channel_stops_every_category(category: Category) -> None:
    """O-TIM-5: a legal opt-out wins over any message, OTP included."""
    profile = Profile(tenant_id=1, user_id="usr_1", opt_outs=frozenset({"sms"}))

    decision = decide(profile=profile, channel=Channel.SMS, category=category)

    assert decision == Decision(
        verdict=Verdict.SUPPRESS, reason="opted_out", rule="channel_opt_out"
    )


@pytest.mark.parametrize("channel", [Channel.EMAIL, Channel.PUSH, Channel.IN_APP])
def test_an_opt_out_leaves_other_channels_alone(channel: Channel) -> None:
    profile = Profile(tenant_id=1, user_id="usr_1", opt_outs=frozenset({"sms"}))

    decision = decide(profile=profile, channel=channel, category=Category.TRANSACTIONAL)

    assert decision == Decision(verdict=Verdict.ALLOW)


def test_nothing_is_known_of_the_person_and_all_is_allowed() -> None:
    decision = decide(
        profile=Profile(tenant_id=1, user_id="usr_1"),
        channel=Channel.EMAIL,
        category=Category.MARKETING,
    )

    assert decision.verdict == "allow"
