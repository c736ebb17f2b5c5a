"""API keys in the console: shown once, revoked for good, and both are audited."""

from __future__ import annotations

import re

import pytest

from audit.models import AuditEvent
from tenants.api_keys import InvalidApiKey, issue_key, verify_key
from tenants.models import ApiKey
from tests.factories.staff import Role, console_of, said
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")

ADD = "tenants/apikey/add/"
LIST = "tenants/apikey/"


@pytest.fixture
def tenant():
    return TenantFactory.create()


def form_for(tenant, **changes):
    return {
        "tenant": tenant.pk,
        "service": "billing",
        "environment": "live",
        "scopes": ["notifications:send"],
        **changes,
    }


def issued(tenant, service: str = "billing") -> tuple[ApiKey, str]:
    scopes = ["notifications:send"]
    return issue_key(tenant=tenant, service=service, is_test=False, scopes=scopes)


def test_a_new_key_is_shown_once_and_opens_the_api(tenant):
    console = console_of(tenant, Role.ADMINISTRATOR)

    answer = console.post(ADD, **form_for(tenant))

    (message,) = said(answer)
    text = re.search(r"nk_live_\w{49}", message)
    assert text is not None
    assert verify_key(text[0]).tenant_id == tenant.pk
    assert text[0] not in console.get(LIST).content.decode()


def test_issuing_is_audited_with_who_did_it_and_without_the_key(tenant):
    console = console_of(tenant, Role.ADMINISTRATOR)

    console.post(ADD, **form_for(tenant))

    event, key = AuditEvent.objects.get(kind="api_key.issued"), ApiKey.objects.get()
    assert event.tenant_id == tenant.pk
    assert event.actor == key.created_by == f"staff:{console.user.username}"
    assert event.detail == {
        "key": key.prefix,
        "service": "billing",
        "environment": "live",
    }


def test_a_third_live_key_is_refused_in_the_form(tenant):
    issued(tenant)
    issued(tenant)

    answer = console_of(tenant, Role.ADMINISTRATOR).post(ADD, **form_for(tenant))

    assert "two live keys already" in answer.content.decode()
    assert ApiKey.objects.count() == 2


@pytest.mark.parametrize(
    "changes", [{"scopes": ["root"]}, {"scopes": []}, {"service": "Not a label!"}]
)
def test_a_form_that_is_wrong_issues_nothing(tenant, changes):
    answer = console_of(tenant, Role.ADMINISTRATOR).post(
        ADD, **form_for(tenant, **changes)
    )

    assert answer.status_code == 200
    assert not ApiKey.objects.exists()


def test_revoking_asks_first_and_is_audited(tenant):
    key, text = issued(tenant)
    console = console_of(tenant, Role.OPERATOR)

    asked = console.act(LIST, "revoke", key.pk)

    assert "refused within 5 seconds" in asked.content.decode()
    assert not AuditEvent.objects.filter(kind="api_key.revoked").exists()

    answer = console.act(LIST, "revoke", key.pk, confirmed="yes")

    assert said(answer) == ["Revoked 1, skipped 0."]
    with pytest.raises(InvalidApiKey):
        verify_key(text)
    event = AuditEvent.objects.get(kind="api_key.revoked")
    assert event.actor == f"staff:{console.user.username}"


def test_a_revoked_key_is_skipped(tenant):
    key, _ = issued(tenant)
    console = console_of(tenant, Role.OPERATOR)
    console.act(LIST, "revoke", key.pk, confirmed="yes")

    answer = console.act(LIST, "revoke", key.pk, confirmed="yes")

    assert said(answer) == ["Revoked 0, skipped 1."]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUTHOR, Role.APPROVER])
def test_roles_that_only_look_can_neither_issue_nor_revoke(tenant, role):
    key, text = issued(tenant)
    console = console_of(tenant, role)

    assert console.get(ADD).status_code == 403
    assert console.post(ADD, **form_for(tenant, service="chat")).status_code == 403
    console.act(LIST, "revoke", key.pk, confirmed="yes")

    assert verify_key(text).service == "billing"
    assert ApiKey.objects.count() == 1


def test_nothing_of_an_issued_key_can_be_changed(tenant):
    key, _ = issued(tenant)
    console = console_of(tenant, Role.ADMINISTRATOR)
    page = f"{LIST}{key.pk}/change/"

    answer = console.post(page, **form_for(tenant, service="chat"))

    assert answer.status_code == 403
    shown = console.get(page).content.decode()
    assert ApiKey.objects.get().service == "billing"
    assert bytes(ApiKey.objects.get().digest).hex() not in shown
