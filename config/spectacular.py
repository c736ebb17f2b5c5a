"""How the API's document is made: drf-spectacular's settings."""

from __future__ import annotations

from typing import Any

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Notifications",
    "DESCRIPTION": "Accept, deliver and explain notifications on every channel.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/v1/",
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "config.openapi.add_problem_responses",
    ],
    "ENUM_NAME_OVERRIDES": {
        "ChannelEnum": "notifications.serializers.documented.CHANNELS",
        "AddressChannelEnum": "preferences.serializers.suppressions.ADDRESS_CHANNELS",
        "NotificationStatusEnum": "notifications.serializers.documented.STATES",
        "DeliveryStatusEnum": "notifications.serializers.documented.DELIVERY_STATUSES",
    },
}
