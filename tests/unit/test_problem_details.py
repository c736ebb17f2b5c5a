from __future__ import annotations

import json

import psycopg
import pytest
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import IntegrityError, OperationalError
from django.test import RequestFactory
from psycopg_pool import PoolTimeout
from rest_framework.exceptions import ValidationError

from config.problem_details import handle_exception
from config.problem_kinds import INVALID, OTHER_PROBLEMS, PROBLEMS, UNAVAILABLE, kind_of
from foundation.field_problems import FieldProblem


def handled(error: Exception):
    return handle_exception(error, {"request": RequestFactory().get("/v1/x?q=secret")})


@pytest.mark.parametrize(
    ("detail", "pointers"),
    [
        (["wrong"], [""]),
        ({"non_field_errors": ["wrong"]}, [""]),
        ({"name": ["wrong", "also wrong"]}, ["/name", "/name"]),
        ({"recipient": {"email": ["wrong"]}}, ["/recipient/email"]),
        ({"channels": {2: ["wrong"]}}, ["/channels/2"]),
        ({"items": [{}, {"a": ["wrong"]}]}, ["/items/1/a"]),
        ({"a/b~c": ["wrong"]}, ["/a~1b~0c"]),
    ],
)
def test_validation_error_names_each_field_by_pointer(detail, pointers):
    response = handled(ValidationError(detail))

    assert response.status_code == 422
    errors = json.loads(response.content)["errors"]
    assert [error["pointer"] for error in errors] == pointers


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("could not connect to 10.0.0.7"),
        PoolTimeout("couldn't get a connection after 3.00 sec"),
        psycopg.errors.LockNotAvailable(),
        psycopg.errors.QueryCanceled(),
        psycopg.InterfaceError("the connection is closed"),
    ],
)
def test_database_that_does_not_answer_means_unavailable(error):
    response = handled(error)

    assert kind_of(error) is UNAVAILABLE
    assert response["Retry-After"] == "2"
    assert b"10.0.0.7" not in response.content


@pytest.mark.parametrize("error", [IntegrityError(), KeyError("x"), AssertionError()])
def test_bug_is_left_to_the_log(error):
    assert handled(error) is None


def test_nearest_ancestor_decides():
    class Narrower(RequestDataTooBig):
        pass

    assert kind_of(Narrower()) is PROBLEMS[RequestDataTooBig]
    assert kind_of(SuspiciousOperation()) is PROBLEMS[SuspiciousOperation]


def test_error_that_names_fields_lists_them(monkeypatch):
    class Wrong(Exception):
        errors = (FieldProblem("/a", "is wrong"),)

    monkeypatch.setitem(PROBLEMS, Wrong, INVALID)

    body = json.loads(handled(Wrong("Look again.")).content)

    assert body["detail"] == "Look again."
    assert body["errors"] == [{"pointer": "/a", "detail": "is wrong"}]


def test_instance_has_no_query_string():
    assert b"secret" not in handled(ValidationError(["x"])).content


def test_one_slug_means_one_kind():
    kinds = {*PROBLEMS.values(), *OTHER_PROBLEMS}

    assert len({kind.slug for kind in kinds}) == len(kinds)
