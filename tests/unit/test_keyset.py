from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from foundation.ids import new_id
from foundation.keyset import BadCursor, decode_cursor, encode_cursor

SCOPE = ("inbox", 1, "usr_1")


@given(st.uuids(), st.tuples(st.text(), st.integers(), st.text()))
def test_a_cursor_reads_back_in_its_scope(position, scope) -> None:
    assert decode_cursor(scope, encode_cursor(scope, position)) == position


@pytest.mark.parametrize(
    "other",
    [
        ("inbox", 1, "usr_2"),
        ("inbox", 2, "usr_1"),
        ("notifications", 1, "usr_1"),
        ("inbox", "1", "usr_1"),
        ("inbox", 1, "usr_1", ""),
    ],
)
def test_a_cursor_of_another_list_is_bad(other) -> None:
    """Bad input 28, O-INB-1."""
    cursor = encode_cursor(SCOPE, new_id())

    with pytest.raises(BadCursor):
        decode_cursor(other, cursor)


def test_every_flipped_bit_is_noticed() -> None:
    """Bad input 28, O-INB-1."""
    sealed = base64.urlsafe_b64decode(encode_cursor(SCOPE, new_id()) + "=")
    for bit in range(len(sealed) * 8):
        damaged = bytearray(sealed)
        damaged[bit // 8] ^= 1 << bit % 8
        cursor = base64.urlsafe_b64encode(damaged).decode().rstrip("=")
        with pytest.raises(BadCursor):
            decode_cursor(SCOPE, cursor)


@given(st.text(max_size=100))
def test_any_text_is_a_bad_cursor_at_worst(text: str) -> None:
    with pytest.raises(BadCursor):
        decode_cursor(SCOPE, text)


def test_a_cursor_survives_the_rotation_of_the_secret(
    settings: Settings,
) -> None:
    position = new_id()
    cursor = encode_cursor(SCOPE, position)

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "x" * 50
    assert decode_cursor(SCOPE, cursor) == position

    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(BadCursor):
        decode_cursor(SCOPE, cursor)
