"""How the credentials look in the OpenAPI document."""

from __future__ import annotations

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

IDEMPOTENCY_KEY = OpenApiParameter(
    name="Idempotency-Key",
    location=OpenApiParameter.HEADER,
    description="1 to 255 printable ASCII characters, quoted or bare. A repetition"
    " within 7 days gets the first answer, with `Idempotent-Replayed: true`.",
)
RATE_HEADERS = [
    OpenApiParameter(
        name="RateLimit-Policy",
        location=OpenApiParameter.HEADER,
        response=[202, 429],
        description="The bucket that the request counted in, and what it holds: q"
        ' requests, which trickle in within w seconds. `"default";q=5000;w=10`',
    ),
    OpenApiParameter(
        name="RateLimit",
        location=OpenApiParameter.HEADER,
        response=[202, 429],
        description="About how many requests are left, and where none is, in how many"
        ' seconds there will be. `"default";r=4711`',
    ),
    OpenApiParameter(
        name="Retry-After",
        location=OpenApiParameter.HEADER,
        response=[429],
        description="Seconds.",
    ),
]
TOO_MANY = OpenApiResponse(
    description="Too many a second (`/problems/rate-limited`), or too many today on a"
    " channel (`/problems/daily-quota-exceeded`), for what text messages may cost"
    " (`/problems/spend-cap-exceeded`) or to one number (`/problems/number-limited`);"
    " these have no rate headers. Nothing was accepted."
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
