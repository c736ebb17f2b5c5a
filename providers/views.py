"""/v1/sandbox/messages: what test keys would have sent."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.ids import parse_public_id, public_id
from providers.channels import Channel
from providers.sandbox_reading import RecordedMessage, page
from tenants.authentication import ApiKeyAuthentication, caller
from tenants.permissions import HasScope
from tenants.scopes import Scope


class SandboxQuery(serializers.Serializer[Any]):
    """Which messages, which page."""

    notification_id = serializers.CharField(required=False)
    cursor = serializers.CharField(required=False)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)


class SandboxMessageBody(serializers.Serializer[Any]):
    """One attempt: where it would have gone, what it said, what was answered."""

    id = serializers.CharField()
    notification_id = serializers.CharField()
    delivery_id = serializers.CharField()
    channel = serializers.ChoiceField([channel.key for channel in Channel])
    attempt = serializers.IntegerField()
    outcome = serializers.CharField()
    accepted = serializers.BooleanField(
        help_text="Whether it would have reached the person, whatever was answered."
    )
    address = serializers.CharField()
    parts = serializers.DictField(child=serializers.CharField())
    created_at = serializers.DateTimeField()


class SandboxPage(serializers.Serializer[Any]):
    """A page of attempts, the newest first."""

    items = SandboxMessageBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class SandboxMessagesView(APIView):
    """The sandbox's record."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.SANDBOX_READ
    serializer_class = SandboxPage

    @extend_schema(
        operation_id="list_sandbox_messages",
        parameters=[SandboxQuery],
        responses=SandboxPage,
    )
    def get(self, request: Request) -> Response:
        """List what the sandbox would have sent."""
        query = SandboxQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        wanted = query.validated_data.get("notification_id")
        found = page(
            tenant_id=caller(request).tenant_id,
            notification_id=parse_public_id("ntf", wanted) if wanted else None,
            cursor=query.validated_data.get("cursor"),
            limit=query.validated_data["limit"],
        )
        body = {
            "items": [_body(message) for message in found.messages],
            "next_cursor": found.next_cursor,
        }
        return Response(SandboxPage(body).data)


def _body(message: RecordedMessage) -> dict[str, object]:
    row = message.row
    return {
        "id": public_id("sbx", row.id),
        "notification_id": public_id("ntf", row.notification_id),
        "delivery_id": public_id("dlv", row.delivery_id),
        "channel": Channel(row.channel).key,
        "attempt": row.attempt,
        "outcome": row.outcome,
        "accepted": row.accepted,
        "address": message.content.address,
        "parts": message.content.parts,
        "created_at": row.created_at,
    }
