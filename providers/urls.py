from __future__ import annotations

from django.urls import path

from providers.views import SandboxMessagesView

urlpatterns = [
    path("sandbox/messages", SandboxMessagesView.as_view(), name="sandbox-messages")
]
