"""Paths below /v1/."""

from __future__ import annotations

from django.urls import path

from preferences.views.choices import (
    CategoriesView,
    ExplainView,
    PreferenceLinkView,
    PreferencesView,
)
from preferences.views.consents import ConsentsView
from preferences.views.devices import DevicesView, DeviceView
from preferences.views.people import RecipientsView, RecipientView
from preferences.views.suppressions import SuppressionsView, SuppressionView

urlpatterns = [
    path("users", RecipientsView.as_view(), name="users"),
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
    path(
        "users/<str:user_id>/preference-link",
        PreferenceLinkView.as_view(),
        name="preference-link",
    ),
    path("users/<str:user_id>/explain", ExplainView.as_view(), name="explain"),
    path("users/<str:user_id>/consents", ConsentsView.as_view(), name="consents"),
    path("suppressions", SuppressionsView.as_view(), name="suppressions"),
    path(
        "suppressions/<str:suppression_id>",
        SuppressionView.as_view(),
        name="suppression",
    ),
    path("categories", CategoriesView.as_view(), name="categories"),
]
