"""The channels a notification can go out on."""

from __future__ import annotations

from enum import IntEnum


class UnknownChannel(ValueError):
    """There is no channel of this name."""


class Channel(IntEnum):
    """A way to reach a person; the number is what the tables hold."""

    EMAIL = 1
    SMS = 2
    PUSH = 3
    IN_APP = 4

    @property
    def key(self) -> str:
        """Return the name that the API, settings and metric labels use."""
        return self.name.lower()

    @classmethod
    def from_key(cls, key: str) -> Channel:
        """Return the channel of that name; raise UnknownChannel if there is none."""
        channel = _BY_KEY.get(key)
        if channel is None:
            raise UnknownChannel(key)
        return channel


_BY_KEY = {channel.key: channel for channel in Channel}
CHANNEL_CHOICES = [(channel.value, channel.key) for channel in Channel]
