from __future__ import annotations

from django.urls import path

from benchmarks.baselines.drf_orm.views import NotificationsView
from config.health import readyz

urlpatterns = [
    path("v1/notifications", NotificationsView.as_view()),
    path("readyz", readyz),
]
