"""/v1/users/…: what a person does not want, and what would become of a message."""

from __future__ import annotations

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.database_clock import database_now
from foundation.user_ids import check_user_id
from preferences.explaining import explain
from preferences.links import preference_path
from preferences.notification_preferences import (
    Saying,
    StoredPreferences,
    read_preferences,
    replace_preferences,
)
from preferences.preconditions import entity_tag, parse_if_match
from preferences.serializers.asking import (
    CategoriesBody,
    ExplanationBody,
    QuestionSerializer,
)
from preferences.serializers.choices import (
    PreferenceLinkBody,
    PreferenceLinkSerializer,
    PreferencesBody,
    PreferencesSerializer,
)
from preferences.views.people import READ_AND_WRITE
from tenants.authentication import (
    ApiKeyAuthentication,
    UserTokenAuthentication,
    caller,
)
from tenants.models import TenantCategory
from tenants.permissions import HasScope, OwnUserOrScope
from tenants.scopes import Scope


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
            said=Saying(actor=caller(request).actor),
        )
        return _preferences(user_id, stored)


class PreferenceLinkView(APIView):
    """A link to the page where a person chooses, to hand to that person."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.RECIPIENTS_WRITE

    @extend_schema(
        operation_id="make_preference_link",
        request=PreferenceLinkSerializer,
        responses={201: PreferenceLinkBody},
    )
    def post(self, request: Request, user_id: str) -> Response:
        """Seal a link; whoever has it may read and change this person's preferences."""
        asked = PreferenceLinkSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        expires_at = database_now() + asked.lifetime()
        path = preference_path(
            tenant_id=caller(request).tenant_id,
            user_id=check_user_id(user_id),
            expires_at=expires_at,
        )
        site = settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/")
        body = {"url": site + path, "expires_at": expires_at}
        return Response(PreferenceLinkBody(body).data, status=status.HTTP_201_CREATED)


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
