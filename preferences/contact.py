"""Turn what people type as an e-mail address or phone number into its one spelling."""

from __future__ import annotations

import re
import unicodedata

import phonenumbers
from email_validator import EmailNotValidError, validate_email
from phonenumbers import NumberParseException, PhoneNumber, PhoneNumberType

from providers.channels import Channel

# What copying from a document or a chat leaves around an address. Line breaks are
# not among them: they are how headers and second recipients are smuggled in.
_PADDING = " \t\u00a0\u200b\u200c\u200d\u2060\ufeff"
_LINE_BREAKING = frozenset({"Cc", "Zl", "Zp"})

_LONGEST_EMAIL = 320
_LONGEST_LOCAL_PART = 64
_LONGEST_PHONE = 64
# Digits of any script, since the library reads them all, and what people put between.
_PHONE = re.compile(r"[+＋]?[\d\s()\[\].\-‐-―−/]+")  # noqa: RUF001
# Neither a mobile number nor one that might be: an SMS never arrives there.
_TEXTABLE = {PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE_OR_MOBILE}
_UNTEXTABLE_REASONS = {
    PhoneNumberType.PREMIUM_RATE: "premium_rate",
    PhoneNumberType.SHARED_COST: "shared_cost",
    PhoneNumberType.FIXED_LINE: "landline",
}
_GLOBAL_NETWORKS = "001"


class UnusableAddress(ValueError):
    """Nothing can be sent to this address; `reason` is for machines."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def normalise_address(text: str, *, channel: Channel, region: str | None) -> str:
    """Return the one spelling of an e-mail address or phone number."""
    if channel is Channel.EMAIL:
        return normalise_email(text)
    return normalise_phone(text, region=region)


def normalise_email(text: str) -> str:
    """Return one bare address: the domain in ASCII lower case, the local part as is."""
    address = _without_padding(text, longest=_LONGEST_EMAIL)
    local_part, at_sign, _ = address.rpartition("@")
    if not at_sign:
        raise UnusableAddress("not_an_address", "An e-mail address has an @.")
    if not local_part.isascii():
        raise UnusableAddress(
            "local_part_not_ascii", "Only ASCII can stand before the @."
        )
    if len(local_part) > _LONGEST_LOCAL_PART:
        raise UnusableAddress(
            "local_part_too_long", "At most 64 characters can stand before the @."
        )
    try:
        valid = validate_email(address, check_deliverability=False)
    except EmailNotValidError as refused:
        raise UnusableAddress("not_an_address", str(refused)) from refused
    return f"{valid.local_part}@{valid.ascii_domain}"


def normalise_phone(text: str, *, region: str | None) -> str:
    """Return E.164; a number without a country code belongs to the region, if any."""
    typed = _without_padding(text, longest=_LONGEST_PHONE)
    if not _PHONE.fullmatch(typed):
        raise UnusableAddress(
            "not_a_phone_number",
            "A phone number is digits, with a + and separators at most:"
            " no letters, no extension, no second number.",
        )
    if not region and typed[0] not in "+＋":  # noqa: RUF001
        raise UnusableAddress(
            "region_required",
            "Write the number with + and country code: the tenant has no region.",
        )
    try:
        number = phonenumbers.parse(typed, region or None)
    except NumberParseException as refused:
        raise UnusableAddress("not_a_phone_number", str(refused)) from refused
    check_can_be_texted(number)
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def check_can_be_texted(number: PhoneNumber) -> None:
    """Raise UnusableAddress for a kind of number that is never sent a text message."""
    if not phonenumbers.is_valid_number(number):
        raise UnusableAddress("not_a_phone_number", "Nobody can have this number.")
    if phonenumbers.region_code_for_number(number) == _GLOBAL_NETWORKS:
        raise UnusableAddress(
            "global_network", "Satellite and global networks are not served."
        )
    kind = phonenumbers.number_type(number)
    if kind not in _TEXTABLE:
        raise UnusableAddress(
            _UNTEXTABLE_REASONS.get(kind, "not_mobile"),
            "This kind of number does not take SMS.",
        )


def _without_padding(text: str, *, longest: int) -> str:
    address = text.strip(_PADDING)
    if not address:
        raise UnusableAddress("empty", "The address is empty.")
    if len(address) > longest:
        raise UnusableAddress("too_long", f"At most {longest} characters.")
    if any(unicodedata.category(character) in _LINE_BREAKING for character in address):
        raise UnusableAddress(
            "control_characters", "Line breaks and control characters are refused."
        )
    return address
