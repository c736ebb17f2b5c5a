"""What the API takes and shows of an inbox."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from foundation.ids import public_id
from inbox.reading import Message


class PageQuery(serializers.Serializer[Any]):
    """Which page, and how long."""

    cursor = serializers.CharField(required=False)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)


class MessageBody(serializers.Serializer[Message]):
    """A message; `link` is null where there is none."""

    id = serializers.SerializerMethodField()
    title = serializers.CharField(source="content.title")
    body = serializers.CharField(source="content.body")
    link = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True)

    def get_id(self, message: Message) -> str:
        return public_id("msg", message.id)

    def get_link(self, message: Message) -> str | None:
        return message.content.link or None


class PageBody(serializers.Serializer[Any]):
    """A page of messages, the newest first; `unread_count` is of the whole inbox."""

    items = MessageBody(many=True, source="messages")
    next_cursor = serializers.CharField(allow_null=True)
    unread_count = serializers.IntegerField()


class ReadBody(serializers.Serializer[Any]):
    """When a message was first read."""

    id = serializers.CharField()
    read_at = serializers.DateTimeField()
