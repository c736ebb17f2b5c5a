"""/v1/templates/…: what a version would say."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from foundation.field_problems import FieldProblem
from templates.catalog import UnknownTemplateVersion, find_any_version
from templates.previewing import PreviewRefused, preview_version
from templates.serializers import PreviewedVersionBody, WishSerializer
from tenants.authentication import ApiKeyAuthentication, caller
from tenants.permissions import HasScope
from tenants.scopes import Scope


class PreviewView(APIView):
    """What a version would say, drafts included."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [HasScope]
    required_scope = Scope.TEMPLATES_READ

    @extend_schema(
        operation_id="preview_template",
        request=WishSerializer,
        responses=PreviewedVersionBody,
    )
    def post(self, request: Request, name: str) -> Response:
        """Render a version and measure it; nothing is stored or sent."""
        asked = WishSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        number = asked.validated_data.get("version")
        try:
            version = find_any_version(
                tenant_id=caller(request).tenant_id, name=name, number=number
            )
        except UnknownTemplateVersion as unknown:
            detail = "there is none" if number else "none is approved: name a draft"
            raise PreviewRefused(FieldProblem("/version", detail)) from unknown
        previewed = preview_version(version, asked.wish())
        return Response(PreviewedVersionBody(previewed).data)
