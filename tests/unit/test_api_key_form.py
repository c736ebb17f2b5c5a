from __future__ import annotations

import re

import pytest

from tenants.api_keys import InvalidApiKey, is_api_key, mint_text, verify_key
from tenants.models import ApiKey

Environment = ApiKey.Environment


@pytest.mark.parametrize("environment", list(Environment))
def test_key_names_its_environment_and_carries_256_random_bits(environment):
    text = mint_text(environment)

    assert re.fullmatch(rf"nk_{environment}_[0-9A-Za-z]{{49}}", text)
    assert is_api_key(text)
    assert text != mint_text(environment)
    assert 62**43 > 2**256


def test_every_single_character_typo_is_refused_without_a_query():
    """No database in this test: a query would fail it."""
    text = mint_text(Environment.LIVE)

    for at in range(len(text)):
        typo = text[:at] + ("x" if text[at] != "x" else "y") + text[at + 1 :]
        with pytest.raises(InvalidApiKey):
            verify_key(typo)


@pytest.mark.parametrize(
    "text",
    ["", "nk_", "nk_live_", "nk_live_abc", "sk_live_" + "a" * 49, "nk_live_é" * 8],
)
def test_text_of_another_form_is_refused_without_a_query(text):
    with pytest.raises(InvalidApiKey):
        verify_key(text)


def test_live_key_does_not_pass_as_a_test_key():
    text = mint_text(Environment.LIVE).replace("live", "test")

    with pytest.raises(InvalidApiKey):
        verify_key(text)
