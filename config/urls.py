"""The map of the site: the API below /v1/, the admin, health and documents."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView

import config.openapi  # noqa: F401  # registers how the credentials are documented
from config import problem_details
from config.health import livez, readyz
from config.observability import metrics

urlpatterns = [
    path("v1/", include("tenants.urls")),
    path("v1/", include("preferences.urls")),
    path("v1/", include("inbox.urls")),
    path("v1/", include("templates.urls")),
    path("v1/", include("providers.urls")),
    path("v1/", include("notifications.urls")),
    path("", include("inbox.urls_pages")),
    path("", include("preferences.urls_pages")),
    path("admin/", admin.site.urls),
    path("openapi.json", SpectacularJSONAPIView.as_view(), name="openapi"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="openapi"), name="docs"),
    path("problems/<slug:slug>", problem_details.describe, name="problem"),
    path("livez", livez),
    path("readyz", readyz),
    path("metrics", metrics),
]

handler400 = problem_details.handler400
handler403 = problem_details.handler403
handler404 = problem_details.handler404
handler500 = problem_details.handler500
