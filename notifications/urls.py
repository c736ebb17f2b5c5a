from __future__ import annotations

from django.urls import path

from notifications.views import CancelView, NotificationsView, NotificationView

urlpatterns = [
    path("notifications", NotificationsView.as_view(), name="notifications"),
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
