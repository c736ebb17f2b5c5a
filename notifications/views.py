"""/v1/notifications: submit, ask, list, cancel."""

from __future__ import annotations

import time

import orjson
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.ids import parse_public_id, public_id
from foundation.keyset import decode_cursor, encode_cursor
from foundation.statements import server_cursor
from notifications.acceptance.accept import Accepted, accept
from notifications.acceptance.admission import admit
from notifications.acceptance.submission import Caller
from notifications.cancellation import (
    Asker,
    Cancelled,
    CancelledTooLate,
    CancelResult,
    ReferencePage,
    cancel,
    cancel_page,
)
from notifications.metrics import observe_acceptance
from notifications.serializers.body import decode_body, to_submission
from notifications.serializers.documented import (
    AcceptedSerializer,
    CancelledPageSerializer,
    CancelledSerializer,
    CancelReferenceSerializer,
    CancelSerializer,
    ListQuerySerializer,
    NotificationDetailSerializer,
    NotificationPageSerializer,
    NotificationSerializer,
)
from notifications.tracking import (
    Filter,
    Standing,
    list_standings,
    read_decisions,
    read_metadata,
    read_standing,
)
from providers.channels import Channel
from templates.catalog import PinnedVersion, load_versions
from tenants.answers import answer, answer_once, rate_headers, to_http
from tenants.authentication import ApiKeyAuthentication, caller
from tenants.categories import Priority
from tenants.idempotency import StoredResponse, fingerprint, key_of, read_key
from tenants.openapi import IDEMPOTENCY_KEY, RATE_HEADERS, TOO_MANY
from tenants.permissions import HasScope
from tenants.principals import ServicePrincipal
from tenants.request_rate.rate import RateStanding
from tenants.scopes import Scope


class NotificationsView(APIView):
    """All notifications of the caller's tenant."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = {
        "POST": Scope.NOTIFICATIONS_SEND,
        "GET": Scope.NOTIFICATIONS_READ,
    }
    serializer_class = NotificationSerializer

    @extend_schema(
        operation_id="submit_notification",
        parameters=[IDEMPOTENCY_KEY, *RATE_HEADERS],
        request=NotificationSerializer,
        responses={202: AcceptedSerializer, 429: TOO_MANY},
    )
    def post(self, request: Request) -> HttpResponse:
        """Accept a notification durably; 202 says accepted, not delivered."""
        started = time.perf_counter()
        result = "refused"
        try:
            accepted, rate = _submit(request)
            result = "replayed" if accepted.replayed else "accepted"
        finally:
            observe_acceptance(result=result, seconds=time.perf_counter() - started)
        return to_http(
            accepted.response, replayed=accepted.replayed, headers=rate_headers(rate)
        )

    @extend_schema(
        operation_id="list_notifications",
        parameters=[ListQuerySerializer],
        responses=NotificationPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """List notifications, newest first."""
        query = ListQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        chosen = query.validated_data
        tenant_id = caller(request).tenant_id
        scope = ("notifications", tenant_id)
        cursor, channel = chosen.get("cursor"), chosen.get("channel")
        standings, more = list_standings(
            tenant_id=tenant_id,
            chosen=Filter(
                user_id=chosen.get("user_id"),
                reference=chosen.get("reference"),
                state=chosen.get("status"),
                channel=Channel.from_key(channel) if channel else None,
                created_from=chosen.get("created_from"),
                created_to=chosen.get("created_to"),
                after=decode_cursor(scope, cursor) if cursor else None,
                limit=chosen["limit"],
            ),
        )
        versions = load_versions({row.header.template_version_id for row in standings})
        last = standings[-1].header.id if more else None
        page = {
            "items": [
                _standing_body(standing, versions[standing.header.template_version_id])
                for standing in standings
            ],
            "next_cursor": encode_cursor(scope, last) if last else None,
        }
        return Response(NotificationPageSerializer(page).data)


def _submit(request: Request) -> tuple[Accepted, RateStanding]:
    body = decode_body(request.data)
    principal = caller(request)
    submitter = Caller(
        tenant_id=principal.tenant_id,
        actor=principal.actor,
        is_test=_is_test(request),
    )
    rate = admit(
        caller=submitter,
        template_name=body.template.name,
        template_version=body.template.version,
        priority=Priority[body.priority.upper()] if body.priority else None,
    )
    key = read_key(
        header=request.headers.get("Idempotency-Key"), body_value=body.idempotency_key
    )
    submission = to_submission(
        body,
        idempotency_key=key_of(principal, key),
        fingerprint=fingerprint(method="POST", path=request.path, body=request.data),
    )
    return accept(caller=submitter, submission=submission), rate


class NotificationView(APIView):
    """One notification."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.NOTIFICATIONS_READ
    serializer_class = NotificationDetailSerializer

    @extend_schema(
        operation_id="read_notification", responses=NotificationDetailSerializer
    )
    def get(self, request: Request, notification_id: str) -> Response:
        """Tell where a notification and each of its deliveries stand."""
        tenant_id = caller(request).tenant_id
        identifier = parse_public_id("ntf", notification_id)
        standing = read_standing(tenant_id=tenant_id, notification_id=identifier)
        version_id = standing.header.template_version_id
        version = load_versions([version_id])[version_id]
        body = _standing_body(standing, version) | {
            "template": {"name": version.name, "version": version.number},
            "decisions": read_decisions(notification_id=identifier),
            "metadata": read_metadata(tenant_id=tenant_id, notification_id=identifier),
        }
        return Response(NotificationDetailSerializer(body).data)


