"""What text messages cost, as far as it is known when they are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from tenants.limits import MILLIONTHS

EVERYWHERE_ELSE = "*"


def segment_price(country: str) -> int:
    """Return what one segment to a country costs, in millionths."""
    prices: Mapping[str, float | str] = settings.SMS_PRICES
    price = prices.get(country, prices[EVERYWHERE_ELSE])
    return int(Decimal(str(price)) * MILLIONTHS)


def check_prices(prices: Mapping[str, float | str]) -> None:
    """Raise ImproperlyConfigured unless every country has a price."""
    if EVERYWHERE_ELSE not in prices:
        raise ImproperlyConfigured('SMS_PRICES has no price for "*", all the others')
    for country, price in prices.items():
        try:
            is_price = 0 <= Decimal(str(price)) < MILLIONTHS
        except InvalidOperation:
            is_price = False
        if not is_price:
            raise ImproperlyConfigured(f"SMS_PRICES: {country} has no price")
