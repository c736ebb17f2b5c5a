from __future__ import annotations

from typing import Any

import pytest

from tenants.authentication import ApiKeyAuthentication, UserTokenAuthentication
from tenants.permissions import HasScope, OwnUserOrScope
from tenants.scopes import Scope
from tests.structure.routes import Route, api_routes

ROUTES = api_routes()


def declared(route: Route, name: str) -> Any:
    """Return what the view says itself; the framework's defaults do not count."""
    for ancestor in (route.view or object).__mro__:
        if ancestor.__module__.startswith("rest_framework."):
            return None
        if name in vars(ancestor):
            return vars(ancestor)[name]
    return None


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
class TestEveryRoute:
    def test_is_served_by_a_view_class(self, route: Route):
        assert route.view is not None

    def test_declares_how_callers_are_known(self, route: Route):
        classes = declared(route, "authentication_classes")

        assert classes
        assert set(classes) <= {ApiKeyAuthentication, UserTokenAuthentication}

    def test_declares_what_callers_may_do(self, route: Route):
        classes = declared(route, "permission_classes")

        assert classes
        assert set(classes) <= {HasScope, OwnUserOrScope}

    def test_names_a_scope_for_each_method(self, route: Route):
        scope = declared(route, "required_scope")

        if isinstance(scope, dict):
            assert route.methods <= {method.lower() for method in scope}
            assert set(scope.values()) <= set(Scope)
        else:
            assert scope in set(Scope)

    def test_lets_users_in_by_path_alone(self, route: Route):
        """A user's token is good for the user that the path names, and only there."""
        takes_tokens = UserTokenAuthentication in (
            declared(route, "authentication_classes") or ()
        )
        checks_user = OwnUserOrScope in (declared(route, "permission_classes") or ())

        assert takes_tokens == checks_user
        assert "{user_id}" in route.path or not takes_tokens


def test_there_are_routes():
    assert len(ROUTES) > 0
