"""Paths below /v1/."""

from __future__ import annotations

from django.urls import path

from preferences.views import (
    CategoriesView,
    DevicesView,
    DeviceView,
    ExplainView,
    PreferencesView,
    RecipientView,
)

urlpatterns = [
    path("users/<str:user_id>", RecipientView.as_view(), name="user"),
    path("users/<str:user_id>/devices", DevicesView.as_view(), name="devices"),
    path(
        "users/<str:user_id>/devices/<str:device_id>",
        DeviceView.as_view(),
        name="device",
    ),
    path(
        "users/<str:user_id>/notification-preferences",
        PreferencesView.as_view(),
        name="notification-preferences",
    ),
    path("users/<str:user_id>/explain", ExplainView.as_view(), name="explain"),
    path("categories", CategoriesView.as_view(), name="categories"),
]
