"""Accounts come from the settings; wrong settings do not start."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured

from providers.channels import Channel
from providers.checks import check_providers, check_routes, check_test_provider
from providers.email.smtp import SmtpAdapter, parse_url
from providers.email.smtp_connection import Endpoint
from providers.http import HttpAdapter
from providers.registry import (
    UnknownProvider,
    account,
    adapter_class,
    idempotency_window,
    unknown_policy,
)
from providers.unknown_policy import UnknownPolicy
from tenants.categories import Category

ROUTES = {"email": "own", "sms": "own", "push": "own", "in_app": "all"}
HTTP = {
    "BACKEND": "providers.http.HttpAdapter",
    "OPTIONS": {"url": "https://provider.example/"},
}


def test_account_has_its_adapter_and_limits(settings):
    settings.PROVIDERS = {"own": {**HTTP, "CONCURRENCY": 7, "TIMEOUT": 4.5}}

    opened = account("own")

    assert isinstance(opened.adapter, HttpAdapter)
    assert (opened.alias, opened.concurrency) == ("own", 7)
    assert opened.timeout == timedelta(seconds=4.5)


def test_limits_have_defaults(settings):
    settings.PROVIDERS = {"own": HTTP}

    opened = account("own")

    assert (opened.concurrency, opened.timeout) == (50, timedelta(seconds=10))


def test_every_account_has_an_adapter_of_its_own(settings):
    settings.PROVIDERS = {"own": HTTP}

    assert account("own").adapter is not account("own").adapter
    assert adapter_class("own") is HttpAdapter


def test_unknown_alias_is_a_configuration_error_and_a_key_error(settings):
    settings.PROVIDERS = {}

    with pytest.raises(UnknownProvider) as refusal:
        account("nobody")

    assert isinstance(refusal.value, ImproperlyConfigured)
    assert isinstance(refusal.value, KeyError)


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({**HTTP, "TIMOUT": 3}, "providers.E001"),
        ({}, "providers.E002"),
        ({"BACKEND": "providers.nowhere.Adapter"}, "providers.E002"),
        ({"BACKEND": "providers.base.SendResult"}, "providers.E002"),
        ({"BACKEND": "providers.http.HttpAdapter"}, "providers.E002"),
        ({**HTTP, "OPTIONS": {"url": "ftp://x"}}, "providers.E002"),
        ({**HTTP, "OPTIONS": {"url": "https://x/", "size": 1}}, "providers.E002"),
        ({**HTTP, "TIMEOUT": "soon"}, "providers.E002"),
        ({**HTTP, "CONCURRENCY": 0}, "providers.E003"),
        ({**HTTP, "TIMEOUT": 3.0}, "providers.E003"),
        ({**HTTP, "RATE": 0}, "providers.E007"),
        ({**HTTP, "TENANT_RATE": -1.0}, "providers.E007"),
        ({**HTTP, "RATE": None, "SENDER_RATE": 5.0}, "providers.E007"),
        ({**HTTP, "RATE": None, "PREFIX_RATES": {"+84": 5.0}}, "providers.E007"),
        ({**HTTP, "UNKNOWN": {"otp": "resend"}}, "providers.E009"),
        ({**HTTP, "UNKNOWN": {"invoices": "park"}}, "providers.E009"),
        ({**HTTP, "UNKNOWN": "park"}, "providers.E009"),
        ({**HTTP, "IDEMPOTENCY_WINDOW": "a day"}, "providers.E009"),
        ({**HTTP, "IDEMPOTENCY_WINDOW": -1}, "providers.E009"),
    ],
)
def test_wrong_account_is_found_at_start(settings, entry, code):
    settings.PROVIDERS = {"own": entry}

    assert [message.id for message in check_providers()] == [code]


def test_error_about_unknown_outcomes_names_the_field(settings):
    settings.PROVIDERS = {"own": {**HTTP, "UNKNOWN": {"otp": "resend"}}}

    (message,) = check_providers()

    assert "UNKNOWN['otp']" in message.msg
    assert "reconcile, retry, park" in str(message.hint)


def test_account_chooses_what_an_unknown_outcome_leads_to(settings):
    settings.PROVIDERS = {"own": {**HTTP, "UNKNOWN": {"otp": "park"}}}

    def chosen(category):
        return unknown_policy("own", category=category, channel=Channel.SMS)

    assert chosen(Category.OTP) is UnknownPolicy.PARK
    assert chosen(Category.TRANSACTIONAL) is UnknownPolicy.RECONCILE


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({}, timedelta(hours=24)),
        ({"IDEMPOTENCY_WINDOW": 840}, timedelta(minutes=14)),
        ({"IDEMPOTENCY_WINDOW": 0}, timedelta(0)),
    ],
)
def test_account_may_narrow_the_window_of_its_adapter(settings, entry, window):
    settings.PROVIDERS = {"own": {**HTTP, **entry}}

    assert idempotency_window("own") == window


def test_provider_without_a_key_has_no_window(settings):
    settings.PROVIDERS = {
        "own": {"BACKEND": "providers.sandbox.ForgetfulSandboxAdapter"}
    }

    assert idempotency_window("own") == timedelta(0)


def test_accounts_of_one_quota_must_agree_on_its_rate(settings):
    settings.PROVIDERS = {
        "a": {**HTTP, "QUOTA": "key", "RATE": 5.0},
        "b": {**HTTP, "QUOTA": "key", "RATE": 6.0},
        "c": {**HTTP, "QUOTA": "other", "RATE": 7.0},
    }

    assert [message.id for message in check_providers()] == ["providers.E008"]


@pytest.mark.parametrize(
    ("routes", "codes"),
    [
        ({"email": "own", "sms": "own", "push": "own"}, ["providers.E004"]),
        ({**ROUTES, "email": [{"own": 3}, {"all": 0.5}]}, []),
        ({**ROUTES, "email": [{"own": 3}, {"nobody": 1}]}, ["providers.E004"]),
        ({**ROUTES, "email": [{"own": 3}, {"own": 1}]}, ["providers.E004"]),
        ({**ROUTES, "email": [{"own": 0}]}, ["providers.E004"]),
        ({**ROUTES, "email": [{"own": "1"}]}, ["providers.E004"]),
        ({**ROUTES, "email": [{}]}, ["providers.E004"]),
        ({**ROUTES, "email": []}, ["providers.E004"]),
        ({**ROUTES, "email": ["own"]}, ["providers.E004"]),
        ({**ROUTES, "email": 7}, ["providers.E004"]),
        (
            {"email": "own", "sms": "own", "push": "nobody", "in_app": "own"},
            ["providers.E004"] * 2,
        ),
        (
            {"email": "own", "sms": "own", "push": "own", "in_app": "all", "fax": "x"},
            ["providers.E005"],
        ),
    ],
)
def test_wrong_route_is_found_at_start(settings, routes, codes):
    settings.PROVIDERS = {
        "own": HTTP,
        "all": {"BACKEND": "providers.sandbox.SandboxAdapter"},
    }
    settings.PROVIDER_ROUTES = routes

    assert [message.id for message in check_routes()] == codes


@pytest.mark.parametrize("alias", ["own", "nobody"])
def test_test_provider_must_serve_every_channel(settings, alias):
    settings.PROVIDERS = {"own": HTTP}
    settings.TEST_PROVIDER = alias

    assert [message.id for message in check_test_provider()] == ["providers.E006"]


def test_platforms_own_settings_are_right():
    assert check_providers() + check_routes() + check_test_provider() == []


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        (
            "smtp://mail.example",
            Endpoint(host="mail.example", port=587, tls="starttls"),
        ),
        (
            "smtp://us%40er:p%2Fw@mail.example:2525?tls=tls",
            Endpoint(
                host="mail.example",
                port=2525,
                tls="tls",
                username="us@er",
                password="p/w",
            ),
        ),
        (
            "smtp://127.0.0.1?tls=none",
            Endpoint(host="127.0.0.1", port=25, tls="none"),
        ),
    ],
)
def test_smtp_url_says_where_and_how(url, endpoint):
    assert parse_url(url) == endpoint


@pytest.mark.parametrize(
    "options",
    [
        {"url": "mail.example"},
        {"url": "http://mail.example"},
        {"url": "smtp://mail.example:port"},
        {"url": "smtp://mail.example?tls=maybe"},
        {"url": "smtp://user:s3cret@mail.example?tls=none"},
        {"sender": ""},
        {"sender": "Acme <a@example.com>, B <b@example.com>"},
        {"sender": "Acme"},
    ],
)
def test_unusable_smtp_options_are_refused_without_quoting_the_secret(options):
    valid = {"url": "smtp://mail.example", "sender": "Acme <notify@acme.example>"}

    with pytest.raises(ImproperlyConfigured) as refusal:
        SmtpAdapter(**{**valid, **options})

    assert "s3cret" not in str(refusal.value)
