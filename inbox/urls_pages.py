"""Paths below the root, for browsers."""

from __future__ import annotations

from django.urls import re_path

from foundation.user_ids import USER_ID
from inbox.pages import InboxPage

urlpatterns = [
    re_path(
        rf"^inbox/(?P<user_id>{USER_ID})$",
        InboxPage.as_view(),
        name="inbox-page",
    ),
]
