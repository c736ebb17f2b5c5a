"""People with addresses and devices, and what they do not want."""

from __future__ import annotations

from typing import Any

from factory.declarations import LazyAttribute, LazyFunction, Sequence, SubFactory
from factory.django import DjangoModelFactory

from preferences.contact import normalise_email, normalise_phone
from preferences.devices import PushToken, register_device
from preferences.models import Device, NotificationPreferences, Recipient
from preferences.recipients import RecipientDetails, TypedAddress, save_recipient
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
    email: Any = LazyAttribute(lambda person: f"{person.user_id}@example.com")
    phone = "+84912345678"

    @classmethod
    def _create(
        cls, model_class: type[Recipient], *args: Any, **fields: Any
    ) -> Recipient:
        addresses = {}
        if email := fields["email"]:
            addresses[Channel.EMAIL] = TypedAddress(
                typed=email, normalised=normalise_email(email)
            )
        if phone := fields["phone"]:
            addresses[Channel.SMS] = TypedAddress(
                typed=phone, normalised=normalise_phone(phone, region=None)
            )
        person = {"tenant_id": fields["tenant"].pk, "user_id": fields["user_id"]}
        details = RecipientDetails(
            locale=fields["locale"],
            time_zone=fields["time_zone"],
            addresses=addresses,
        )
        save_recipient(**person, details=details)
        return Recipient.objects.get(**person)


class DeviceFactory(DjangoModelFactory[Device]):
    """A phone of a person, who need not have a profile."""

    class Meta:
        model = Device

    tenant = SubFactory(TenantFactory)
    user_id = Sequence(lambda number: f"usr_{number}")
    platform = Device.Platform.FCM
    token = Sequence(lambda number: f"token-{number}")

    @classmethod
    def _create(cls, model_class: type[Device], *args: Any, **fields: Any) -> Device:
        token = PushToken(
            platform=Device.Platform(fields["platform"]), value=fields["token"]
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
