"""What people write to make a template engine do more than write: none of it does."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import pytest

from providers.channels import Channel
from templates.grammar import TextRefused, check_text
from templates.rendering import RenderFailed, render
from tests.factories.templates import pinned_version

ATTACKS = (
    (Path(__file__).parents[1] / "data" / "template_attacks.txt")
    .read_text("utf-8")
    .splitlines()
)
# What 1337*1337 makes, what a macro or a filter would write, and what commands print.
RESULTS = ("1787569", "INJECTED", "uid=", "root:", "<class", "built-in")
VARIABLES: dict[str, Any] = {"name": "An", "items": list(range(60)), "d": {"a": 1}}


def test_there_are_enough_of_them() -> None:
    assert len(set(ATTACKS)) >= 150


def written(attack: str, *, channel: Channel, **parts: str) -> dict[str, str]:
    """Render parts with an attack among the variables; {} where that is refused."""
    version = pinned_version({channel: {"en": parts}})
    try:
        rendered = render(
            version,
            channel=channel,
            locale="en",
            variables={**VARIABLES, "x": attack},
        )
    except RenderFailed:
        return {}
    return dict(rendered.parts)


def is_refused(text: str) -> bool:
    try:
        check_text(text)
    except TextRefused:
        return True
    return False


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_templates_text_does_nothing_but_write(attack: str) -> None:
    """O-TPL-5, bad input 43, 44: refused where it is approved, or harmless."""
    before = repr(VARIABLES)
    parts = {} if is_refused(attack) else written("", channel=Channel.SMS, text=attack)

    text = parts.get("text", "")
    assert [each for each in RESULTS if each in text and each not in attack] == []
    assert repr(VARIABLES) == before


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_variable_is_written_as_it_is(attack: str) -> None:
    """Bad input 42: whatever it looks like, in text and in HTML."""
    parts = written(
        attack,
        channel=Channel.EMAIL,
        subject="s",
        text="<{{ x }}>",
        html="<p>{{ x }}</p>",
    )

    visible = attack.replace("\u200b", "")
    assert parts["text"].replace("\u200b", "") == f"<{visible}>"
    assert unescape(parts["html"]).replace("\u200b", "") == f"<p>{visible}</p>"
    assert parts["html"].count("<") == 2
