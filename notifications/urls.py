from __future__ import annotations

from django.urls import path

from notifications.views import (
    CancelReferenceView,
    CancelView,
    NotificationsView,
    NotificationView,
)

urlpatterns = [
    path("notifications", NotificationsView.as_view(), name="notifications"),
    path(
        "notifications/cancel",
        CancelReferenceView.as_view(),
        name="cancel-notifications",
    ),
    path(
        "notifications/<str:notification_id>",
        NotificationView.as_view(),
        name="notification",
    ),
    path(
        "notifications/<str:notification_id>/cancel",
        CancelView.as_view(),
        name="cancel-notification",
    ),
]
