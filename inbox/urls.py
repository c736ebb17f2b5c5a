"""Paths below /v1/."""

from __future__ import annotations

from django.urls import path

from inbox.views import InboxView, ReadView

urlpatterns = [
    path("users/<str:user_id>/inbox", InboxView.as_view(), name="inbox"),
    path(
        "users/<str:user_id>/inbox/<str:message_id>/read",
        ReadView.as_view(),
        name="inbox-read",
    ),
]
