"""How forms are written and JSON answers read."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.http import HttpAnswer, encode_form


def read(body):
    return HttpAnswer(status=200, headers={}, body=body).json_object()


@given(
    st.dictionaries(
        st.sampled_from(["To", "Body", "From", "StatusCallback"]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
        min_size=1,
    )
)
def test_form_is_read_back_as_it_was_written(fields):
    written = encode_form(fields)

    assert written.isascii()
    assert dict(parse_qsl(written.decode(), keep_blank_values=True)) == fields


def test_what_looks_encoded_is_encoded_once_more():
    assert encode_form({"Body": "%41+b&c=d;é"}) == b"Body=%2541%2Bb%26c%3Dd%3B%C3%A9"


@pytest.mark.parametrize("text", ["\ud83d!", "!\ude00", "\ude00\ud83d!"])
def test_half_of_a_surrogate_pair_is_left_out(text):
    assert encode_form({"Body": text}) == b"Body=!"


@pytest.mark.parametrize(
    "body",
    [
        b'{"id": "1", "echo": "\\ud83d"}',
        b'\xef\xbb\xbf{"id": "1"}',
        '{"id": "1"}'.encode("utf-16"),
        b'{"id": "1", "took": NaN}',
    ],
)
def test_id_is_found_in_what_is_not_quite_json(body):
    """The message was accepted: without its id the outcome would be unknown."""
    assert read(body)["id"] == "1"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[1]", b'"a"', b"null", b"\xff\xfe", b"[" * 60_000, b'{"a":'],
)
def test_what_is_no_json_object_says_nothing(body):
    assert read(body) == {}


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.text() | st.floats()))
def test_json_means_what_the_standard_library_reads_in_it(content):
    body = json.dumps(content).encode()

    assert repr(read(body)) == repr(json.loads(body))
