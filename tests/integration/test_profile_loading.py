from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from django.db import connection

from foundation.database_clock import database_now
from preferences.models import Address, Device, Recipient
from preferences.profile import Profile
from preferences.profiles import load_profiles
from providers.channels import Channel
from tests.factories.preferences import (
    DeviceFactory,
    NotificationPreferencesFactory,
    RecipientFactory,
)
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")


def test_a_profile_holds_addresses_devices_and_opt_outs() -> None:
    tenant = TenantFactory.create()
    RecipientFactory.create(
        tenant=tenant,
        user_id="usr_1",
        locale="vi",
        time_zone="Asia/Ho_Chi_Minh",
        email="an@example.com",
        phone="+84912345678",
    )
    for token in ("tok-1", "tok-2"):
        DeviceFactory.create(tenant=tenant, user_id="usr_1", token=token)
    NotificationPreferencesFactory.create(
        tenant=tenant, user_id="usr_1", version=3, opt_outs=["sms"]
    )

    profile = load_profiles([(tenant.pk, "usr_1")])[tenant.pk, "usr_1"]

    assert (profile.locale, profile.time_zone) == ("vi", "Asia/Ho_Chi_Minh")
    assert (profile.opt_outs, profile.preference_version) == (frozenset({"sms"}), 3)
    assert {
        channel: [known.value for known in addresses]
        for channel, addresses in profile.addresses.items()
    } == {
        Channel.EMAIL: ["an@example.com"],
        Channel.SMS: ["+84912345678"],
        Channel.PUSH: ["tok-1", "tok-2"],
    }
    email = profile.addresses[Channel.EMAIL][0]
    stored = Address.objects.get(channel=Channel.EMAIL)
    assert (email.id, email.key) == (stored.id, bytes(stored.key))
    assert [known.platform for known in profile.addresses[Channel.PUSH]] == [
        "fcm",
        "fcm",
    ]


def test_a_user_without_a_profile_has_an_empty_one() -> None:
    assert load_profiles([(1, "usr_1")]) == {
        (1, "usr_1"): Profile(tenant_id=1, user_id="usr_1", read_at=database_now())
    }


def test_preferences_count_without_a_profile() -> None:
    tenant = TenantFactory.create()
    NotificationPreferencesFactory.create(
        tenant=tenant, user_id="usr_1", version=1, opt_outs=["email"]
    )

    profile = load_profiles([(tenant.pk, "usr_1")])[tenant.pk, "usr_1"]

    assert profile.opt_outs == {"email"}
    assert profile.locale is None


def test_tenants_with_the_same_user_id_are_told_apart() -> None:
    ours, theirs = TenantFactory.create(), TenantFactory.create()
    RecipientFactory.create(tenant=ours, user_id="usr_1", email="ours@example.com")
    RecipientFactory.create(tenant=theirs, user_id="usr_1", email="theirs@example.com")
    NotificationPreferencesFactory.create(
        tenant=ours, user_id="usr_1", opt_outs=["email"]
    )

    profiles = load_profiles([(ours.pk, "usr_1"), (theirs.pk, "usr_1")])

    ours_found, theirs_found = profiles.values()
    assert ours_found.addresses[Channel.EMAIL][0].value == "ours@example.com"
    assert theirs_found.addresses[Channel.EMAIL][0].value == "theirs@example.com"
    assert ours_found.opt_outs == {"email"}
    assert not theirs_found.opt_outs


def test_a_person_is_where_the_device_was_that_was_seen_last() -> None:
    person = RecipientFactory.create(time_zone="Europe/Berlin")
    for token, zone in [("a", "America/New_York"), ("b", "Asia/Tokyo"), ("c", "")]:
        DeviceFactory.create(
            tenant=person.tenant, user_id=person.user_id, token=token, time_zone=zone
        )
    key = (person.tenant_id, person.user_id)

    assert load_profiles([key])[key].time_zone == "Asia/Tokyo"

    Device.objects.exclude(time_zone="").delete()

    assert load_profiles([key])[key].time_zone == "Europe/Berlin"


def test_addresses_come_in_the_order_of_their_position() -> None:
    person = RecipientFactory.create(phone=None, more_emails=["second@example.com"])
    first, second = person.addresses.order_by("position")
    # The one that was added later is tried first.
    Address.objects.filter(pk=first.pk).update(position=2)
    key = (person.tenant_id, person.user_id)

    known = load_profiles([key])[key].addresses[Channel.EMAIL]

    assert [address.id for address in known] == [second.id, first.id]


def test_500_people_are_loaded_by_one_statement() -> None:
    """Counted on the wire: the cursor is none of those that Django counts."""
    tenant = TenantFactory.create()
    Recipient.objects.bulk_create(
        Recipient(tenant=tenant, user_id=f"usr_{number}", locale="vi")
        for number in range(500)
    )
    pairs = [(tenant.pk, f"usr_{number}") for number in range(500)]
    load_profiles(pairs[:1])

    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        with trace.open("wb") as file:
            connection.connection.pgconn.trace(file.fileno())
            profiles = load_profiles(pairs)
            connection.connection.pgconn.untrace()
        executed = trace.read_text(errors="replace").count("\tExecute\t")

    assert executed == 1
    assert {profile.locale for profile in profiles.values()} == {"vi"}


def test_nobody_asked_for_is_nobody_found() -> None:
    assert load_profiles([]) == {}
