"""Members of staff see the tenants they are members of, and nothing of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.admin import site

from audit.models import AuditEvent
from foundation.ids import public_id
from notifications.models import DeadLetter, Delivery, Notification
from notifications.statuses import DeliveryStatus
from preferences.address_keys import address_key
from preferences.consent import person_key_of
from preferences.held import Held, Reason
from preferences.models import ConsentEvent, Suppression
from preferences.suppression import Entry, add_suppression
from providers.channels import Channel
from providers.models import SandboxMessage
from templates.models import Template, TemplateContent, TemplateVersion
from tenants.api_keys import issue_key
from tenants.models import ApiKey, PumpingAlarm, StaffMembership, Tenant
from tests.factories.notifications import Row, insert
from tests.factories.providers import ProviderRouteFactory, recorded
from tests.factories.staff import (
    Console,
    Role,
    StaffFactory,
    console_of,
    superuser_console,
)
from tests.factories.templates import DraftFactory, LayoutFactory, TemplateFactory
from tests.factories.tenants import TenantCategoryFactory, TenantFactory

pytestmark = pytest.mark.usefixtures("db")


@dataclass(frozen=True)
class Rows:
    """A tenant with one row of everything that the console shows."""

    tenant: Tenant
    pks: dict[str, Any]


def rows_of(slug: str) -> Rows:
    tenant = TenantFactory.create(slug=slug)
    fence = insert(Row(status=DeliveryStatus.DEAD, tenant_id=tenant.pk, reason="x"))
    delivery = Delivery.objects.get(pk=fence.delivery_id)
    draft = DraftFactory.create(template=TemplateFactory(tenant=tenant))
    key, _ = issue_key(
        tenant=tenant, service="billing", is_test=False, scopes=["inbox:read"]
    )
    message = recorded(
        tenant.pk,
        channel=Channel.EMAIL,
        content={"address": "r2@example.org", "parts": {"text": "Hello."}},
        notification_id=delivery.notification_id,
        delivery_id=delivery.pk,
    )
    event = AuditEvent.objects.create(
        tenant_id=tenant.pk, kind="tenant.created", actor="staff:root"
    )
    member = StaffMembership.objects.create(
        user=StaffFactory.create(), tenant=tenant, role=Role.VIEWER
    )
    route = ProviderRouteFactory.create(tenant=tenant, provider="sandbox")
    alarm = PumpingAlarm.objects.create(tenant=tenant, country="VN", prefix="8490123")
    category = TenantCategoryFactory.create(tenant=tenant)
    return Rows(
        tenant,
        {
            "tenants/tenant": tenant.pk,
            "tenants/apikey": key.pk,
            "tenants/staffmembership": member.pk,
            "tenants/pumpingalarm": alarm.pk,
            "tenants/tenantcategory": category.pk,
            **said_of_people(tenant),
            "audit/auditevent": event.pk,
            "providers/providerroute": route.pk,
            "providers/sandboxmessage": message.pk,
            "templates/template": draft.template_id,
            "templates/templateversion": draft.pk,
            "templates/templatecontent": draft.contents.order_by("pk")[0].pk,
            "templates/layout": LayoutFactory.create(tenant=tenant).pk,
            "notifications/notification": delivery.notification_id,
            "notifications/delivery": delivery.pk,
            "notifications/deadletter": delivery.pk,
        },
    )


def said_of_people(tenant: Tenant) -> dict[str, Any]:
    entry = add_suppression(
        Entry(
            tenant_id=tenant.pk,
            channel=Channel.EMAIL,
            key=address_key(
                tenant_id=tenant.pk, channel=Channel.EMAIL, value="an@example.com"
            ),
            held=Held(reason=Reason.COMPLAINT),
            actor="staff:root",
        )
    )
    consent = ConsentEvent.objects.create(
        tenant_id=tenant.pk,
        person_key=person_key_of(tenant.pk, "usr_an"),
        category="marketing",
        change="given",
        source="api",
    )
    return {
        "preferences/suppression": entry.pk,
        "preferences/consentevent": consent.pk,
    }


PAGES = [
    "tenants/tenant",
    "tenants/apikey",
    "tenants/staffmembership",
    "tenants/pumpingalarm",
    "tenants/tenantcategory",
    "preferences/suppression",
    "preferences/consentevent",
    "audit/auditevent",
    "providers/providerroute",
    "providers/sandboxmessage",
    "templates/template",
    "templates/templateversion",
    "templates/templatecontent",
    "templates/layout",
    "notifications/notification",
    "notifications/delivery",
    "notifications/deadletter",
]
ALL_ROLES = tuple(Role.values)
READ_ONLY = [
    Notification,
    Delivery,
    DeadLetter,
    SandboxMessage,
    AuditEvent,
    PumpingAlarm,
    ConsentEvent,
]


def test_every_page_with_a_tenants_rows_is_in_this_matrix():
    """OWASP API1: the matrix is generated from what is registered."""
    registered = {
        f"{model._meta.app_label}/{model._meta.model_name}"
        for model in site._registry
        if model._meta.app_label != "auth"
    }

    # Of no tenant, and for superusers alone.
    of_nobody = {"notifications/rejectedrecord", "providers/accountfault"}
    assert registered - of_nobody == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_list_shows_own_rows_only(page):
    ours, theirs = rows_of("acme"), rows_of("globex")
    console = console_of(ours.tenant, *ALL_ROLES)

    listed = {row.pk for row in listed_on(console, page)}

    assert ours.pks[page] in listed
    assert theirs.pks[page] not in listed


@pytest.mark.parametrize("page", PAGES)
def test_another_tenants_row_is_a_404_by_url(page):
    ours, theirs = rows_of("acme"), rows_of("globex")
    console = console_of(ours.tenant, *ALL_ROLES)
    row = f"{page}/{theirs.pks[page]}"

    codes = {
        console.get(f"{row}/{view}/").status_code
        for view in ("change", "delete", "history")
    }

    assert codes == {404}


@pytest.mark.parametrize("page", PAGES)
def test_own_row_has_a_page(page):
    ours = rows_of("acme")

    answer = console_of(ours.tenant, Role.VIEWER).get(
        f"{page}/{ours.pks[page]}/change/"
    )

    assert answer.status_code == 200


@pytest.mark.parametrize("page", PAGES)
def test_superuser_sees_every_tenants_rows(page):
    ours, theirs = rows_of("acme"), rows_of("globex")

    listed = {row.pk for row in listed_on(superuser_console(), page)}

    assert {ours.pks[page], theirs.pks[page]} <= listed


@pytest.mark.parametrize("page", PAGES)
def test_staff_without_a_tenant_may_see_nothing(page):
    rows_of("acme")

    answer = Console(StaffFactory.create()).get(f"{page}/")

    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("page", "prefix"),
    [
        ("notifications/notification", "ntf"),
        ("notifications/delivery", "dlv"),
        ("notifications/deadletter", "dlv"),
        ("providers/sandboxmessage", "sbx"),
    ],
)
def test_search_finds_own_ids_and_never_anothers(page, prefix):
    ours, theirs = rows_of("acme"), rows_of("globex")
    console = console_of(ours.tenant, Role.VIEWER)

    own = listed_on(console, page, q=public_id(prefix, ours.pks[page]))
    other = listed_on(console, page, q=public_id(prefix, theirs.pks[page]))

    assert [row.pk for row in own] == [ours.pks[page]]
    assert other == []


@pytest.mark.parametrize(
    "page", ["notifications/delivery", "notifications/deadletter", "audit/auditevent"]
)
def test_search_by_a_notifications_id_never_finds_anothers(page):
    ours, theirs = rows_of("acme"), rows_of("globex")
    console = console_of(ours.tenant, Role.VIEWER)
    own_id = public_id("ntf", ours.pks["notifications/notification"])
    other_id = public_id("ntf", theirs.pks["notifications/notification"])

    assert listed_on(console, page, q=own_id) != []
    assert listed_on(console, page, q=other_id) == []


@pytest.mark.parametrize("page", PAGES)
def test_choosing_another_tenant_in_the_url_shows_nothing_of_it(page):
    ours, theirs = rows_of("acme"), rows_of("globex")
    console = console_of(ours.tenant, *ALL_ROLES)

    answer = console.get(f"{page}/", tenant=str(theirs.tenant.pk))

    shown = answer.context["cl"].result_list if answer.status_code == 200 else []
    assert theirs.pks[page] not in {row.pk for row in shown}


@pytest.mark.parametrize(
    ("page", "action"),
    [
        ("notifications/deadletter", "replay"),
        ("notifications/deadletter", "replay_even_if_maybe_sent"),
        ("tenants/apikey", "revoke"),
        ("preferences/suppression", "lift"),
        ("templates/template", "new_version"),
        ("templates/templateversion", "approve"),
        ("templates/templateversion", "submit"),
        ("templates/templateversion", "new_version"),
    ],
)
def test_actions_leave_another_tenants_rows_alone(page, action):
    ours, theirs = rows_of("acme"), rows_of("globex")
    console = console_of(ours.tenant, *ALL_ROLES)
    pk = theirs.pks[page]

    console.act(f"{page}/", action, pk, confirmed="yes")

    assert DeadLetter.objects.filter(tenant_id=theirs.tenant.pk).exists()
    assert not ApiKey.objects.filter(
        tenant=theirs.tenant, revoked_at__isnull=False
    ).exists()
    assert not Suppression.objects.filter(
        tenant=theirs.tenant, lifted_at__isnull=False
    ).exists()
    versions = TemplateVersion.objects.filter(template__tenant=theirs.tenant)
    assert [version.status for version in versions] == ["draft"]


@pytest.mark.parametrize(
    "page", ["tenants/apikey", "templates/template", "preferences/suppression"]
)
def test_forms_offer_only_tenants_that_one_may_act_for(page):
    ours, theirs = rows_of("acme"), rows_of("globex")
    console = console_of(ours.tenant, *ALL_ROLES)
    StaffMembership.objects.create(
        user=console.user, tenant=theirs.tenant, role=Role.VIEWER
    )

    form = console.get(f"{page}/add/").context["adminform"].form

    assert list(form.fields["tenant"].queryset) == [ours.tenant]


def test_a_posted_foreign_tenant_is_refused():
    ours, theirs = rows_of("acme"), rows_of("globex")
    console = console_of(ours.tenant, *ALL_ROLES)

    console.post(
        "templates/template/add/",
        tenant=theirs.tenant.pk,
        name="stolen",
        category="otp",
    )

    assert not Template.objects.filter(name="stolen").exists()


def test_a_posted_foreign_draft_gets_no_content():
    ours, theirs = rows_of("acme"), rows_of("globex")
    console = console_of(ours.tenant, *ALL_ROLES)
    version = theirs.pks["templates/templateversion"]

    console.post(
        "templates/templatecontent/add/", version=version, channel=1, locale="vi"
    )

    assert not TemplateContent.objects.filter(locale="vi").exists()


@pytest.mark.parametrize("model", READ_ONLY)
@pytest.mark.parametrize("who", ["superuser", "member"])
def test_nobody_may_add_change_or_delete_what_happened(model, who):
    """OWASP API5 and the checklist for the admin: superusers too."""
    ours = rows_of("acme")
    consoles: dict[str, Callable[[], Console]] = {
        "superuser": superuser_console,
        "member": lambda: console_of(ours.tenant, *ALL_ROLES),
    }
    console = consoles[who]()
    page = f"{model._meta.app_label}/{model._meta.model_name}"
    row = f"{page}/{ours.pks[page]}"
    before = list(model.objects.order_by("pk").values())

    codes = {
        console.get(f"{page}/add/").status_code,
        console.post(f"{page}/add/").status_code,
        console.post(f"{row}/change/", reason="forged").status_code,
        console.get(f"{row}/delete/").status_code,
        console.post(f"{row}/delete/", post="yes").status_code,
    }
    console.act(f"{page}/", "delete_selected", ours.pks[page], post="yes")

    assert codes == {403}
    assert list(model.objects.order_by("pk").values()) == before


# Pages that show nothing until they are asked for something.
ASKED_FOR = {"preferences/consentevent": {"q": "usr_an"}}


def listed_on(console: Console, page: str, **query: str) -> list[Any]:
    answer = console.get(f"{page}/", **(query or ASKED_FOR.get(page, {})))
    assert answer.status_code == 200
    return list(answer.context["cl"].result_list)
