"""Who uses the platform: tenants, their keys, and the staff who look after them."""

from __future__ import annotations

from tenants.models.category import TenantCategory
from tenants.models.keys import ApiKey, TenantKey
from tenants.models.pumping_alarm import PumpingAlarm
from tenants.models.staff import StaffMembership
from tenants.models.tenant import Tenant

__all__ = [
    "ApiKey",
    "PumpingAlarm",
    "StaffMembership",
    "Tenant",
    "TenantCategory",
    "TenantKey",
]
