"""`make demo`: everything with sample data, one notification through every channel."""

from __future__ import annotations

import json
import shlex
import time
from contextlib import suppress
from typing import Any
from uuid import uuid4

from devstack.folders import clone_folder
from devstack.platform import Platform, running_platform
from devstack.programs import DevstackError

CHANNELS = ["email", "sms", "push", "in_app"]
ARRIVED = {"sent", "delivered"}
GONE = {"failed", "dead", "suppressed", "cancelled", "expired", "undelivered"}
ARRIVAL_SECONDS = 60.0
TOKEN_SECONDS = 12 * 3600


def demo(transport: str) -> None:
    """Run until Ctrl-C; the data stays for the next run."""
    folder = clone_folder()
    print("Starting PostgreSQL, Valkey, web, consumers and scheduler …", flush=True)
    with running_platform(
        folder, durable=True, transport=transport, settings={}, preferred_port=8000
    ) as platform:
        _show_one_notification(platform)
        print(_page(platform), flush=True)
        _wait(platform)


def _show_one_notification(platform: Platform) -> None:
    body = sample_body(platform, user_id=platform.sample.users[0])
    started = time.monotonic()
    accepted = platform.call("POST", "/v1/notifications", body)
    notification_id = accepted["notification_id"]
    print(f"\nAccepted {notification_id} for {body['recipient']['user_id']}:")
    shown: set[str] = set()

    def all_arrived() -> bool:
        answer = platform.call("GET", f"/v1/notifications/{notification_id}")
        for delivery in answer["channels"]:
            channel, status = delivery["channel"], delivery["status"]
            if status in GONE:
                raise DevstackError(f"{channel} ended as {status}: {delivery}")
            if status in ARRIVED and channel not in shown:
                shown.add(channel)
                seconds = time.monotonic() - started
                print(f"  {channel:7} arrived after {seconds:.2f} s", flush=True)
        return shown == set(CHANNELS)

    platform.crew.wait_until(
        all_arrived, seconds=ARRIVAL_SECONDS, what="every channel arrives"
    )


def sample_body(platform: Platform, *, user_id: str) -> dict[str, Any]:
    """Return a request for the sample's first template through every channel."""
    template = platform.sample.templates[0]
    return {
        "idempotency_key": f"demo-{uuid4()}",
        "recipient": {"user_id": user_id},
        "template": {"name": template["name"], "version": template["version"]},
        "variables": template["variables"],
        "channels": CHANNELS,
    }


def _page(platform: Platform) -> str:
    sample, url = platform.sample, platform.url
    user = sample.users[0]
    asked = {"audience": "inbox", "lifetime_seconds": TOKEN_SECONDS}
    token = platform.call("POST", f"/v1/users/{user}/tokens", asked)["token"]
    body = json.dumps(sample_body(platform, user_id=user), ensure_ascii=False)
    login = f"{sample.staff['username']} / {sample.staff['password']}"
    return f"""
Admin      {url}/admin/
           {login}
Inbox      {url}/inbox/{user}#token={token}
           ({user}'s, good for 12 hours)
API docs   {url}/docs
API key    {sample.api_key}
Test key   {sample.test_key}
Logs       {platform.crew.folder}

Send one yourself:

curl -sS {url}/v1/notifications \\
  -H 'Authorization: Bearer {sample.api_key}' \\
  -H 'Content-Type: application/json' \\
  -d {shlex.quote(body)}

Ctrl-C stops everything. `make demo` goes on with the same data, `make clean` removes
it."""


def _wait(platform: Platform) -> None:
    with suppress(KeyboardInterrupt):  # the way to end a demo is no failure
        while True:
            platform.crew.check()
            time.sleep(1)
