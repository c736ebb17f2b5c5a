"""How the credentials look in the OpenAPI document."""

from __future__ import annotations

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter

IDEMPOTENCY_KEY = OpenApiParameter(
    name="Idempotency-Key",
    location=OpenApiParameter.HEADER,
    description="1 to 255 printable ASCII characters, quoted or bare. A repetition"
    " within 7 days gets the first answer, with `Idempotent-Replayed: true`.",
)


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # untyped there
    target_class = "tenants.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A service's API key, `nk_live_…` or `nk_test_…`.",
        }


class UserTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # untyped there
    target_class = "tenants.authentication.UserTokenAuthentication"
    name = "userToken"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "An end user's token from `/v1/users/{user_id}/tokens`.",
        }
