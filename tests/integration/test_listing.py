"""GET /v1/notifications: pages, filters, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from tests.acme import Api
from tests.factories.tenants import TenantFactory, api_key, authorization

LIST = "/v1/notifications"


@pytest.fixture
def plain_api(api) -> Api:
    """As a client sees it: a bug is an answer, too."""
    return Api(Client(raise_request_exception=False), api.headers)


def accept_many(api: Api, name: str, count: int, **changes: Any) -> list[str]:
    """Accept some, the newest first."""
    accepted = [
        api.accept(idempotency_key=f"{name}:{number}", **changes)
        for number in range(count)
    ]
    return accepted[::-1]


def listed(api: Api, **query: Any) -> list[str]:
    answer = api.get(LIST, **query)
    assert answer.status_code == 200, answer.content
    return [item["notification_id"] for item in answer.json()["items"]]


def pointers(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    return [error["pointer"] for error in answer.json()["errors"]]


def test_pages_have_no_gap_and_no_repetition_while_new_ones_arrive(api):
    accepted = accept_many(api, "old", 11)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    for number in range(9):
        page = api.get(LIST, limit=3, **cursor).json()
        seen += [item["notification_id"] for item in page["items"]]
        accept_many(api, f"new:{number}", 2)
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert seen == accepted


def test_the_last_page_says_that_it_is_the_last(api):
    accept_many(api, "a", 4)

    assert api.get(LIST, limit=4).json()["next_cursor"] is None
    assert api.get(LIST, limit=3).json()["next_cursor"]
    assert api.get(LIST).json()["next_cursor"] is None


def test_an_empty_list_is_a_page_too(api):
    assert api.get(LIST).json() == {"items": [], "next_cursor": None}


def test_an_item_says_what_the_notification_itself_says(api):
    (notification_id,) = accept_many(api, "a", 1, channels=["email", "sms"])
    detail = api.standing(notification_id)

    (item,) = api.get(LIST).json()["items"]

    assert item == {
        name: value
        for name, value in detail.items()
        if name not in {"template", "metadata", "decisions"}
    }


def test_filters_by_person_reference_and_channel(api):
    hers = accept_many(
        api, "a", 2, recipient={"user_id": "usr_bao"}, reference=" inv 7 "
    )
    other = accept_many(api, "b", 2, channels=["sms"], reference="inv 7")

    assert listed(api, user_id="usr_bao") == hers
    assert listed(api, reference=" inv 7 ") == hers
    assert listed(api, reference="inv 7") == other
    assert listed(api, reference="inv") == []
    assert listed(api, user_id="usr_an", channel="sms") == other
    assert listed(api, user_id="usr_an", channel="email") == []
    assert listed(api, user_id="usr_bao", reference="inv 7") == []
    assert listed(api, user_id="usr_an", limit=1) == other[:1]


def test_filters_by_time_from_and_excluding_to(api):
    accepted = accept_many(api, "a", 2)
    now = datetime.now(UTC)
    hour = timedelta(hours=1)

    def within(start: datetime, end: datetime) -> list[str]:
        return listed(api, created_from=start.isoformat(), created_to=end.isoformat())

    assert within(now - hour, now + hour) == accepted
    assert within(now + hour, now + 2 * hour) == []
    assert within(now - hour, now - hour) == []
    assert within(now + hour, now - hour) == []
    assert listed(api, created_from="2021-01-01T07:00:00+07:00") == accepted
    assert listed(api, created_to="2021-01-01T07:00:00+07:00") == []


def test_a_filtered_list_is_paged_like_any_other(api):
    waiting = accept_many(api, "a", 3)
    for notification_id in accept_many(api, "b", 3):
        api.cancel(notification_id)

    page = api.get(LIST, user_id="usr_an", status="accepted", limit=2).json()
    ids = [item["notification_id"] for item in page["items"]]
    rest = listed(
        api, user_id="usr_an", status="accepted", limit=2, cursor=page["next_cursor"]
    )

    assert ids + rest == waiting


def test_status_and_channel_need_a_bound(api):
    now = datetime.now(UTC)
    day = {
        "created_from": (now - timedelta(hours=23)).isoformat(),
        "created_to": (now + timedelta(hours=1)).isoformat(),
    }
    for narrow in ({"status": "failed"}, {"channel": "sms"}):
        assert listed(api, **narrow, user_id="usr_an") == []
        assert listed(api, **narrow, reference="inv 7") == []
        assert listed(api, **narrow, **day) == []
        longer = {**day, "created_to": (now + timedelta(hours=2)).isoformat()}
        for bound in ({}, {"created_from": day["created_from"]}, longer):
            answer = api.get(LIST, **narrow, **bound)
            assert answer.status_code == 422
            assert answer.json()["type"] == "/problems/unbounded-filter"


WRONG = [
    *(("limit", value) for value in ("0", "-1", "201", "1000000000", "abc", "", "1.5")),
    ("limit", "9" * 5000),
    ("status", "pending"),
    ("status", ""),
    ("channel", "fax"),
    ("user_id", "usr an"),
    ("user_id", "usr_an\n"),
    ("user_id", " usr_an"),
    ("user_id", "u" * 129),
    ("user_id", "\0"),
    ("reference", ""),
    ("reference", "x" * 201),
    ("reference", "a\0b"),
    ("created_from", "2026-08-19T04:00:00"),
    ("created_from", "2026-08-19T04:00:00 07:00"),
    ("created_to", "yesterday"),
    ("created_to", "1787112000000"),
    ("tenant_id", "2"),
    ("offset", "10"),
    ("a/b", "1"),
]


def test_a_wrong_parameter_is_named(plain_api, subtests):
    """Bad input 13, 14, 29"""
    for name, value in WRONG:
        with subtests.test(msg=f"{name}={value!r}"[:60]):
            answer = plain_api.get(LIST, **{name: value})

            assert set(pointers(answer)) == {f"/{name.replace('/', '~1')}"}


def test_a_window_may_begin_before_there_were_ids(plain_api):
    accepted = accept_many(plain_api, "a", 1)

    for moment in ("0001-01-01T00:00:00+23:59", "1969-12-31T23:59:59Z"):
        assert listed(plain_api, created_from=moment) == accepted
        assert listed(plain_api, created_to=moment) == []


def test_a_window_may_end_with_the_calendar(plain_api):
    accepted = accept_many(plain_api, "a", 1)
    end = "9999-12-31T23:59:59-23:59"

    assert listed(plain_api, created_to=end) == accepted
    assert listed(plain_api, created_from=end) == []


def test_a_cursor_is_good_for_its_own_tenant_and_whole(plain_api):
    """Bad input 28"""
    accept_many(plain_api, "a", 2)
    cursor = plain_api.get(LIST, limit=1).json()["next_cursor"]
    other = Api(plain_api.client, authorization(api_key(TenantFactory.create())))

    assert len(listed(plain_api, cursor=cursor)) == 1
    damaged = (cursor[:-1], cursor[1:], "B" + cursor[1:], cursor + "A", "x", "é")
    refused = [plain_api.get(LIST, cursor=text) for text in damaged]
    for answer in [other.get(LIST, cursor=cursor), *refused]:
        assert answer.status_code == 400, answer.content
        assert answer.json()["type"] == "/problems/invalid-cursor"


def test_another_tenants_notifications_are_in_no_list(api, acme):
    accept_many(api, "a", 2, reference="inv 7")
    other = Api(Client(), authorization(api_key(TenantFactory.create())))

    assert listed(other) == []
    assert listed(other, user_id="usr_an") == []
    assert listed(other, reference="inv 7", status="accepted") == []
