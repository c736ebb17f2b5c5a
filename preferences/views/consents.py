"""/v1/users/…/consents: what a person agreed to and withdrew."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.user_ids import check_user_id
from preferences.consent import list_consents
from preferences.notification_preferences import Saying, note_consent
from preferences.serializers.consents import ConsentsBody, ConsentSerializer
from preferences.views.people import READ_AND_WRITE
from tenants.authentication import ApiKeyAuthentication, caller
from tenants.permissions import HasScope

_MOST = 1_000


class ConsentsView(APIView):
    """The ledger of one person."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = READ_AND_WRITE

    @extend_schema(operation_id="list_consents", responses=ConsentsBody)
    def get(self, request: Request, user_id: str) -> Response:
        """List the latest thousand, newest first."""
        events = list_consents(
            tenant_id=caller(request).tenant_id,
            user_id=check_user_id(user_id),
            limit=_MOST,
        )
        return Response(ConsentsBody({"items": events}).data)

    @extend_schema(
        operation_id="record_consent",
        request=ConsentSerializer,
        responses={201: ConsentsBody},
    )
    def post(self, request: Request, user_id: str) -> HttpResponse:
        """Note what a person said elsewhere, and obey it from now on."""
        tenant_id, owner = caller(request).tenant_id, check_user_id(user_id)
        asked = ConsentSerializer(data=request.data, context={"tenant_id": tenant_id})
        asked.is_valid(raise_exception=True)
        note_consent(
            tenant_id=tenant_id,
            user_id=owner,
            consent=asked.consent(),
            said=Saying(
                actor=caller(request).actor,
                wording=asked.validated_data["wording"],
                evidence=asked.validated_data["evidence"],
            ),
        )
        (latest,) = list_consents(tenant_id=tenant_id, user_id=owner, limit=1)
        body = ConsentsBody({"items": [latest]})
        return Response(body.data, status=status.HTTP_201_CREATED)
