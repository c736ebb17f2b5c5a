"""FCM's messages:send and Google's token endpoint on one port."""

from __future__ import annotations

import json
from functools import cache
from typing import Any
from uuid import uuid4

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.stubs.fcm_document import judge_accepted, judge_error, judge_request
from tests.stubs.http import Answer, HttpCall, HttpStub

PROJECT = "acme-push"
TOKEN_PATH = "/token"


class FcmStub(HttpStub):
    """Accepts every message; the steps of stage "token" are the token endpoint's.

    Google's discovery document is the judge.
    """

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

    def judge(self, call: HttpCall) -> None:
        if call.path != TOKEN_PATH:
            judge_request(call)

    def stage(self, call: HttpCall) -> str:
        return "token" if call.path == TOKEN_PATH else "request"

    def usual(self, call: HttpCall) -> Answer:
        if call.path == TOKEN_PATH:
            return granted(f"token-{len(self.token_calls)}")
        return accepted()


def granted(token: str, **changes: object) -> Answer:
    """Return an access token as Google writes it."""
    content = {"access_token": token, "expires_in": 3599, "token_type": "Bearer"}
    return Answer(200, content | changes)


def accepted() -> Answer:
    """Return the answer to a message that FCM took."""
    content = {"name": f"projects/{PROJECT}/messages/{uuid4().hex}"}
    judge_accepted(content)
    return Answer(200, content)


def refused(status: int, word: str, *details: object, text: str = "No.") -> Answer:
    """Return an error as Google writes it."""
    content = error_body(status, word, *details, text=text)
    judge_error(status, content)
    return Answer(status, content)


def error_body(
    status: int, word: str, *details: object, text: str = "No."
) -> dict[str, Any]:
    """Return the body of an error in Google's way, with any words."""
    error = {"code": status, "message": text, "status": word}
    return {"error": error | ({"details": [*details]} if details else {})}


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
    assert call.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    key = RSAKey.import_key(public_key())
    return jwt.decode(call.form["assertion"], key, algorithms=["RS256"])
