"""Members of staff, and the console as one of them sees it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from factory.declarations import Sequence
from factory.django import DjangoModelFactory

from tenants.models import StaffMembership, Tenant

Role = StaffMembership.Role


class StaffFactory(DjangoModelFactory[User]):
    """Somebody who may sign in and see nothing yet."""

    class Meta:
        model = User

    username = Sequence(lambda number: f"ann-{number}")
    is_staff = True


class Console:
    """The pages below /admin/, as one member of staff."""

    def __init__(self, user: User) -> None:
        self.user = user
        self._client = Client()
        self._client.force_login(user)

    def get(self, path: str, **query: str) -> Any:
        return self._client.get(f"/admin/{path}", query)

    def post(self, path: str, **data: Any) -> Any:
        return self._client.post(f"/admin/{path}", data, follow=True)

    def act(self, path: str, action: str, *pks: object, **data: str) -> Any:
        """Run an action of a list on rows, and follow to the page that tells of it."""
        chosen = {"action": action, "_selected_action": [str(pk) for pk in pks]}
        return self.post(path, **chosen, **data)


def console_of(tenant: Tenant, *roles: str) -> Console:
    """Sign in somebody new with these roles on a tenant."""
    user = StaffFactory.create()
    for role in roles:
        StaffMembership.objects.create(user=user, tenant=tenant, role=role)
    return Console(user)


def superuser_console() -> Console:
    """Sign in somebody who may do everything that anybody may."""
    return Console(StaffFactory.create(is_superuser=True))


def said(response: Any) -> list[str]:
    """Return the messages on a page."""
    return [str(message) for message in response.context["messages"]]
