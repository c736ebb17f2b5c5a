"""A tenant to try the platform with: people, texts in two languages, keys."""

from __future__ import annotations

from dataclasses import dataclass

from preferences.contact import normalise_email, normalise_phone
from preferences.devices import PushToken, register_device
from preferences.models import Device
from preferences.recipients import RecipientDetails, TypedAddress
from preferences.saving import save_recipients
from providers.channels import Channel
from templates.models import Template
from templates.publishing import add_content, approve, create_version
from tenants.categories import Category
from tenants.models import Tenant
from tenants.onboarding import Home, create_tenant

SLUG = "acme"
ACTOR = "command:load_sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleUser:
    """A person with an address on every channel."""

    user_id: str
    locale: str
    time_zone: str
    email: str
    phone: str


USERS = (
    SampleUser(
        user_id="usr_an",
        locale="vi",
        time_zone="Asia/Ho_Chi_Minh",
        email="an@example.com",
        phone="0912345678",
    ),
    SampleUser(
        user_id="usr_bao",
        locale="vi-VN",
        time_zone="Asia/Ho_Chi_Minh",
        email="bao@example.com",
        phone="+84 913 456 789",
    ),
    SampleUser(
        user_id="usr_carol",
        locale="en-GB",
        time_zone="Europe/London",
        email="carol@example.com",
        phone="+44 7911 123456",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTemplate:
    """A template, its sample variables, and its texts by channel and locale."""

    name: str
    category: Category
    variables: dict[str, str]
    contents: dict[Channel, dict[str, dict[str, str]]]


TEMPLATES = (
    SampleTemplate(
        name="invoice_due",
        category=Category.TRANSACTIONAL,
        variables={"amount": "125.00", "currency": "USD", "due_date": "2026-12-20"},
        contents={
            Channel.EMAIL: {
                "en": {
                    "subject": "Your invoice of {{ amount }} {{ currency }} is due",
                    "text": "Hello,\n\nyour invoice of {{ amount }} {{ currency }} is"
                    " due on {{ due_date }}.\n\nAcme",
                    "html": "<p>Hello,</p><p>your invoice of <strong>{{ amount }}"
                    " {{ currency }}</strong> is due on {{ due_date }}.</p>"
                    "<p>Acme</p>",
                },
                "vi": {
                    "subject": "Hóa đơn {{ amount }} {{ currency }} sắp đến hạn",
                    "text": "Xin chào,\n\nhóa đơn {{ amount }} {{ currency }} của bạn"
                    " đến hạn ngày {{ due_date }}.\n\nAcme",
                    "html": "<p>Xin chào,</p><p>hóa đơn <strong>{{ amount }}"
                    " {{ currency }}</strong> của bạn đến hạn ngày {{ due_date }}.</p>"
                    "<p>Acme</p>",
                },
            },
            Channel.SMS: {
                "en": {"text": "Acme: {{ amount }} {{ currency }} due {{ due_date }}"},
                "vi": {
                    "text": "Acme: {{ amount }} {{ currency }} đến hạn {{ due_date }}"
                },
            },
            Channel.PUSH: {
                "en": {
                    "title": "Invoice due",
                    "body": "{{ amount }} {{ currency }} by {{ due_date }}",
                },
                "vi": {
                    "title": "Hóa đơn đến hạn",
                    "body": "{{ amount }} {{ currency }} trước {{ due_date }}",
                },
            },
            Channel.IN_APP: {
                "en": {
                    "title": "Your invoice is due",
                    "body": "Please pay {{ amount }} {{ currency }} by {{ due_date }}.",
                },
                "vi": {
                    "title": "Hóa đơn của bạn sắp đến hạn",
                    "body": "Vui lòng thanh toán {{ amount }} {{ currency }} trước"
                    " ngày {{ due_date }}.",
                },
            },
        },
    ),
    SampleTemplate(
        name="login_code",
        category=Category.OTP,
        variables={"code": "482913"},
        contents={
            Channel.EMAIL: {
                "en": {"subject": "Your code", "text": "Your code is {{ code }}."},
                "vi": {
                    "subject": "Mã đăng nhập",
                    "text": "Mã đăng nhập của bạn là {{ code }}.",
                },
            },
            Channel.SMS: {
                "en": {"text": "{{ code }} is your Acme code. Tell nobody."},
                "vi": {"text": "{{ code }} là mã Acme của bạn. Đừng cho ai biết."},
            },
        },
    ),
    SampleTemplate(
        name="spring_sale",
        category=Category.MARKETING,
        variables={"discount": "20"},
        contents={
            Channel.EMAIL: {
                "en": {
                    "subject": "{{ discount }} % off this week",
                    "text": "Everything is {{ discount }} % off until Sunday.",
                },
                "vi": {
                    "subject": "Giảm {{ discount }} % tuần này",
                    "text": "Giảm {{ discount }} % tất cả đến hết Chủ nhật.",
                },
            },
            Channel.IN_APP: {
                "en": {
                    "title": "{{ discount }} % off",
                    "body": "Everything, until Sunday.",
                },
                "vi": {
                    "title": "Giảm {{ discount }} %",
                    "body": "Tất cả, đến hết Chủ nhật.",
                },
            },
        },
    ),
)


def load_tenant() -> tuple[Tenant, bool]:
    """Make the sample tenant with its people and texts, once; say if it is new."""
    existing = Tenant.objects.filter(slug=SLUG).first()
    if existing is not None:
        return existing, False
    tenant = create_tenant(
        slug=SLUG,
        name="Acme",
        home=Home(locale="en", region="VN", time_zone="Asia/Ho_Chi_Minh"),
    )
    # Carol's, and the sandbox's numbers that fail on purpose.
    tenant.sms_countries = "GB GG US VN"
    tenant.save(update_fields=["sms_countries"])
    for user in USERS:
        _save_user(tenant, user)
    for template in TEMPLATES:
        publish(tenant, template)
    return tenant, True


def _save_user(tenant: Tenant, user: SampleUser) -> None:
    details = RecipientDetails(
        locale=user.locale,
        time_zone=user.time_zone,
        addresses=[
            TypedAddress(
                channel=Channel.EMAIL,
                typed=user.email,
                normalised=normalise_email(user.email),
            ),
            TypedAddress(
                channel=Channel.SMS,
                typed=user.phone,
                normalised=normalise_phone(user.phone, region=tenant.default_region),
            ),
        ],
    )
    save_recipients(tenant_id=tenant.pk, people={user.user_id: details})
    register_device(
        tenant_id=tenant.pk,
        user_id=user.user_id,
        token=PushToken(
            platform=Device.Platform.FCM, value=f"sample-device-of-{user.user_id}"
        ),
        actor=ACTOR,
    )


def publish(tenant: Tenant, sample: SampleTemplate) -> None:
    """Give a tenant a template, approved as version 1."""
    template = Template.objects.create(
        tenant=tenant, name=sample.name, category=sample.category.value
    )
    properties = {name: {"type": "string"} for name in sample.variables}
    version = create_version(
        template=template,
        schema={
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
        sample=sample.variables,
        default_locale="en",
        actor=ACTOR,
    )
    for channel, by_locale in sample.contents.items():
        for locale, parts in by_locale.items():
            add_content(
                version=version,
                channel=channel,
                locale=locale,
                parts=parts,
                actor=ACTOR,
            )
    approve(version=version, actor=ACTOR)
