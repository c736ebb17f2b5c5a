"""A field of JSON that people can read."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget


class LaidOutJSONField(forms.JSONField):
    """JSON for people to read and write."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 14, "style": "max-width: 42rem"})

    def prepare_value(self, value: Any) -> Any:
        """Lay it out, unless it is what somebody has just typed."""
        if value is None or isinstance(value, str):
            return value
        return lay_out(value)


class JSONObjectField(LaidOutJSONField):
    """A JSON object for people to read and write."""

    def validate(self, value: Any) -> None:
        """Refuse other JSON."""
        super().validate(value)
        if value is not None and not isinstance(value, dict):
            raise forms.ValidationError("Write a JSON object: {…}")


def lay_out(value: object) -> str:
    """Write JSON for people."""
    return json.dumps(value, indent=2, ensure_ascii=False)
