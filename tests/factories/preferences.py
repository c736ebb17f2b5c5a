"""People with addresses and devices, and what they do not want."""

from __future__ import annotations

from typing import Any

from factory.declarations import LazyAttribute, LazyFunction, Sequence, SubFactory
from factory.django import DjangoModelFactory

from preferences.contact import normalise_email, normalise_phone
from preferences.devices import PushToken, register_device
from preferences.models import Device, NotificationPreferences, Recipient
from preferences.recipients import RecipientDetails, TypedAddress
from preferences.saving import save_recipients
from providers.channels import Channel
from tests.factories.tenants import TenantFactory


class RecipientFactory(DjangoModelFactory[Recipient]):
    """A person with an e-mail address and a phone number; None leaves one out."""

    class Meta:
        model = Recipient

    tenant = SubFactory(TenantFactory)
    user_id = Sequence(lambda number: f"usr_{number}")
    locale = ""
    time_zone = ""
    country = ""
    email: Any = LazyAttribute(lambda person: f"{person.user_id}@example.com")
    more_emails: Any = ()
    phone = "+84912345678"

    @classmethod
    def _create(
        cls, model_class: type[Recipient], *args: Any, **fields: Any
    ) -> Recipient:
        addresses = [
            TypedAddress(
                channel=Channel.EMAIL, typed=email, normalised=normalise_email(email)
            )
            for email in filter(None, [fields["email"], *fields["more_emails"]])
        ]
        if phone := fields["phone"]:
            spelling = normalise_phone(phone, region=None)
            addresses.append(
                TypedAddress(channel=Channel.SMS, typed=phone, normalised=spelling)
            )
        details = RecipientDetails(
            locale=fields["locale"],
            time_zone=fields["time_zone"],
            country=fields["country"],
            addresses=addresses,
        )
        tenant_id, user_id = fields["tenant"].pk, fields["user_id"]
        save_recipients(tenant_id=tenant_id, people={user_id: details})
        return Recipient.objects.get(tenant_id=tenant_id, user_id=user_id)


class DeviceFactory(DjangoModelFactory[Device]):
    """A phone of a person, who need not have a profile."""

    class Meta:
        model = Device

    tenant = SubFactory(TenantFactory)
    user_id = Sequence(lambda number: f"usr_{number}")
    platform = Device.Platform.FCM
    token = Sequence(lambda number: f"token-{number}")
    time_zone = ""

    @classmethod
    def _create(cls, model_class: type[Device], *args: Any, **fields: Any) -> Device:
        token = PushToken(
            platform=Device.Platform(fields["platform"]),
            value=fields["token"],
            time_zone=fields["time_zone"],
        )
        device, _ = register_device(
            tenant_id=fields["tenant"].pk,
            user_id=fields["user_id"],
            token=token,
            actor="service:test",
        )
        return device


class NotificationPreferencesFactory(DjangoModelFactory[NotificationPreferences]):
    """A first choice: nothing opted out of unless `opt_outs` says so."""

    class Meta:
        model = NotificationPreferences

    tenant = SubFactory(TenantFactory)
    user_id = Sequence(lambda number: f"usr_{number}")
    version = 1
    opt_outs: Any = LazyFunction(list)
    quiet_hours = None
