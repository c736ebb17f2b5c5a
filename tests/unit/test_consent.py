from __future__ import annotations

import pytest

from preferences.consent import Change, Choices, changed_choices, changed_opt_outs


def test_closing_a_channel_withdraws_and_opening_it_gives() -> None:
    changed = changed_opt_outs(["email", "sms"], ["sms", "push"])

    assert [(each.channel and each.channel.key, each.change) for each in changed] == [
        ("email", Change.GIVEN),
        ("push", Change.WITHDRAWN),
    ]
    assert {each.category for each in changed} == {""}


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({}, {}, []),
        ({}, {"tips": {"email": True}}, [Change.GIVEN]),
        ({}, {"tips": {"email": False}}, [Change.WITHDRAWN]),
        ({"tips": {"email": True}}, {"tips": {"email": True}}, []),
        ({"tips": {"email": True}}, {"tips": {"email": False}}, [Change.WITHDRAWN]),
        ({"tips": {"email": False}}, {"tips": {"email": True}}, [Change.GIVEN]),
        ({"tips": {"email": True}}, {}, [Change.WITHDRAWN]),
        ({"tips": {"email": False}}, {}, []),
    ],
)
def test_a_choice_is_told_where_it_is_otherwise_than_before(
    before: Choices, after: Choices, changes: list[Change]
) -> None:
    assert [each.change for each in changed_choices(before, after)] == changes
