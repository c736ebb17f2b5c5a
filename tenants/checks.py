"""Wrong secrets and limits fail at start, not at the first notification."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.core.checks import Error, register
from django.core.exceptions import ImproperlyConfigured

from tenants.data_keys import parse_sealing_keys
from tenants.sms_prices import check_prices
from tenants.user_tokens import check_secrets


@register
def check_sealing_keys(**_: Any) -> list[Error]:
    """tenants.E001: the keys that wrap the tenants' data keys."""
    try:
        parse_sealing_keys(settings.SEALING_KEYS)
    except ImproperlyConfigured as wrong:
        hint = "Make one: python -c \"import os,base64;print('1:'+base64."
        hint += 'b64encode(os.urandom(32)).decode())"'
        return [Error(str(wrong), hint=hint, id="tenants.E001")]
    return []


@register
def check_user_token_secrets(**_: Any) -> list[Error]:
    """tenants.E002: the secrets that sign end users' tokens."""
    try:
        check_secrets(settings.USER_TOKEN_SECRETS)
    except ImproperlyConfigured as wrong:
        hint = 'Make one: python -c "import secrets;print(secrets.token_urlsafe(50))"'
        return [Error(str(wrong), hint=hint, id="tenants.E002")]
    return []


@register
def check_rate(**_: Any) -> list[Error]:
    """tenants.E003: what the rates of tenants are reckoned from."""
    return [
        Error(f"{name} must be at least 1.", id="tenants.E003")
        for name in ("TENANT_RATE", "EXPECTED_WEB_PROCESSES")
        if getattr(settings, name) < 1
    ]


_COUNTRIES = re.compile(r"\*|[A-Z]{2}( [A-Z]{2})*")
_SMS_RULES = (
    "SMS_OTPS_IN_TEN_MINUTES",
    "SMS_OTPS_A_DAY",
    "SMS_MARKETING_A_DAY",
    "SMS_A_DAY",
    "SMS_PREFIX_ALARM",
    "SMS_PREFIX_LIMIT",
)


@register
def check_sms_rules(**_: Any) -> list[Error]:
    """tenants.E004: what text messages are held back by, and what they cost."""
    wrong = [
        f"{name} must not be negative."
        for name in _SMS_RULES
        if getattr(settings, name) < 0
    ]
    if not _COUNTRIES.fullmatch(settings.SMS_COUNTRIES):
        wrong.append('SMS_COUNTRIES is countries, as in "VN LA", or "*".')
    try:
        check_prices(settings.SMS_PRICES)
    except ImproperlyConfigured as unpriced:
        wrong.append(str(unpriced))
    return [Error(each, id="tenants.E004") for each in wrong]
