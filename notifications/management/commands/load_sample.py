"""Load a tenant to try the platform with; keys are printed by the first run alone."""

from __future__ import annotations

import json
import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.db import transaction

from notifications.management.sample import TEMPLATES, USERS, load_tenant
from tenants.api_keys import issue_key
from tenants.models import Tenant
from tenants.scopes import Scope

STAFF = "admin"


class Command(BaseCommand):
    help = "Load the sample tenant with people, templates, keys and a member of staff."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic():
            tenant, is_new = load_tenant()
            sample = _describe(tenant)
            if is_new:
                sample |= _issue_credentials(tenant)
        if options["json"]:
            self.stdout.write(json.dumps(sample))
            return
        for name, value in sample.items():
            self.stdout.write(f"{name}: {value}")


def _describe(tenant: Tenant) -> dict[str, object]:
    return {
        "tenant": tenant.slug,
        "users": [user.user_id for user in USERS],
        "templates": [
            {"name": known.name, "version": 1, "variables": known.variables}
            for known in TEMPLATES
        ],
    }


def _issue_credentials(tenant: Tenant) -> dict[str, object]:
    _, api_key = issue_key(
        tenant=tenant, service="demo", is_test=False, scopes=tuple(Scope)
    )
    _, test_key = issue_key(
        tenant=tenant, service="demo", is_test=True, scopes=tuple(Scope)
    )
    password = secrets.token_urlsafe(12)
    User.objects.create_superuser(STAFF, password=password)
    return {
        "api_key": api_key,
        "test_key": test_key,
        "staff": {"username": STAFF, "password": password},
    }
