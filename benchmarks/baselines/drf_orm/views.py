"""POST /v1/notifications as DRF's and Django's documentation would have it."""

from __future__ import annotations

from django.db import IntegrityError
from django.http import HttpResponse
from rest_framework.exceptions import APIException, NotAuthenticated
from rest_framework.request import Request
from rest_framework.views import APIView

from benchmarks.baselines.drf_orm.acceptance import create_notification
from benchmarks.baselines.drf_orm.lookups import find_destinations, find_version
from benchmarks.baselines.drf_orm.models import IdempotencyKey
from benchmarks.baselines.drf_orm.serializers import NotificationSerializer
from providers.channels import Channel
from tenants.authentication import ApiKeyAuthentication
from tenants.idempotency import fingerprint
from tenants.permissions import HasScope
from tenants.principals import ServicePrincipal
from tenants.scopes import Scope


class KeyReused(APIException):
    """The key was used with another request."""

    status_code = 409
    default_detail = "This idempotency key was used with another request."


class NotificationsView(APIView):
    """Accepts notifications; known and let in as at the platform's own endpoint."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.NOTIFICATIONS_SEND

    def post(self, request: Request) -> HttpResponse:
        principal: object = request.user
        if not isinstance(principal, ServicePrincipal):
            raise NotAuthenticated
        serializer = NotificationSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        asked = fingerprint(method="POST", path=request.path, body=request.data)
        version = find_version(
            tenant_id=principal.tenant_id, template=data["template"], data=data
        )
        destinations = find_destinations(
            tenant_id=principal.tenant_id,
            user_id=data["recipient"]["user_id"],
            channels=[Channel.from_key(key) for key in data["channels"]],
        )
        try:
            answer = create_notification(
                principal=principal,
                data=data,
                fingerprint=asked,
                version=version,
                destinations=destinations,
            )
        except IntegrityError:
            return _first_answer(principal, data["idempotency_key"], asked)
        return HttpResponse(answer, status=202, content_type="application/json")


def _first_answer(principal: ServicePrincipal, key: str, asked: bytes) -> HttpResponse:
    first = IdempotencyKey.objects.get(tenant_id=principal.tenant_id, key=key)
    if bytes(first.fingerprint) != asked:
        raise KeyReused
    return HttpResponse(
        bytes(first.response or b""),
        status=first.status_code or 202,
        content_type="application/json",
        headers={"Idempotent-Replayed": "true"},
    )
