"""The addresses of docs/sandbox.md."""

from __future__ import annotations

import phonenumbers
import pytest

from providers.channels import Channel
from providers.sandbox import SandboxAdapter
from providers.sandbox_recipients import Behaviour, Script, read_script

PHONE_DIGITS = {
    "0": Behaviour.ACCEPT,
    "1": Behaviour.TRANSIENT,
    "2": Behaviour.RATE_LIMITED,
    "3": Behaviour.PERMANENT,
    "4": Behaviour.BAD_MESSAGE,
    "5": Behaviour.ACCOUNT_FAULT,
    "6": Behaviour.TIMEOUT,
    "7": Behaviour.OPTED_OUT,
    "8": Behaviour.SLOW,
}


def script_of(channel, recipient):
    address, user_id = recipient, "usr_42"
    if channel is Channel.IN_APP:
        address, user_id = "", recipient
    return read_script(channel=channel, address=address, user_id=user_id)


@pytest.mark.parametrize("behaviour", Behaviour)
@pytest.mark.parametrize(
    ("channel", "form", "counted"),
    [
        (Channel.EMAIL, "{}@simulate.example", "{}+3@simulate.example"),
        (Channel.PUSH, "sandbox-{}", "sandbox-{}-3"),
        (Channel.IN_APP, "simulate-{}", "simulate-{}-3"),
    ],
)
def test_recipient_names_its_behaviour(channel, form, counted, behaviour):
    assert script_of(channel, form.format(behaviour)) == Script(behaviour, 1)
    assert script_of(channel, counted.format(behaviour)) == Script(behaviour, 3)


@pytest.mark.parametrize(("digit", "behaviour"), PHONE_DIGITS.items())
def test_phone_number_names_its_behaviour_by_digits(digit, behaviour):
    number = f"+120255501{digit}2"

    assert script_of(Channel.SMS, number) == Script(behaviour, 2)
    assert phonenumbers.is_valid_number(phonenumbers.parse(number))


@pytest.mark.parametrize(
    ("channel", "recipient"),
    [
        (Channel.EMAIL, "transient@example.org"),
        (Channel.EMAIL, "anything@simulate.example"),
        (Channel.EMAIL, "transient+x@simulate.example"),
        (Channel.EMAIL, "transient+1@simulate.example.org"),
        (Channel.SMS, "+12025550191"),
        (Channel.SMS, "+120255501111"),
        (Channel.SMS, "+84912345678"),
        (Channel.PUSH, "simulate-transient-2"),
        (Channel.IN_APP, "usr_42"),
    ],
)
def test_other_recipients_are_ordinary(channel, recipient):
    assert script_of(channel, recipient) is None


def test_user_id_scripts_the_inbox_alone():
    script = read_script(
        channel=Channel.EMAIL, address="a@example.org", user_id="simulate-transient"
    )

    assert script is None


def test_sandbox_serves_every_channel():
    assert SandboxAdapter.channels == frozenset(Channel)
