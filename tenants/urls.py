"""Paths below /v1/."""

from __future__ import annotations

from django.urls import path

from tenants.views import UserTokens

urlpatterns = [
    path("users/<str:user_id>/tokens", UserTokens.as_view(), name="user-tokens"),
]
