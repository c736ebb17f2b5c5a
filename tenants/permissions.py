"""What the caller may do: the view names a scope, the principal has it or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.exceptions import (
    AuthenticationFailed,
    MethodNotAllowed,
    NotFound,
)
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from tenants.principals import ServicePrincipal, UserPrincipal

if TYPE_CHECKING:
    # At run time rest_framework.views loads this module while it is loading itself.
    from rest_framework.views import APIView


class HasScope(BasePermission):
    """Lets a service in whose key has the view's `required_scope`.

    That is a scope, or a scope by method. A view that names none lets nobody in.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.user, ServicePrincipal) and (
            required_scope(view, method=str(request.method)) in request.user.scopes
        )


class OwnUserOrScope(HasScope):
    """Lets a service in that has the scope, or the user whom the path names."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.user, UserPrincipal):
            return super().has_permission(request, view)
        scope = required_scope(view, method=str(request.method))
        if scope not in request.user.scopes:
            raise AuthenticationFailed("This token is for another audience.")
        if view.kwargs.get("user_id") != request.user.user_id:
            # Not 403: whether there is such a user is none of this user's business.
            raise NotFound
        return True


def required_scope(view: APIView, *, method: str) -> str | None:
    """Return the scope that a view asks for; None if it declares none."""
    declared = getattr(view, "required_scope", None)
    if not isinstance(declared, dict):
        return declared
    scope: str | None = declared.get("GET" if method == "HEAD" else method)
    if scope is None:
        raise MethodNotAllowed(method)
    return scope
