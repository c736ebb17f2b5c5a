from __future__ import annotations

import pytest

from tenants.checks import check_rate


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("TENANT_RATE", 1, []),
        ("TENANT_RATE", 0, ["tenants.E003"]),
        ("EXPECTED_WEB_PROCESSES", 0, ["tenants.E003"]),
    ],
)
def test_a_rate_that_lets_nobody_in_is_an_error(settings, name, value, found):
    setattr(settings, name, value)

    assert [each.id for each in check_rate()] == found
