"""Paths below the root, for browsers and for mail clients' one click."""

from __future__ import annotations

from django.urls import path

from preferences.pages import PreferenceCentre, UnsubscribePage

urlpatterns = [
    path("unsubscribe/<str:token>", UnsubscribePage.as_view(), name="unsubscribe"),
    path(
        "preferences/<str:token>", PreferenceCentre.as_view(), name="preference-centre"
    ),
]
