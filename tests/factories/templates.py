"""Templates with approved versions, and drafts to be approved."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from factory.declarations import LazyFunction, Sequence, SubFactory
from factory.django import DjangoModelFactory

from providers.channels import Channel
from templates.catalog import Contents, PinnedVersion
from templates.layouts import save_layout
from templates.models import Layout, Template, TemplateVersion
from templates.publishing import add_content, approve, create_version
from tenants.categories import Category
from tests.factories.tenants import TenantFactory

PARTS: dict[Channel, dict[str, str]] = {
    Channel.EMAIL: {
        "subject": "Hello {{ name }}",
        "text": "Hello {{ name }},\nyour order is on its way.",
        "html": "<p>Hello {{ name }},</p><p>your order is on its way.</p>",
    },
    Channel.SMS: {"text": "Hello {{ name }}, your order is on its way."},
    Channel.PUSH: {"title": "Hello {{ name }}", "body": "Your order is on its way."},
    Channel.IN_APP: {"title": "Hello {{ name }}", "body": "Your order is on its way."},
}
LAYOUT = """<mjml><mj-body>
{{ content }}
<mj-section><mj-column><mj-text>Acme, Hanoi</mj-text></mj-column></mj-section>
</mj-body></mjml>"""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}


class TemplateFactory(DjangoModelFactory[Template]):
    """A template without a version."""

    class Meta:
        model = Template

    tenant = SubFactory(TenantFactory)
    name = Sequence(lambda number: f"template-{number}")
    category = Category.TRANSACTIONAL


class DraftFactory(DjangoModelFactory[TemplateVersion]):
    """A draft that takes `name`; `contents` is channel, locale, part."""

    class Meta:
        model = TemplateVersion

    template = SubFactory(TemplateFactory)
    schema: Any = LazyFunction(lambda: SCHEMA)
    sample: Any = None
    default_locale = "en"
    edited_by = "staff:author"
    contents: Any = LazyFunction(
        lambda: {channel: {"en": parts} for channel, parts in PARTS.items()}
    )

    @classmethod
    def _create(
        cls, model_class: type[TemplateVersion], *args: Any, **fields: Any
    ) -> TemplateVersion:
        contents: Contents = fields.pop("contents")
        author = fields.pop("edited_by")
        version = create_version(**fields, actor=author)
        for channel, by_locale in contents.items():
            for locale, parts in by_locale.items():
                add_content(
                    version=version,
                    channel=channel,
                    locale=locale,
                    parts=parts,
                    actor=author,
                )
        return version


class ApprovedVersionFactory(DraftFactory):
    """A version that notifications can be accepted with, on every channel."""

    @classmethod
    def _create(
        cls, model_class: type[TemplateVersion], *args: Any, **fields: Any
    ) -> TemplateVersion:
        draft = super()._create(model_class, *args, **fields)
        return approve(version=draft, actor="staff:an")


class LayoutFactory(DjangoModelFactory[Layout]):
    """A layout with a footer, as the form saves it."""

    class Meta:
        model = Layout

    tenant = SubFactory(TenantFactory)
    name = "brand"
    mjml = LAYOUT

    @classmethod
    def _create(cls, model_class: type[Layout], *args: Any, **fields: Any) -> Layout:
        return save_layout(**fields, actor="staff:author")


def pinned_version(
    contents: Contents, *, schema: dict[str, Any] | None = None
) -> PinnedVersion:
    """Make a version for rendering, without a database; the default locale is en."""
    schema = {"type": "object"} if schema is None else schema
    return PinnedVersion(
        id=1,
        tenant_id=1,
        name="order_shipped",
        number=1,
        category="transactional",
        base_category=Category.TRANSACTIONAL,
        content_hash=sha256(repr((contents, schema)).encode()).digest(),
        schema=schema,
        contents=contents,
        default_locale="en",
    )


def in_app_version(body: str) -> PinnedVersion:
    """Make a version whose in-app body is this text."""
    return pinned_version({Channel.IN_APP: {"en": {"title": "Hi", "body": body}}})
