"""/v1/users/…/devices: what takes a person's push messages."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.ids import parse_public_id
from foundation.user_ids import check_user_id
from preferences.devices import list_devices, register_device, remove_device
from preferences.serializers.devices import DeviceBody, DevicesBody, DeviceSerializer
from preferences.views.people import READ_AND_WRITE
from tenants.answers import answer, answer_once
from tenants.authentication import ApiKeyAuthentication, caller
from tenants.idempotency import StoredResponse
from tenants.openapi import IDEMPOTENCY_KEY
from tenants.permissions import HasScope


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
