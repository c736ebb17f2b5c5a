from __future__ import annotations

import pytest

from providers.channels import Channel
from templates.rendering import FailureReason, RenderFailed, render
from tests.factories.templates import pinned_version

VERSION = pinned_version(
    {
        Channel.EMAIL: {
            "pt": {"subject": "assunto", "text": "corpo"},
            "en": {"subject": "subject", "text": "body"},
        },
        Channel.SMS: {"fr": {"text": "corps"}},
    }
)


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("pt-BR", "pt"),
        ("pt_br", "pt"),
        ("zh-Hant-TW", "en"),
        ("", "en"),
        (None, "en"),
        ("xx", "en"),
    ],
)
def test_all_parts_come_from_the_nearest_locale(
    wanted: str | None, chosen: str
) -> None:
    """O-TPL-2."""
    rendered = render(VERSION, channel=Channel.EMAIL, locale=wanted, variables={})

    assert rendered.locale == chosen
    assert rendered.parts == VERSION.contents[Channel.EMAIL][chosen]


@pytest.mark.parametrize("channel", [Channel.SMS, Channel.PUSH])
def test_no_usable_locale_and_no_content_fail_for_good(channel: Channel) -> None:
    """O-TPL-2."""
    with pytest.raises(RenderFailed) as failed:
        render(VERSION, channel=channel, locale="vi", variables={})

    assert failed.value.reason is FailureReason.NO_CONTENT_FOR_CHANNEL
