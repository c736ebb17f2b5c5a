"""/v1/suppressions: addresses that nothing may be sent to."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.ids import parse_public_id
from preferences.recipients import phone_region
from preferences.serializers.suppressions import (
    SuppressionBody,
    SuppressionSerializer,
)
from preferences.suppression import add_suppression, lift_suppression
from tenants.authentication import ApiKeyAuthentication, caller
from tenants.permissions import HasScope
from tenants.scopes import Scope


class SuppressionsView(APIView):
    """Addresses that nothing may be sent to."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.RECIPIENTS_WRITE

    @extend_schema(
        operation_id="add_suppression",
        request=SuppressionSerializer,
        responses={201: SuppressionBody},
    )
    def post(self, request: Request) -> Response:
        """Put an address on the list; one that is there already is returned."""
        tenant_id = caller(request).tenant_id
        asked = SuppressionSerializer(
            data=request.data,
            context={
                "tenant_id": tenant_id,
                "region": phone_region(tenant_id=tenant_id),
            },
        )
        asked.is_valid(raise_exception=True)
        row = add_suppression(
            asked.entry(tenant_id=tenant_id, actor=caller(request).actor)
        )
        return Response(SuppressionBody(row).data, status=status.HTTP_201_CREATED)


class SuppressionView(APIView):
    """One entry of the list."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.RECIPIENTS_WRITE

    @extend_schema(operation_id="lift_suppression", responses={204: None})
    def delete(self, request: Request, suppression_id: str) -> Response:
        """Lift it; the trail keeps who did."""
        lift_suppression(
            tenant_id=caller(request).tenant_id,
            suppression_id=parse_public_id("sup", suppression_id),
            actor=caller(request).actor,
        )
        return Response(status=status.HTTP_204_NO_CONTENT)
