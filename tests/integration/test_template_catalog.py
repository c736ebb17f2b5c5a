from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from providers.channels import Channel
from templates import catalog
from templates.catalog import (
    UnknownTemplate,
    UnknownTemplateVersion,
    clear_caches,
    find_version,
    load_versions,
)
from templates.models import TemplateVersion
from templates.publishing import retire
from tests.factories.templates import (
    PARTS,
    SCHEMA,
    ApprovedVersionFactory,
    DraftFactory,
    TemplateFactory,
)
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.django_db
Queries = Callable[[int], AbstractContextManager[Any]]


@pytest.fixture(autouse=True)
def _empty_caches() -> None:
    clear_caches()


def find(version: TemplateVersion, number: int | None = None) -> catalog.PinnedVersion:
    template = version.template
    return find_version(tenant_id=template.tenant_id, name=template.name, number=number)


def test_pinned_version_holds_all_that_sending_needs() -> None:
    version = ApprovedVersionFactory.create()

    found = find(version, 1)

    assert (found.id, found.number) == (version.pk, 1)
    assert found.tenant_id == version.template.tenant_id
    assert (found.name, found.category) == (version.template.name, "transactional")
    assert (found.schema, found.default_locale) == (SCHEMA, "en")
    assert found.content_hash == version.content_hash
    assert found.contents == {channel: {"en": PARTS[channel]} for channel in Channel}


def test_latest_approved_version_is_meant_where_no_number_is_named() -> None:
    first = ApprovedVersionFactory.create()
    second = ApprovedVersionFactory.create(template=first.template)
    DraftFactory.create(template=first.template)

    assert find(first).id == second.pk
    assert find(first, 1).id == first.pk


@pytest.mark.parametrize("number", [3, 0, -1, 2**31, 2**63, 2**70])
def test_number_of_no_approved_version_is_unknown(number: int) -> None:
    """Bad input 16."""
    version = ApprovedVersionFactory.create()
    DraftFactory.create(template=version.template)

    with pytest.raises(UnknownTemplateVersion):
        find(version, number)


def test_draft_and_retired_versions_are_unknown() -> None:
    """Bad input 16."""
    draft = DraftFactory.create()
    retired = ApprovedVersionFactory.create()
    retire(version=retired, actor="staff:an")

    for version in (draft, retired):
        for number in (1, None):
            with pytest.raises(UnknownTemplateVersion):
                find(version, number)


@pytest.mark.parametrize("name", ["nothing", "", "a\x00b", "\ud800", "a" * 5_000, "É"])
def test_name_of_no_template_is_unknown(name: str) -> None:
    """Bad input 11, 16."""
    tenant = TenantFactory.create()

    with pytest.raises(UnknownTemplate):
        find_version(tenant_id=tenant.pk, name=name, number=None)


def test_template_of_another_tenant_is_as_unknown_as_none() -> None:
    """Bad input 16."""
    version, other = ApprovedVersionFactory.create(), TenantFactory.create()
    messages = set()

    for name in (version.template.name, "nothing"):
        with pytest.raises(UnknownTemplate) as unknown:
            find_version(tenant_id=other.pk, name=name, number=1)
        messages.add(str(unknown.value))

    assert len(messages) == 1


def test_same_name_leads_each_tenant_to_its_own() -> None:
    ours = ApprovedVersionFactory.create(
        template=TemplateFactory.create(name="welcome")
    )
    theirs = ApprovedVersionFactory.create(
        template=TemplateFactory.create(name="welcome")
    )

    assert find(ours).id == ours.pk
    assert find(theirs).id == theirs.pk


def test_known_version_costs_no_query(django_assert_num_queries: Queries) -> None:
    version = ApprovedVersionFactory.create()
    first = find(version)

    with django_assert_num_queries(0):
        assert find(version) is first
        assert load_versions([version.pk]) == {version.pk: first}


def test_versions_are_loaded_in_two_queries(django_assert_num_queries: Queries) -> None:
    versions = [ApprovedVersionFactory.create() for _ in range(5)]
    load_versions([versions[0].pk])

    with django_assert_num_queries(2):
        found = load_versions([version.pk for version in versions])

    assert found.keys() == {version.pk for version in versions}


def test_retired_versions_are_loaded_and_drafts_are_not() -> None:
    retired, draft = ApprovedVersionFactory.create(), DraftFactory.create()
    retire(version=retired, actor="staff:an")

    assert load_versions([retired.pk, draft.pk, 2**40]).keys() == {retired.pk}
    assert load_versions([]) == {}


def test_unknown_is_not_remembered() -> None:
    template = TemplateFactory.create(name="welcome")
    with pytest.raises(UnknownTemplateVersion):
        find_version(tenant_id=template.tenant_id, name="welcome", number=None)

    version = ApprovedVersionFactory.create(template=template)

    assert find(version).id == version.pk


def test_retirement_is_noticed_when_the_name_is_looked_up_again() -> None:
    version = ApprovedVersionFactory.create()
    find(version)

    retire(version=version, actor="staff:an")

    assert find(version).id == version.pk  # for at most 5 s
    catalog._ids.clear()
    with pytest.raises(UnknownTemplateVersion):
        find(version)
