from __future__ import annotations

import pytest

from preferences.preconditions import (
    MalformedPrecondition,
    Precondition,
    PreconditionMissing,
    parse_if_match,
)


@pytest.mark.parametrize(
    ("header", "versions"),
    [
        ('"3"', (3,)),
        (' "0" ', (0,)),
        ('"1", "2"', (1, 2)),
        ('"1","2" ,"7"', (1, 2, 7)),
        ('W/"3"', ()),
        ('W/"3", "4"', (4,)),
        ('"abc", "5"', (5,)),
        ('"03"', ()),
        ('"1,2"', ()),
        ('"99999999999999999999"', ()),
        ('""', ()),
    ],
)
def test_only_strong_tags_of_ours_name_versions(header, versions) -> None:
    """Bad input 25."""
    assert parse_if_match(header) == Precondition(versions=versions)


def test_a_star_stands_for_whatever_is_stored() -> None:
    assert parse_if_match("*") == Precondition(any_stored=True)


def test_no_header_is_a_missing_precondition() -> None:
    """Bad input 25."""
    with pytest.raises(PreconditionMissing):
        parse_if_match(None)


@pytest.mark.parametrize(
    "header", ["", "3", '"3', '"3" "4"', '"3",', '*, "3"', 'w/"3"']
)
def test_anything_else_is_malformed(header: str) -> None:
    with pytest.raises(MalformedPrecondition):
        parse_if_match(header)
