from __future__ import annotations

from typing import Any

import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.structure.routes import METHODS, api_routes


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    GENERATOR_STATS.reset()
    generated: dict[str, Any] = SchemaGenerator().get_schema(public=True)
    return generated


def test_document_is_valid_openapi_3_1(document):
    assert document["openapi"].startswith("3.1")
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []


def test_document_was_made_without_a_warning(document):
    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache


def test_document_has_the_routes_and_no_others(document):
    """OWASP API9: nothing is served that is not documented."""
    served = {route.path: route.methods for route in api_routes()}
    documented = {
        path: set(operations) & set(METHODS)
        for path, operations in document["paths"].items()
    }

    assert documented == served


def test_every_operation_has_a_credential_and_the_form_of_its_errors(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation.get("security"), (method, path)
            assert "default" in operation["responses"], (method, path)


def test_every_operation_has_an_id_of_its_own(document):
    ids = [
        operation["operationId"]
        for operations in document["paths"].values()
        for operation in operations.values()
    ]

    assert len(ids) == len(set(ids))
