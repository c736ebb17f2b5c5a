"""The hot struct and the documenting serializer accept and refuse the same bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from config.json_body import decode
from notifications.acceptance.submission import InvalidSubmission
from notifications.serializers.body import NotificationBody, decode_body
from notifications.serializers.documented import NotificationSerializer

VALID: dict[str, Any] = {
    "idempotency_key": "billing:inv_928",
    "recipient": {"user_id": "usr_an"},
    "template": {"name": "invoice_due", "version": 1},
    "variables": {"amount": "125.00"},
    "channels": ["email"],
}
AT = "2026-08-19T11:00:00+07:00"

ACCEPTED: list[dict[str, Any]] = [
    {},
    {"idempotency_key": None},
    {"idempotency_key": ""},
    {"recipient": {"user_id": "A-z0.9_:@" * 14}},
    {"recipient": {"user_id": "u", "email": None, "phone": None, "locale": None}},
    {"recipient": {"user_id": "u", "email": "", "phone": " x ", "locale": ""}},
    {"recipient": {"user_id": "u", "email": "é" * 400, "phone": "1" * 100}},
    {"recipient": {"user_id": "u", "locale": "x" * 35}},
    {"template": {"name": "a"}},
    {"template": {"name": "a" * 100, "version": None}},
    {"template": {"name": "0._-", "version": 2**31 - 1}},
    {"variables": {}},
    {"variables": {"": None, "a/b": [1, 1.5, True, {"b": [None]}], "__proto__": {}}},
    {"channels": ["in_app", "push", "sms", "email"]},
    {"send_at": AT, "expires_at": "2026-08-19t04:00:00.123456Z"},
    {"send_at": None, "expires_at": None},
    {"dedupe_window_seconds": 60},
    {"dedupe_window_seconds": 30 * 24 * 3600},
    {"dedupe_window_seconds": None},
    {"priority": "high"},
    {"priority": "low"},
    {"priority": None},
    {"reference": " inv 928 "},
    {"reference": "😀" * 200},
    {"reference": None},
    {"reference": ""},
    {"metadata": {}},
    {"metadata": {"k" * 40: "v" * 500, "é/~": ""}},
    {"metadata": {str(number): "x" for number in range(20)}},
]

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"recipient": ...}, "/recipient"),
    ({"recipient": None}, "/recipient"),
    ({"recipient": []}, "/recipient"),
    ({"recipient": "usr_an"}, "/recipient"),
    ({"recipient": {}}, "/recipient/user_id"),
    ({"recipient": {"user_id": None}}, "/recipient/user_id"),
    ({"recipient": {"user_id": 42}}, "/recipient/user_id"),
    ({"recipient": {"user_id": True}}, "/recipient/user_id"),
    ({"recipient": {"user_id": ""}}, "/recipient/user_id"),
    ({"recipient": {"user_id": "u" * 129}}, "/recipient/user_id"),
    ({"recipient": {"user_id": "usr an"}}, "/recipient/user_id"),
    ({"recipient": {"user_id": "usr_an\n"}}, "/recipient/user_id"),
    ({"recipient": {"user_id": "usr_an "}}, "/recipient/user_id"),
    ({"recipient": {"user_id": "người"}}, "/recipient/user_id"),
    ({"recipient": {"user_id": "u", "email": 5}}, "/recipient/email"),
    ({"recipient": {"user_id": "u", "email": "x" * 401}}, "/recipient/email"),
    ({"recipient": {"user_id": "u", "phone": 84912345678}}, "/recipient/phone"),
    ({"recipient": {"user_id": "u", "locale": "x" * 36}}, "/recipient/locale"),
    ({"recipient": {"user_id": "u", "name": "An"}}, "/recipient/name"),
    ({"template": ...}, "/template"),
    ({"template": "invoice_due"}, "/template"),
    ({"template": {"version": 1}}, "/template/name"),
    ({"template": {"name": 7}}, "/template/name"),
    ({"template": {"name": "Invoice"}}, "/template/name"),
    ({"template": {"name": "invoice_due\n"}}, "/template/name"),
    ({"template": {"name": "a" * 101}}, "/template/name"),
    ({"template": {"name": "a", "version": 0}}, "/template/version"),
    ({"template": {"name": "a", "version": -1}}, "/template/version"),
    ({"template": {"name": "a", "version": 2**31}}, "/template/version"),
    ({"template": {"name": "a", "version": 1.0}}, "/template/version"),
    ({"template": {"name": "a", "version": 1.5}}, "/template/version"),
    ({"template": {"name": "a", "version": "1"}}, "/template/version"),
    ({"template": {"name": "a", "version": True}}, "/template/version"),
    ({"template": {"name": "a", "locale": "vi"}}, "/template/locale"),
    ({"variables": None}, "/variables"),
    ({"variables": []}, "/variables"),
    ({"variables": "amount"}, "/variables"),
    ({"channels": ...}, "/channels"),
    ({"channels": None}, "/channels"),
    ({"channels": []}, "/channels"),
    ({"channels": "email"}, "/channels"),
    ({"channels": {"email": True}}, "/channels"),
    ({"channels": ["email"] * 100}, "/channels"),
    ({"channels": ["email", "email"]}, "/channels/1"),
    ({"channels": ["email", "fax"]}, "/channels/1"),
    ({"channels": ["Email"]}, "/channels/0"),
    ({"channels": [""]}, "/channels/0"),
    ({"channels": [1]}, "/channels/0"),
    ({"channels": [None]}, "/channels/0"),
    ({"channels": [["email"]]}, "/channels/0"),
    ({"send_at": "2026-08-19T04:00:00"}, "/send_at"),
    ({"send_at": "2026-08-19"}, "/send_at"),
    ({"send_at": "2026-08-19T04:00Z"}, "/send_at"),
    ({"send_at": "2026-02-30T04:00:00Z"}, "/send_at"),
    ({"send_at": "2026-08-19T23:59:60Z"}, "/send_at"),
    ({"send_at": "2026-08-19T24:00:00Z"}, "/send_at"),
    ({"send_at": "2026-08-19T04:00:00+24:00"}, "/send_at"),
    ({"send_at": "10000-01-01T00:00:00Z"}, "/send_at"),
    ({"send_at": "tomorrow"}, "/send_at"),
    ({"send_at": ""}, "/send_at"),
    ({"send_at": 1787112000000}, "/send_at"),
    ({"send_at": True}, "/send_at"),
    ({"expires_at": "2026-08-19T04:00:00"}, "/expires_at"),
    ({"expires_at": 1787112000}, "/expires_at"),
    ({"expires_at": {}}, "/expires_at"),
    ({"dedupe_window_seconds": 59}, "/dedupe_window_seconds"),
    ({"dedupe_window_seconds": 30 * 24 * 3600 + 1}, "/dedupe_window_seconds"),
    ({"dedupe_window_seconds": 3600.0}, "/dedupe_window_seconds"),
    ({"dedupe_window_seconds": "3600"}, "/dedupe_window_seconds"),
    ({"dedupe_window_seconds": 2**63 - 1}, "/dedupe_window_seconds"),
    ({"dedupe_window_seconds": True}, "/dedupe_window_seconds"),
    ({"priority": "HIGH "}, "/priority"),
    ({"priority": "HIGH"}, "/priority"),
    ({"priority": -1}, "/priority"),
    ({"priority": 0}, "/priority"),
    ({"priority": ""}, "/priority"),
    ({"reference": 928}, "/reference"),
    ({"reference": "x" * 201}, "/reference"),
    ({"metadata": None}, "/metadata"),
    ({"metadata": []}, "/metadata"),
    ({"metadata": {"a": 1}}, "/metadata"),
    ({"metadata": {"a": None}}, "/metadata"),
    ({"metadata": {"a": {"b": "c"}}}, "/metadata"),
    ({"metadata": {"a": "x" * 501}}, "/metadata"),
    ({"metadata": {"": "x"}}, "/metadata"),
    ({"metadata": {"a" * 41: "x"}}, "/metadata"),
    ({"metadata": {str(number): "x" for number in range(21)}}, "/metadata"),
    ({"idempotency_key": 928}, "/idempotency_key"),
    ({"idempotency_key": []}, "/idempotency_key"),
    ({"tenant_id": 2}, "/tenant_id"),
    ({"status": "sent"}, "/status"),
    ({"__proto__": {"is_admin": True}}, "/__proto__"),
    ({"a/b~c": 1}, "/a~1b~0c"),
    ({"x`y": 1}, "/x`y"),
    ({"\n` ": 1}, "/\n` "),
]


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the valid body with the changes; `...` leaves a member out."""
    body = {**VALID, **changes}
    return {name: value for name, value in body.items() if value is not ...}


