"""Classes of Django and unfold as type checkers need them.

unfold has no types of its own, and Django's generics cannot be subscripted at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from django import forms
    from django.contrib import admin
    from django.core import paginator

    ModelAdmin = admin.ModelAdmin[Any]
    ModelForm = forms.ModelForm[Any]
    Paginator = paginator.Paginator[Any]
else:
    from django.core.paginator import Paginator
    from django.forms import ModelForm
    from unfold.admin import ModelAdmin

__all__ = ["ModelAdmin", "ModelForm", "Paginator"]
