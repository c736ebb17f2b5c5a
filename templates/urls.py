from __future__ import annotations

from django.urls import path

from templates.views import PreviewView

urlpatterns = [
    path(
        "templates/<str:name>/preview", PreviewView.as_view(), name="template-preview"
    ),
]
