"""What every operation of the OpenAPI document has in common."""

from __future__ import annotations

from typing import Any

import tenants.openapi  # noqa: F401  # registers its two schemes by being loaded

PROBLEM = {
    "type": "object",
    "description": "RFC 9457 problem details; docs/problems.md lists the types.",
    "required": ["type", "title", "status", "detail", "instance", "request_id"],
    "properties": {
        "type": {"type": "string", "examples": ["/problems/invalid-request"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {
                    "pointer": {
                        "type": "string",
                        "description": "JSON pointer into the body.",
                    },
                    "detail": {"type": "string"},
                },
            },
        },
    },
}
_ANY_ERROR = {
    "description": "Whatever went wrong.",
    "content": {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
    },
}


def add_problem_responses(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Give every operation the one form that its errors have, named or not."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    for operations in result["paths"].values():
        for operation in operations.values():
            responses = operation["responses"]
            responses.setdefault("default", _ANY_ERROR)
            for status, response in responses.items():
                if status[0] in "45":
                    response["content"] = _ANY_ERROR["content"]
    return result
