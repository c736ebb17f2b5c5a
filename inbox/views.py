"""/v1/users/{user_id}/inbox, for services and for that person."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.ids import parse_public_id
from foundation.user_ids import check_user_id
from inbox.reading import mark_read, page
from inbox.serializers import PageBody, PageQuery, ReadBody
from tenants.answers import answer, answer_once
from tenants.authentication import (
    ApiKeyAuthentication,
    UserTokenAuthentication,
    caller,
)
from tenants.idempotency import StoredResponse
from tenants.openapi import IDEMPOTENCY_KEY
from tenants.permissions import OwnUserOrScope
from tenants.scopes import Scope


class InboxView(APIView):
    """A person's messages."""

    authentication_classes = [ApiKeyAuthentication, UserTokenAuthentication]
    permission_classes = [OwnUserOrScope]
    required_scope = Scope.INBOX_READ

    @extend_schema(
        operation_id="read_inbox", parameters=[PageQuery], responses=PageBody
    )
    def get(self, request: Request, user_id: str) -> Response:
        query = PageQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        found = page(
            tenant_id=caller(request).tenant_id,
            user_id=check_user_id(user_id),
            cursor=query.validated_data.get("cursor"),
            limit=query.validated_data["limit"],
        )
        return Response(PageBody(found).data)


class ReadView(APIView):
    """Mark one message as read."""

    authentication_classes = [ApiKeyAuthentication, UserTokenAuthentication]
    permission_classes = [OwnUserOrScope]
    required_scope = Scope.INBOX_WRITE

    @extend_schema(
        operation_id="mark_message_read",
        parameters=[IDEMPOTENCY_KEY],
        request=None,
        responses=ReadBody,
    )
    def post(self, request: Request, user_id: str, message_id: str) -> HttpResponse:
        owner, identifier = check_user_id(user_id), parse_public_id("msg", message_id)

        def read() -> StoredResponse:
            read_at = mark_read(
                tenant_id=caller(request).tenant_id,
                user_id=owner,
                message_id=identifier,
            )
            body = ReadBody({"id": message_id, "read_at": read_at})
            return answer(200, dict(body.data))

        return answer_once(request, work=read, required=False)
