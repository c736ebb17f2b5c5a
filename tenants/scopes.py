"""What a credential may be allowed to do."""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    """The closed list of permissions of API keys and user tokens."""

    NOTIFICATIONS_SEND = "notifications:send"
    NOTIFICATIONS_READ = "notifications:read"
    NOTIFICATIONS_CANCEL = "notifications:cancel"
    RECIPIENTS_READ = "recipients:read"
    RECIPIENTS_WRITE = "recipients:write"
    INBOX_READ = "inbox:read"
    INBOX_WRITE = "inbox:write"
    TOKENS_ISSUE = "tokens:issue"
    SANDBOX_READ = "sandbox:read"
    TEMPLATES_READ = "templates:read"


class Audience(StrEnum):
    """What a user token is for; a token for one is of no use for the other."""

    INBOX = "inbox"
    PREFERENCES = "preferences"


# A user token grants these, on its own user alone.
AUDIENCE_SCOPES: dict[Audience, frozenset[str]] = {
    Audience.INBOX: frozenset({Scope.INBOX_READ, Scope.INBOX_WRITE}),
    Audience.PREFERENCES: frozenset({Scope.RECIPIENTS_READ, Scope.RECIPIENTS_WRITE}),
}
