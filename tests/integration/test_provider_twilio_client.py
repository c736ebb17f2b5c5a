"""The Twilio adapter and its stub, judged by the client that Twilio publishes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from django.test import RequestFactory
from twilio.base.exceptions import TwilioRestException
from twilio.http.http_client import TwilioHttpClient
from twilio.request_validator import RequestValidator
from twilio.rest import Client

from providers.channels import Channel
from providers.sms.twilio import TwilioAdapter
from tests.factories.providers import OutboundMessageFactory
from tests.stubs.twilio import ACCOUNT_SID, MESSAGING_SERVICE, TwilioStub, refused
from tests.stubs.twilio_document import SERVER

NUMBER = "+15005550006"
KEY_SID = "SK" + "0" * 32
CALLBACK = "https://notify.acme.example/twilio?account=main"


@pytest.fixture
def stub():
    with TwilioStub() as started:
        yield started


@pytest.fixture
def client_of_twilio(stub):
    """Return a function that makes Twilio's client and leads it to the stub."""
    transport = TwilioHttpClient(timeout=10)
    transport.session.trust_env = False

    def make(*credentials):
        client = Client(*credentials, http_client=transport)
        assert client.api.base_url == SERVER
        client.api.base_url = stub.origin
        return client

    yield make
    transport.session.close()


def sms(**fields):
    return OutboundMessageFactory.build(channel=Channel.SMS, **fields)


def send(stub, message, **options):
    async def once():
        options.setdefault("sender", NUMBER)
        adapter = TwilioAdapter(
            account_sid=ACCOUNT_SID, auth_token="secret", url=stub.origin, **options
        )
        try:
            return await adapter.send(message)
        finally:
            await adapter.aclose()

    return asyncio.run(once())


def without_clock(call):
    """Return what a request says; a second may pass between two of them."""
    form = call.form
    validity = int(form.pop("ValidityPeriod", "300"))
    assert validity in range(290, 301)
    headers = {name: call.headers[name] for name in ("authorization", "content-type")}
    return call.method, call.path, headers, form


@pytest.mark.parametrize(
    "text",
    ["Hello.", "Xin chào & 100 % = 👍 +1\n~*'()!;:@$,/?#[]", " ", "é\u0301\u200b"],
)
def test_text_is_written_as_twilios_client_writes_it(stub, client_of_twilio, text):
    message = sms(parts={"text": text})
    client = client_of_twilio(ACCOUNT_SID, "secret")

    send(stub, message)
    client.messages.create(to=message.address, body=text, from_=NUMBER)

    ours, theirs = map(without_clock, stub.calls)
    assert ours == theirs


@pytest.mark.parametrize(
    ("sender", "parameter"),
    [
        *[(NUMBER, "from_"), ("12345", "from_"), ("Acme & Co", "from_")],
        (MESSAGING_SERVICE, "messaging_service_sid"),
    ],
)
def test_request_is_the_one_of_twilios_client(
    stub, client_of_twilio, sender, parameter
):
    message = sms(expires_at=datetime.now(tz=UTC) + timedelta(minutes=5))
    client = client_of_twilio(KEY_SID, "secret", ACCOUNT_SID)

    send(stub, message, sender=sender, key_sid=KEY_SID, callback_url=CALLBACK)
    client.messages.create(
        to=message.address,
        body=message.parts["text"],
        status_callback=stub.calls[0].form["StatusCallback"],
        validity_period=300,
        **{parameter: sender},
    )

    ours, theirs = map(without_clock, stub.calls)
    assert ours == theirs


def test_twilios_client_understands_the_answer_of_the_stub(stub, client_of_twilio):
    client = client_of_twilio(ACCOUNT_SID, "secret")

    message = client.messages.create(to="+84912345678", body="Hello.", from_=NUMBER)

    assert message.sid.startswith("SM")
    assert (message.status, message.direction) == ("queued", "outbound-api")
    assert (message.to, message.from_, message.body) == (
        *("+84912345678", NUMBER, "Hello."),
    )
    assert abs(message.date_created - datetime.now(tz=UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize(("status", "code"), [(400, 21211), (429, 20429), (401, 20003)])
def test_twilios_client_understands_the_errors_of_the_stub(
    stub, client_of_twilio, status, code
):
    stub.queue(*[refused(status, code)] * 2)
    client = client_of_twilio(ACCOUNT_SID, "secret")

    with pytest.raises(TwilioRestException) as error:
        client.messages.create(to="+84912345678", body="Hello.", from_=NUMBER)
    result = send(stub, sms())

    assert (error.value.status, error.value.code) == (status, code)
    assert result.code == str(code)


@pytest.mark.parametrize(
    "callback",
    [
        *[CALLBACK, "https://notify.acme.example", "https://notify.acme.example/a b/"],
        *[
            "https://NOTIFY.acme.example:443/twilio",
            "https://acme.example:8443/x?y=1#z",
        ],
        *["https://acme.example/é?q=%C3%A9&delivery=mine", "https://é.example/x?a=b+c"],
    ],
)
def test_signature_of_a_callback_can_be_verified_by_whoever_it_reaches(
    stub, settings, callback
):
    """Twilio signs the address as we wrote it; the receiver has what HTTP carried."""
    settings.ALLOWED_HOSTS = ["*"]
    send(stub, sms(), callback_url=callback)
    written = stub.calls[0].form["StatusCallback"]
    report = {"MessageSid": "SM" + "0" * 32, "MessageStatus": "delivered"}
    validator = RequestValidator("secret")
    signature = validator.compute_signature(written, report)

    host, slash, target = written.removeprefix("https://").partition("/")
    received = RequestFactory().post(
        slash + target, report, secure=True, headers={"Host": host}
    )

    seen = received.build_absolute_uri()
    assert validator.validate(seen, received.POST, signature)
    assert received.GET["delivery"].startswith("dlv_")