def struct(body: object) -> NotificationBody | None:
    try:
        return decode_body(body)
    except InvalidSubmission:
        return None


def refused_pointers(body: object) -> list[str]:
    with pytest.raises(InvalidSubmission) as refused:
        decode_body(body)
    return [error.pointer for error in refused.value.errors]


@pytest.mark.parametrize("changes", ACCEPTED, ids=lambda value: json.dumps(value)[:60])
def test_both_accept_and_understand_the_same(changes):
    body = changed(changes)
    serializer = NotificationSerializer(data=body)

    assert serializer.is_valid(), serializer.errors
    assert _as_told(struct(body), body) == serializer.validated_data


@pytest.mark.parametrize(("changes", "pointer"), REFUSED, ids=str)
def test_both_refuse_and_name_the_field(changes, pointer):
    """Bad input 13 to 15, 18"""
    body = changed(changes)
    serializer = NotificationSerializer(data=body)

    assert refused_pointers(body) == [pointer]
    assert not serializer.is_valid()
    assert list(serializer.errors) == list(changes)


@pytest.mark.parametrize("body", [[], [VALID], "x", 5, True, None, {}], ids=repr)
def test_both_refuse_what_is_no_submission_at_all(body):
    assert struct(body) is None
    assert not NotificationSerializer(data=body).is_valid()


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
scalar = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(-1e15, 1e15),
    text,
)
anything = st.recursive(
    scalar,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
    ),
    max_leaves=5,
)
moment = st.builds(
    "{}-{:02}-{:02}{}{:02}:{:02}:{:02}{}".format,
    st.integers(1990, 2100) | st.just(10000),
    *[st.integers(0, 13), st.integers(0, 32)],
    st.sampled_from("Tt _"),
    *[st.integers(0, 24), st.integers(0, 60), st.integers(0, 61)],
    st.sampled_from(["Z", "z", "", "+07:00", "-0700", "+24:00", ".5Z", ",5Z"]),
)
# What each member may be: near its bounds on either side, or anything at all.
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "idempotency_key": text,
    "recipient": st.dictionaries(
        st.sampled_from(["user_id", "email", "phone", "locale", "name"]),
        scalar | st.text("aZ9._:@-\n", max_size=4) | st.text("x", min_size=399),
    ),
    "template": st.dictionaries(
        st.sampled_from(["name", "version", "Version"]),
        scalar | st.text("a9_.-Z\n", max_size=4) | st.integers(-1, 3),
    ),
    "variables": st.dictionaries(text, anything, max_size=3),
    "channels": st.lists(
        st.sampled_from(["email", "sms", "push", "in_app", "fax"]), max_size=6
    ),
    "send_at": moment,
    "expires_at": moment,
    "dedupe_window_seconds": st.integers(58, 62) | st.integers(2591998, 2592002),
    "priority": st.sampled_from(["high", "normal", "low", "HIGH", "low "]),
    "reference": st.text("é", min_size=198, max_size=202),
    "metadata": st.dictionaries(
        st.text("k", max_size=42),
        st.text("v", min_size=498, max_size=502) | text,
        max_size=22,
    ),
}
# Few at once, or nearly every body would be refused for more than one reason.
mutation = st.one_of(
    *(
        st.tuples(st.just(name), known | known | anything)
        for name, known in MEMBERS.items()
    )
)
mutations = st.lists(mutation, max_size=3).map(dict)
surplus: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}), st.dictionaries(text, scalar, max_size=1)
)


@settings(deadline=None)  # the machine may be busy
@given(mutations, surplus, st.none() | st.sampled_from(sorted(VALID)))
def test_both_agree_about_every_body(members, unknown, gap):
    body = {**VALID, **unknown, **members}
    # As it comes in: what the strict parser refuses reaches neither.
    body = decode(json.dumps({k: v for k, v in body.items() if k != gap}).encode())
    serializer = NotificationSerializer(data=body)
    known = struct(body)
    event("accepted" if known else "refused")

    assert serializer.is_valid() == (known is not None), (body, serializer.errors)
    if known is not None:
        assert _as_told(known, body) == serializer.validated_data


def _as_told(known: NotificationBody | None, body: dict[str, Any]) -> dict[str, Any]:
    """Return the members that were given, as the struct holds them."""
    assert known is not None
    told = {name: getattr(known, name) for name in body}
    for part in ("recipient", "template"):
        told[part] = {name: getattr(told[part], name) for name in body[part]}
    return told
