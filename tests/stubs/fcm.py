"""FCM's messages:send and Google's token endpoint on one port."""

from __future__ import annotations

import json
from functools import cache
from typing import Any
from urllib.parse import parse_qs
from uuid import uuid4

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.stubs.http import Answer, HttpCall, HttpStep, HttpStub

PROJECT = "acme-push"
TOKEN_PATH = "/token"


class FcmStub(HttpStub):
    """Accepts every message; the steps of stage "token" are the token endpoint's."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.decide = self._answer

    @property
    def sent(self) -> list[HttpCall]:
        return [call for call in self.calls if call.path != TOKEN_PATH]

    @property
    def token_calls(self) -> list[HttpCall]:
        return [call for call in self.calls if call.path == TOKEN_PATH]

    def service_account(self, **changes: object) -> str:
        """Return a key file whose tokens come from this stub."""
        content = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "key-1",
            "private_key": private_key(),
            "client_email": "push@acme-push.iam.gserviceaccount.com",
            "token_uri": f"{self.origin}{TOKEN_PATH}",
        }
        return json.dumps(content | changes)

    def _answer(self, call: HttpCall) -> HttpStep:
        if call.path == TOKEN_PATH:
            return self._script.next("token") or granted(
                f"token-{len(self.token_calls)}"
            )
        return self._script.next("request") or accepted()


def granted(token: str, **changes: object) -> Answer:
    """Return an access token as Google writes it."""
    content = {"access_token": token, "expires_in": 3599, "token_type": "Bearer"}
    return Answer(200, content | changes)


def accepted() -> Answer:
    """Return the answer to a message that FCM took."""
    return Answer(200, {"name": f"projects/{PROJECT}/messages/{uuid4().hex}"})


def refused(status: int, word: str, *details: object, text: str = "No.") -> Answer:
    """Return an error as Google writes it."""
    return Answer(status, error_body(status, word, *details, text=text))


def error_body(
    status: int, word: str, *details: object, text: str = "No."
) -> dict[str, Any]:
    """Return the body of an error as Google writes it."""
    error = {"code": status, "message": text, "status": word, "details": [*details]}
    return {"error": error}


def fcm_error(word: str) -> dict[str, Any]:
    """Return the detail in which FCM says what it means itself."""
    kind = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
    return {"@type": kind, "errorCode": word}


def violations(*fields: str) -> dict[str, Any]:
    """Return the detail that names the fields that are wrong."""
    return {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [
            {"field": field, "description": "Invalid"} for field in fields
        ],
    }


@cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def private_key() -> str:
    """Return the service account's key, made once in a test run."""
    return (
        _key()
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        .decode()
    )


def public_key() -> str:
    """Return the other half."""
    encoded = (
        _key()
        .public_key()
        .public_bytes(
            serialization.Encoding.PEM,
            serialization.PublicFormat.SubjectPublicKeyInfo,
        )
    )
    return encoded.decode()


def read_assertion(call: HttpCall) -> jwt.Token:
    """Verify the assertion of a token call; return its header and claims."""
    fields = parse_qs(call.body.decode(), strict_parsing=True)
    assert fields["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    (assertion,) = fields["assertion"]
    return jwt.decode(assertion, RSAKey.import_key(public_key()), algorithms=["RS256"])
