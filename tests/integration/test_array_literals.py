"""Lists as array literals: PostgreSQL reads back what was written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foundation.arrays import array_literal
from foundation.statements import server_cursor

pytestmark = pytest.mark.django_db

STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def read_back(elements: list[Any], kind: str) -> list[Any]:
    with server_cursor() as cursor:
        cursor.execute(f"SELECT unnest(%s::{kind}[])", [elements])
        return [row[0] for row in cursor.fetchall()]


@given(st.lists(STORABLE | st.sampled_from(["NULL", "", '"', "\\", "{a,b}", " x "])))
def test_texts_come_back_as_they_are(texts: list[str]) -> None:
    assert read_back(texts, "text") == texts


@given(st.lists(st.binary(max_size=50)))
def test_octets_come_back_as_they_are(octets: list[bytes]) -> None:
    assert read_back(octets, "bytea") == octets


@pytest.mark.parametrize(
    ("kind", "elements"),
    [
        ("uuid", [uuid4(), None, UUID(int=0)]),
        ("int", [1, None, -(2**31)]),
        ("bool", [True, False, None]),
        (
            "timestamptz",
            [
                datetime(2026, 3, 29, 2, 30, 0, 7, UTC),
                None,
                datetime(9999, 12, 31, tzinfo=UTC),
            ],
        ),
        (
            "interval",
            [timedelta(0), None, timedelta(seconds=-1.5), timedelta(400, 3, 5)],
        ),
        ("text", [None, "a"]),
        ("uuid", []),
    ],
)
def test_values_and_gaps_come_back_as_they_are(kind: str, elements: list[Any]) -> None:
    assert read_back(elements, kind) == elements


def test_an_element_of_another_type_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match="float"):
        array_literal([1.5])
