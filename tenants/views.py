from __future__ import annotations

from datetime import UTC, datetime, timedelta

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.user_ids import check_user_id
from tenants.authentication import ApiKeyAuthentication, caller
from tenants.permissions import HasScope
from tenants.scopes import Audience, Scope
from tenants.serializers import NewUserToken, UserToken
from tenants.user_tokens import sign_user_token


class UserTokens(APIView):
    """Tokens for one user's browser or app."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.TOKENS_ISSUE
    serializer_class = NewUserToken

    # Takes no idempotency key: nothing is stored, and a bearer token never should be.
    @extend_schema(
        operation_id="issue_user_token",
        request=NewUserToken,
        responses={200: UserToken},
    )
    def post(self, request: Request, user_id: str) -> Response:
        """Issue a token that lets this user at their own inbox or preferences."""
        asked = NewUserToken(data=request.data)
        asked.is_valid(raise_exception=True)
        audience = Audience(asked.validated_data["audience"])
        lifetime = timedelta(seconds=asked.validated_data["lifetime_seconds"])
        expires_at = datetime.now(UTC).replace(microsecond=0) + lifetime
        token = sign_user_token(
            tenant_id=caller(request).tenant_id,
            user_id=check_user_id(user_id),
            audience=audience,
            expires_at=expires_at,
        )
        issued = UserToken(
            {"token": token, "audience": audience.value, "expires_at": expires_at}
        )
        return Response(issued.data, headers={"Cache-Control": "no-store"})
