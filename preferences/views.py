"""/v1/users: people, their devices and their notification preferences."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.ids import parse_public_id
from foundation.user_ids import check_user_id
from preferences.devices import list_devices, register_device, remove_device
from preferences.explaining import explain
from preferences.notification_preferences import (
    StoredPreferences,
    read_preferences,
    replace_preferences,
)
from preferences.preconditions import entity_tag, parse_if_match
from preferences.recipients import phone_region, read_recipient, save_recipient
from preferences.serializers.asking import (
    CategoriesBody,
    ExplanationBody,
    QuestionSerializer,
)
from preferences.serializers.choices import PreferencesBody, PreferencesSerializer
from preferences.serializers.people import (
    DeviceBody,
    DevicesBody,
    DeviceSerializer,
    RecipientBody,
    UserSerializer,
)
from tenants.answers import answer, answer_once
from tenants.authentication import (
    ApiKeyAuthentication,
    UserTokenAuthentication,
    caller,
)
from tenants.idempotency import StoredResponse
from tenants.models import TenantCategory
from tenants.openapi import IDEMPOTENCY_KEY
from tenants.permissions import HasScope, OwnUserOrScope
from tenants.scopes import Scope

READ_AND_WRITE = {
    "GET": Scope.RECIPIENTS_READ,
    "PUT": Scope.RECIPIENTS_WRITE,
    "POST": Scope.RECIPIENTS_WRITE,
    "DELETE": Scope.RECIPIENTS_WRITE,
}


class RecipientView(APIView):
    """One person, by the tenant's own id."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = READ_AND_WRITE

    @extend_schema(operation_id="read_user", responses=RecipientBody)
    def get(self, request: Request, user_id: str) -> Response:
        recipient = read_recipient(
            tenant_id=caller(request).tenant_id, user_id=check_user_id(user_id)
        )
        return Response(RecipientBody(recipient).data)

    @extend_schema(
        operation_id="save_user",
        request=UserSerializer,
        responses={200: RecipientBody, 201: RecipientBody},
    )
    def put(self, request: Request, user_id: str) -> Response:
        tenant_id = caller(request).tenant_id
        serializer = UserSerializer(
            data=request.data, context={"region": phone_region(tenant_id=tenant_id)}
        )
        serializer.is_valid(raise_exception=True)
        recipient, created = save_recipient(
            tenant_id=tenant_id,
            user_id=check_user_id(user_id),
            details=serializer.details(),
        )
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return Response(RecipientBody(recipient).data, status=code)


class DevicesView(APIView):
    """The devices that take a person's push messages."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = READ_AND_WRITE

    @extend_schema(operation_id="list_devices", responses=DevicesBody)
    def get(self, request: Request, user_id: str) -> Response:
        devices = list_devices(
            tenant_id=caller(request).tenant_id, user_id=check_user_id(user_id)
        )
        return Response(DevicesBody({"items": devices}).data)

    @extend_schema(
        operation_id="register_device",
        parameters=[IDEMPOTENCY_KEY],
        request=DeviceSerializer,
        responses={200: DeviceBody, 201: DeviceBody},
    )
    def post(self, request: Request, user_id: str) -> HttpResponse:
        serializer = DeviceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        owner, token = check_user_id(user_id), serializer.push_token()

        def register() -> StoredResponse:
            device, created = register_device(
                tenant_id=caller(request).tenant_id,
                user_id=owner,
                token=token,
                actor=caller(request).actor,
            )
            code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
            return answer(code, dict(DeviceBody(device).data), resource=device.id)

        return answer_once(request, work=register, required=False)


class DeviceView(APIView):
    """One device."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = READ_AND_WRITE

    @extend_schema(operation_id="remove_device", responses={204: None})
    def delete(self, request: Request, user_id: str, device_id: str) -> Response:
        remove_device(
            tenant_id=caller(request).tenant_id,
            user_id=check_user_id(user_id),
            device_id=parse_public_id("dev", device_id),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class PreferencesView(APIView):
    """What a person does not want; for services and for that person."""

    authentication_classes = [ApiKeyAuthentication, UserTokenAuthentication]
    permission_classes = [OwnUserOrScope]
    required_scope = READ_AND_WRITE

    @extend_schema(operation_id="read_preferences", responses=PreferencesBody)
    def get(self, request: Request, user_id: str) -> Response:
        stored = read_preferences(
            tenant_id=caller(request).tenant_id, user_id=check_user_id(user_id)
        )
        return _preferences(user_id, stored)

    @extend_schema(
        operation_id="replace_preferences",
        parameters=[
            OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, required=True)
        ],
        request=PreferencesSerializer,
        responses=PreferencesBody,
    )
    def put(self, request: Request, user_id: str) -> Response:
        precondition = parse_if_match(request.headers.get("If-Match"))
        tenant_id = caller(request).tenant_id
        serializer = PreferencesSerializer(
            data=request.data, context={"tenant_id": tenant_id}
        )
        serializer.is_valid(raise_exception=True)
        stored = replace_preferences(
            tenant_id=tenant_id,
            user_id=check_user_id(user_id),
            precondition=precondition,
            choices=serializer.choices(),
            actor=caller(request).actor,
        )
        return _preferences(user_id, stored)


class ExplainView(APIView):
    """What would become of a message, and why."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.RECIPIENTS_READ

    @extend_schema(
        operation_id="explain", request=QuestionSerializer, responses=ExplanationBody
    )
    def post(self, request: Request, user_id: str) -> Response:
        """Decide as an acceptance would; nothing is sent or stored."""
        tenant_id = caller(request).tenant_id
        asked = QuestionSerializer(data=request.data, context={"tenant_id": tenant_id})
        asked.is_valid(raise_exception=True)
        explanation = explain(
            tenant_id=tenant_id,
            user_id=check_user_id(user_id),
            question=asked.question(),
        )
        body = {"user_id": user_id, "explanation": explanation}
        return Response(ExplanationBody(body).data)


class CategoriesView(APIView):
    """What a tenant's templates are for."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.RECIPIENTS_READ

    @extend_schema(operation_id="list_categories", responses=CategoriesBody)
    def get(self, request: Request) -> Response:
        rows = TenantCategory.objects.filter(
            tenant_id=caller(request).tenant_id
        ).order_by("name")
        return Response(CategoriesBody({"items": rows}).data)


def _preferences(user_id: str, stored: StoredPreferences) -> Response:
    body = PreferencesBody(
        {
            "user_id": user_id,
            "version": stored.version,
            "opt_outs": stored.choices.opt_outs,
            "quiet_hours": stored.choices.quiet_hours,
            "categories": stored.choices.categories,
            "snooze_until": stored.choices.snooze_until,
            "updated_at": stored.updated_at,
        }
    )
    return Response(body.data, headers={"ETag": entity_tag(stored.version)})
