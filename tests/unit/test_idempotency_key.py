from __future__ import annotations

from uuid import uuid4

import pytest

from tenants.idempotency import (
    IdempotencyKeyMismatch,
    InvalidIdempotencyKey,
    MissingIdempotencyKey,
    fingerprint,
    key_of,
    read_key,
)
from tenants.principals import ServicePrincipal, UserPrincipal


def of(body: object, *, method: str = "POST", path: str = "/v1/notifications") -> bytes:
    return fingerprint(method=method, path=path, body=body)


def test_no_key_is_missing():
    """Bad input 1."""
    with pytest.raises(MissingIdempotencyKey):
        read_key(header=None, body_value=None)


@pytest.mark.parametrize(
    "key",
    [
        "",
        " ",
        "   ",
        "k" * 256,
        "a\tb",
        "a\r\nb",
        "\x00",
        "\x7f",
        "k\u00e9",
        "🙂",
        "ð\x9f\x99\x82",
        '""',
        '"unfinished',
        '"a"b"',
        '"a";param=1',
        '"a\\b"',
    ],
    ids=ascii,
)
def test_malformed_key_in_the_header_is_refused(key):
    """Bad input 2; the emoji also as WSGI hands over its UTF-8 bytes."""
    with pytest.raises(InvalidIdempotencyKey):
        read_key(header=key)


@pytest.mark.parametrize("key", ["", "  ", "k" * 256, "a\x00b", "🙂", 7, ["k"], {}])
def test_malformed_key_in_the_body_is_refused(key):
    """Bad input 2, O-HYG-1."""
    with pytest.raises(InvalidIdempotencyKey):
        read_key(header=None, body_value=key)


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ("abc", "abc"),
        ('"abc"', "abc"),
        ('"a\\"b\\\\c"', 'a"b\\c'),
        ("order-77:shipped", "order-77:shipped"),
        ("k" * 255, "k" * 255),
        ("two words", "two words"),
    ],
)
def test_header_may_be_quoted_or_bare(header, key):
    """Bad input 3."""
    assert read_key(header=header) == key
    assert read_key(header=header, body_value=key) == key


def test_header_and_body_must_agree():
    """Bad input 4."""
    with pytest.raises(IdempotencyKeyMismatch):
        read_key(header="abc", body_value="abd")


def test_order_of_members_does_not_matter():
    """Bad input 5."""
    assert of({"a": 1, "b": {"x": [1, 2], "y": None}}) == of(
        {"b": {"y": None, "x": [1, 2]}, "a": 1}
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"n": 1}, {"n": 1.0}),
        ({"n": -0.0}, {"n": 0}),
        ({"n": [{"m": 100.0}]}, {"n": [{"m": 1e2}]}),
        ({"a": 1}, {"a": 1, "idempotency_key": "k"}),
    ],
)
def test_same_request_written_differently_has_the_same_fingerprint(one, other):
    """Bad input 6."""
    assert of(one) == of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"name": "Andr\u00e9"}, {"name": "Andre\u0301"}),
        ({"n": 1}, {"n": "1"}),
        ({"n": 1}, {"n": True}),
        ({"n": 1}, {"n": 1.5}),
        ({"n": None}, {}),
        ({"l": [1, 2]}, {"l": [2, 1]}),
        ({"n": 2**80}, {"n": 2**80 + 1}),
        ({"v": {"idempotency_key": "a"}}, {"v": {"idempotency_key": "b"}}),
        ({}, None),
    ],
    ids=str,
)
def test_different_requests_have_different_fingerprints(one, other):
    """Bad input 6: composed and decomposed letters are two requests."""
    assert of(one) != of(other)


def test_method_and_path_belong_to_the_request():
    assert of({}) != of({}, path="/v1/notifications/x/cancel")
    assert of({}) != of({}, method="PUT")


def test_end_users_and_test_keys_cannot_use_up_a_live_key():
    def service(*, is_test):
        return ServicePrincipal(
            tenant_id=1,
            key_id=uuid4(),
            service="billing",
            scopes=frozenset(),
            is_test=is_test,
        )

    owners = [
        service(is_test=False),
        service(is_test=True),
        UserPrincipal(tenant_id=1, user_id="usr_1"),
        UserPrincipal(tenant_id=1, user_id="usr_2"),
    ]
    names = [key_of(owner, "k" * 255) for owner in owners]

    assert names[0] == "k" * 255
    assert len(set(names)) == len(owners)
    assert all(len(name) <= 255 for name in names)
