"""Every route of the API, asked by everybody who may not (I11)."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from foundation.ids import new_id, public_id
from tenants.api_keys import revoke_key
from tenants.models import ApiKey, Tenant
from tenants.scopes import Audience, Scope
from tenants.user_tokens import issue_user_token
from tests.acme import Api, query, submission
from tests.factories.tenants import TenantFactory, api_key, authorization
from tests.structure.routes import api_routes

USER = "usr_an"
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("post", "/v1/users/{user_id}/tokens"): {"audience": "inbox"},
    ("put", "/v1/users/{user_id}"): {"email": "mallory@example.com", "locale": "fr"},
    ("post", "/v1/users"): {"users": [{"user_id": "usr_of_a_list"}]},
    ("post", "/v1/users/{user_id}/devices"): {
        "platform": "fcm",
        "token": "sample-device-of-usr_an",
    },
    ("put", "/v1/users/{user_id}/notification-preferences"): {"opt_outs": ["email"]},
    ("post", "/v1/notifications"): submission(),
    ("post", "/v1/notifications/cancel"): {"reference": "canary-reference"},
    ("post", "/v1/users/{user_id}/explain"): {"category": "otp", "channels": ["sms"]},
    ("post", "/v1/users/{user_id}/consents"): {
        "category": "marketing",
        "channel": "email",
        "change": "given",
    },
    ("post", "/v1/suppressions"): {
        "channel": "email",
        "address": "mallory@example.com",
        "reason": "complaint",
    },
}
CALLS: list[tuple[str, Any]] = [
    (method, route) for route in api_routes() for method in sorted(route.methods)
]


@dataclass(frozen=True)
class Home:
    """A tenant with something behind every path."""

    tenant: Tenant
    ids: Mapping[str, str]


@pytest.fixture
def home(api, acme, consume) -> Home:
    notification_id = api.accept(
        channels=["in_app", "email"], reference="canary-reference"
    )
    consume()
    (message,) = api.get(f"/v1/users/{USER}/inbox").json()["items"]
    (device,) = api.get(f"/v1/users/{USER}/devices").json()["items"]
    suppression = api.post(
        "/v1/suppressions",
        {"channel": "sms", "address": "+84912345678", "reason": "stop"},
    ).json()
    return Home(
        acme,
        {
            "suppression_id": suppression["id"],
            "user_id": USER,
            "notification_id": notification_id,
            "message_id": message["id"],
            "device_id": device["id"],
            "name": "invoice_due",
        },
    )


def nobodys_ids() -> dict[str, str]:
    return {
        "user_id": "usr_nobody",
        "suppression_id": public_id("sup", new_id()),
        "notification_id": public_id("ntf", new_id()),
        "message_id": public_id("msg", new_id()),
        "device_id": public_id("dev", new_id()),
        "name": "nobodys_template",
    }


def call(method: str, path: str, ids: Mapping[str, str], credential: str | None) -> Any:
    headers = authorization(credential) if credential else {}
    body = BODIES.get((method, path), {})
    options: dict[str, Any] = {"headers": headers | {"If-Match": "*"}}
    if method != "get":
        options |= {"data": body, "content_type": "application/json"}
    # From an address of its own: failed attempts are counted by it.
    number = sum(f"{method} {path}".encode()) % 250
    client = Client(
        raise_request_exception=False, REMOTE_ADDR=f"198.51.100.{number + 1}"
    )
    return getattr(client, method)(path.format_map(ids), **options)


def scope_of(method: str, route: Any) -> Scope:
    declared = route.view.required_scope
    scope: Scope = declared[method.upper()] if isinstance(declared, dict) else declared
    return scope


def check_refusal(answer: Any, status: int, slug: str) -> None:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["type"] == f"/problems/{slug}"
    assert ("WWW-Authenticate" in answer) == (status == 401)


def rows_of(tenant: Tenant) -> dict[str, str]:
    """Return a fingerprint of everything that belongs to a tenant."""
    tables = query(
        "SELECT table_name AS name FROM information_schema.columns"
        " JOIN information_schema.tables USING (table_schema, table_name)"
        " WHERE column_name = 'tenant_id' AND table_schema = 'public'"
        " AND table_name !~ '_p[0-9]{4}_[0-9]{2}$|_key_[0-9]$'"
    )
    prints = {
        row["name"]: query(
            "SELECT md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) AS sum"
            f" FROM {row['name']} t WHERE tenant_id = %s",
            tenant.pk,
        )[0]["sum"]
        for row in tables
    }
    for table in ("address", "device"):
        prints[table] = query(
            "SELECT md5(string_agg(t::text, '' ORDER BY t::text)) AS sum"
            f" FROM {table} t JOIN recipient r ON r.id = t.recipient_id"
            " WHERE r.tenant_id = %s",
            tenant.pk,
        )[0]["sum"]
    return prints


def plain(answer: Any, ids: Mapping[str, str]) -> str:
    """Return an answer without what differs from call to call."""
    text = answer.content.decode()
    for name, value in ids.items():
        text = text.replace(value, name)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "moment", text)
    text = re.sub(r"(ntf|dlv|dev|msg|sup)_[0-9A-Z]{26}", r"\1", text)
    text = re.sub(r'"token":"[^"]+"', '"token"', text)
    text = re.sub(r'"outcome":"(created|unchanged)"', '"outcome"', text)
    text = re.sub(r"/preferences/[\w-]+", "/preferences/token", text)
    return re.sub(r'"request_id":"\w+"', '"request_id"', text)


def test_without_a_valid_credential_nobody_gets_anywhere(home, subtests):
    """OWASP API2"""
    before = rows_of(home.tenant)
    for method, route in CALLS:
        for credential in (None, "nk_live_" + "x" * 49, "a.b.c"):
            with subtests.test(msg=f"{method} {route.path} {credential}"):
                answer = call(method, route.path, home.ids, credential)

                check_refusal(answer, 401, "unauthenticated")
    assert rows_of(home.tenant) == before


def test_a_key_without_the_scope_gets_403(home, subtests):
    """OWASP API5"""
    keys = {
        scope: api_key(
            home.tenant,
            service=f"no-{scope.name.lower()}",
            scopes=[s for s in Scope if s != scope],
        )
        for scope in {scope_of(method, route) for method, route in CALLS}
    }
    before = rows_of(home.tenant)
    for method, route in CALLS:
        with subtests.test(msg=f"{method} {route.path}"):
            scope = scope_of(method, route)
            answer = call(method, route.path, home.ids, keys[scope])

            check_refusal(answer, 403, "forbidden")
    assert rows_of(home.tenant) == before


def test_ids_of_another_tenant_are_answered_like_those_of_nobody(home, subtests):
    """OWASP API1, bad input 16, 21"""
    stranger = api_key(TenantFactory.create())
    before = rows_of(home.tenant)
    for method, route in CALLS:
        with subtests.test(msg=f"{method} {route.path}"):
            nobodys = nobodys_ids()
            theirs = call(method, route.path, home.ids, stranger)
            none = call(method, route.path, nobodys, stranger)

            assert plain(theirs, home.ids) == plain(none, nobodys)
            assert theirs.status_code == none.status_code
            if "_id}" in route.path.replace("{user_id}", ""):
                check_refusal(theirs, 404, "not-found")
            assert "canary" not in theirs.content.decode()
            assert rows_of(home.tenant) == before


def test_a_users_token_is_good_for_that_user_of_that_tenant(home, subtests):
    """OWASP API1: their own paths alone, and of those only their audience's."""
    other = TenantFactory.create()
    before = rows_of(home.tenant)

    def token(tenant: Tenant, user_id: str, audience: Audience) -> str:
        return issue_user_token(tenant_id=tenant.pk, user_id=user_id, audience=audience)

    for method, route in CALLS:
        takes_tokens = len(route.view.authentication_classes) > 1
        for audience in Audience:
            with subtests.test(msg=f"{method} {route.path} {audience}"):
                theirs = token(other, USER, audience)
                neighbours = token(home.tenant, "usr_bao", audience)
                for credential in (theirs, neighbours):
                    answer = call(method, route.path, home.ids, credential)
                    assert answer.status_code in {200, 401, 404, 412}, answer.content
                    assert takes_tokens or answer.status_code == 401
                    assert "canary" not in answer.content.decode()
                assert answer.status_code in {401, 404}
                assert rows_of(home.tenant) == before


def test_a_suspended_tenant_and_a_revoked_key_are_refused_within_five_seconds(
    home, subtests
):
    """Bad input 35"""
    other = TenantFactory.create()
    others = api_key(other)
    revoked = api_key(home.tenant, service="revoked")
    for credential in (others, revoked):
        assert Api(Client(), authorization(credential)).get("/v1/notifications")
    Tenant.objects.filter(pk=other.pk).update(status=Tenant.Status.SUSPENDED)
    revoke_key(key=ApiKey.objects.get(tenant=home.tenant, service="revoked"))
    deadline = time.monotonic() + 5

    while time.monotonic() < deadline:
        codes = [
            call("get", "/v1/notifications", {}, credential).status_code
            for credential in (others, revoked)
        ]
        if codes == [403, 401]:
            break
        time.sleep(0.1)

    for method, route in CALLS:
        with subtests.test(msg=f"{method} {route.path}"):
            check_refusal(
                call(method, route.path, home.ids, others), 403, "tenant-suspended"
            )
            check_refusal(
                call(method, route.path, home.ids, revoked), 401, "unauthenticated"
            )