class CancelView(APIView):
    """Stop a notification."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.NOTIFICATIONS_CANCEL
    serializer_class = CancelledSerializer

    @extend_schema(
        operation_id="cancel_notification",
        parameters=[IDEMPOTENCY_KEY],
        request=CancelSerializer,
        responses=CancelledSerializer,
    )
    def post(self, request: Request, notification_id: str) -> HttpResponse:
        """Stop what is pending; 409 where nothing could be stopped any more."""
        identifier = parse_public_id("ntf", notification_id)
        CancelSerializer(data=request.data).is_valid(raise_exception=True)
        asker = _asker(request)

        def work() -> StoredResponse:
            with server_cursor() as cursor:
                cancelled = cancel(cursor, asker=asker, notification_id=identifier)
            results = {known.result for known in cancelled.channels}
            status = 200 if results - {CancelResult.TOO_LATE} else CONFLICT
            return answer(status, _cancelled_body(cancelled), resource=identifier)

        response = answer_once(request, work=work, required=False)
        if response.status_code == CONFLICT:
            # Raised after the commit: that it was asked for stays in the audit trail.
            raise CancelledTooLate(orjson.loads(response.content)["channels"])
        return response


CONFLICT = 409


class CancelReferenceView(APIView):
    """Stop everything of one reference."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.NOTIFICATIONS_CANCEL
    serializer_class = CancelledPageSerializer

    @extend_schema(
        operation_id="cancel_notifications_of_reference",
        parameters=[IDEMPOTENCY_KEY],
        request=CancelReferenceSerializer,
        responses=CancelledPageSerializer,
    )
    def post(self, request: Request) -> HttpResponse:
        """Stop what is pending under a reference, a page at a time, oldest first.

        Each page is a request and, where keys are used, has a key of its own; go on
        with `next_cursor` until it is null. Then everything has been met that was
        accepted before the first page was asked for. An unknown reference has an empty
        page. A test key stops test notifications alone; a page may hold fewer than
        `limit` and still have a `next_cursor`.
        """
        asked = CancelReferenceSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        asker, chosen = _asker(request), asked.validated_data
        # A cursor is good for the reference that it was given out for.
        scope = ("cancel", asker.tenant_id, chosen["reference"])
        after = chosen.get("cursor")
        page = ReferencePage(
            reference=chosen["reference"],
            after=None if after is None else decode_cursor(scope, after),
            limit=chosen["limit"],
            only_test=_is_test(request),
        )

        def work() -> StoredResponse:
            with server_cursor() as cursor:
                items, last = cancel_page(cursor, asker=asker, page=page)
            body = {
                "items": [_cancelled_body(item) for item in items],
                "next_cursor": encode_cursor(scope, last) if last else None,
            }
            return answer(200, body)

        return answer_once(request, work=work, required=False)


def _asker(request: Request) -> Asker:
    principal = caller(request)
    return Asker(tenant_id=principal.tenant_id, actor=principal.actor)


def _is_test(request: Request) -> bool:
    principal = caller(request)
    return isinstance(principal, ServicePrincipal) and principal.is_test


def _cancelled_body(cancelled: Cancelled) -> dict[str, object]:
    return {
        "notification_id": public_id("ntf", cancelled.notification_id),
        "channels": [
            {
                "delivery_id": public_id("dlv", known.delivery_id),
                "channel": known.channel.key,
                "result": known.result.value,
                "status": known.status.value,
            }
            for known in cancelled.channels
        ],
    }


def _standing_body(standing: Standing, version: PinnedVersion) -> dict[str, object]:
    header = standing.header
    return {
        "notification_id": public_id("ntf", header.id),
        "status": standing.state,
        "user_id": header.user_id,
        "category": version.category,
        "priority": Priority(header.priority).key,
        "reference": header.reference,
        "is_test": header.is_test,
        "created_at": header.created_at,
        "send_at": header.send_at,
        "expires_at": header.expires_at,
        "channels": [
            {
                "delivery_id": public_id("dlv", known.id),
                "channel": known.channel.key,
                "status": known.status.value,
                "waiting_for": known.waiting_for,
                "next_attempt_at": known.next_attempt_at,
                "attempts": known.attempts,
                "maybe_sent": known.maybe_sent,
                "reason": known.reason,
                "code": known.code,
                "provider": known.provider,
                "updated_at": known.updated_at,
            }
            for known in standing.deliveries
        ],
    }
