"""/v1/users: people, one and many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.field_problems import FieldProblem, locate
from foundation.keyset import BadCursor
from foundation.user_ids import MalformedUserId, check_user_id
from preferences.recipients import (
    RecipientDetails,
    list_recipients,
    phone_region,
    read_recipient,
)
from preferences.saving import Saved, save_recipients
from preferences.serializers.people import (
    ListedUserSerializer,
    PageOfUsersQuery,
    RecipientBody,
    RecipientsBody,
    SavedUsersBody,
    UserSerializer,
    UsersSerializer,
)
from tenants.answers import answer, answer_once
from tenants.authentication import ApiKeyAuthentication, caller
from tenants.idempotency import StoredResponse
from tenants.openapi import IDEMPOTENCY_KEY
from tenants.permissions import HasScope
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
        tenant_id, user_id = caller(request).tenant_id, check_user_id(user_id)
        serializer = UserSerializer(
            data=request.data, context={"region": phone_region(tenant_id=tenant_id)}
        )
        serializer.is_valid(raise_exception=True)
        saved = save_recipients(
            tenant_id=tenant_id, people={user_id: serializer.details()}
        )
        recipient = read_recipient(tenant_id=tenant_id, user_id=user_id)
        created = saved[user_id] is Saved.CREATED
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return Response(RecipientBody(recipient).data, status=code)


class RecipientsView(APIView):
    """Everybody."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = READ_AND_WRITE
    largest_body = 1024 * 1024

    @extend_schema(
        operation_id="list_users",
        parameters=[PageOfUsersQuery],
        responses=RecipientsBody,
    )
    def get(self, request: Request) -> Response:
        """List people by their ids, a page at a time."""
        query = PageOfUsersQuery(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        limit = query.validated_data["limit"]
        people = list_recipients(
            tenant_id=caller(request).tenant_id,
            after=_position(query.validated_data.get("cursor")),
            limit=limit + 1,
        )
        page = people[:limit]
        more = len(people) > limit
        body = {"items": page, "next_cursor": page[-1].user_id if more else None}
        return Response(RecipientsBody(body).data)

    @extend_schema(
        operation_id="save_users",
        parameters=[IDEMPOTENCY_KEY],
        request=UsersSerializer,
        responses={200: SavedUsersBody},
    )
    def post(self, request: Request) -> HttpResponse:
        """Create or replace up to a thousand people.

        Each has a result of their own, in the order of the call: what is refused keeps
        nobody else from being saved.
        """
        asked = UsersSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        tenant_id = caller(request).tenant_id
        # Before the transaction: a thousand people take a while to read.
        people, results = _read_users(
            asked.validated_data["users"], region=phone_region(tenant_id=tenant_id)
        )

        def save() -> StoredResponse:
            saved = save_recipients(tenant_id=tenant_id, people=people)
            for result in results:
                if not result["errors"]:
                    result["outcome"] = saved[str(result["user_id"])].value
            return answer(status.HTTP_200_OK, {"results": results})

        return answer_once(request, work=save, required=False)


def _read_users(
    users: Sequence[object], *, region: str | None
) -> tuple[dict[str, RecipientDetails], list[dict[str, object]]]:
    """Return whom to save, and a result for each, refused as far as it has errors."""
    context = {"region": region}
    people: dict[str, RecipientDetails] = {}
    results: list[dict[str, object]] = []
    for index, user in enumerate(users):
        at = f"/users/{index}"
        name, details, problems = _read_user(user, at=at, context=context)
        if name in people:
            problems = [FieldProblem(f"{at}/user_id", "It is there already.")]
        elif details is not None:
            people[name] = details
        results.append(
            {
                "user_id": name or None,
                "outcome": "refused",
                "errors": problems,
            }
        )
    return people, results


def _read_user(
    user: object, *, at: str, context: Mapping[str, Any]
) -> tuple[str, RecipientDetails | None, list[FieldProblem]]:
    """Return whom a list's item is about, as far as it can be told, what it says, and
    what is wrong with it."""
    given = user.get("user_id") if isinstance(user, dict) else None
    name = given if isinstance(given, str) else ""
    serializer = ListedUserSerializer(data=user, context=context)
    if not serializer.is_valid():
        return name, None, locate(serializer.errors, at)
    return name, serializer.details(), []


def _position(cursor: str | None) -> str:
    """A page ends with a person, and is called by their id."""
    try:
        return check_user_id(cursor) if cursor else ""
    except MalformedUserId as malformed:
        raise BadCursor from malformed
