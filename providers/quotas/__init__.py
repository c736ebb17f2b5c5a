"""Calls a second: booked in Valkey for all workers, each call a slot in time."""
