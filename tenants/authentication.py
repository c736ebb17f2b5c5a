"""Turn the Authorization header into a principal."""

from __future__ import annotations

import re
from typing import NoReturn

import structlog
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request

from tenants.api_keys import InvalidApiKey, verify_key
from tenants.failed_attempts import record_failed_attempt
from tenants.principals import Principal, ServicePrincipal, UserPrincipal
from tenants.standing import UnknownTenant, check_standing
from tenants.user_tokens import InvalidUserToken, verify_user_token

# RFC 6750: one scheme, one space, one token68.
_BEARER = re.compile(r"bearer ([A-Za-z0-9\-._~+/]{1,4096}=*)", re.IGNORECASE)


class _BearerAuthentication(BaseAuthentication):
    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="notifications"'


class ApiKeyAuthentication(_BearerAuthentication):
    """Takes a service's API key, and anything that is no user token, to refuse it."""

    def authenticate(self, request: Request) -> tuple[ServicePrincipal, None] | None:
        credential = _credential(request)
        if credential is None or _is_user_token(credential):
            return None
        try:
            principal = verify_key(credential)
        except InvalidApiKey as refused:
            _refuse(request, refused)
        _bind(principal)
        return principal, None


class UserTokenAuthentication(_BearerAuthentication):
    """Takes the signed token of an end user."""

    def authenticate(self, request: Request) -> tuple[UserPrincipal, None] | None:
        credential = _credential(request)
        if credential is None or not _is_user_token(credential):
            return None
        try:
            principal = verify_user_token(credential)
            check_standing(tenant_id=principal.tenant_id)
        except (InvalidUserToken, UnknownTenant) as refused:
            _refuse(request, refused)
        _bind(principal)
        return principal, None


def caller(request: Request) -> Principal:
    """Return who makes this request, for views that let nobody in without one."""
    user: object = request.user
    if not isinstance(user, ServicePrincipal | UserPrincipal):
        raise NotAuthenticated
    return user


def _credential(request: Request) -> str | None:
    header = request.headers.get("Authorization")
    if header is None or not header.lower().startswith("bearer"):
        return None
    bearer = _BEARER.fullmatch(header)
    if bearer is None:
        _refuse(request, InvalidApiKey())
    return bearer[1]


def _is_user_token(credential: str) -> bool:
    return "." in credential  # API keys are base 62


def _refuse(request: Request, reason: Exception) -> NoReturn:
    record_failed_attempt(address=request.META.get("REMOTE_ADDR", ""))
    # The same words for unknown, expired and revoked: nothing to learn from them.
    raise AuthenticationFailed("The credential is not valid.") from reason


def _bind(principal: Principal) -> None:
    # Every line that this request logs names the tenant; user ids stay out of logs.
    structlog.contextvars.bind_contextvars(tenant_id=principal.tenant_id)
