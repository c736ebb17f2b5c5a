"""What Twilio answers to a message it is asked to create, as data."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from providers.base import Verdict
from providers.http_codes import verdict_of_status

RATE_LIMITED = Verdict.RATE_LIMITED
BUSY_RECIPIENT = Verdict.BUSY_RECIPIENT
UNKNOWN = Verdict.UNKNOWN
BAD_MESSAGE = Verdict.BAD_MESSAGE
BAD_RECIPIENT = Verdict.BAD_RECIPIENT
DEAD_ADDRESS = Verdict.DEAD_ADDRESS
OPTED_OUT = Verdict.OPTED_OUT
ACCOUNT_FAULT = Verdict.ACCOUNT_FAULT

# Twilio's own guard against pumped traffic.
PUMPING_BLOCK = 30450
PUMPING_BLOCK_LASTS = timedelta(minutes=30)

# The code in the body of a 4xx. Meanings: Twilio's error dictionary,
# https://www.twilio.com/docs/api/errors, snapshot of 2023-05-15; "later" marks codes
# that are younger, "seen" what is known from other senders and not from Twilio.
CODES: Mapping[int, Verdict] = {
    20003: ACCOUNT_FAULT,  # permission denied: credentials
    20005: ACCOUNT_FAULT,  # account not active
    20006: ACCOUNT_FAULT,  # access denied
    20403: ACCOUNT_FAULT,  # forbidden
    20404: ACCOUNT_FAULT,  # not found: the account, not the recipient
    20429: RATE_LIMITED,  # too many requests: never processed, safe to repeat
    20500: UNKNOWN,  # internal server error
    20503: UNKNOWN,  # unavailable: nothing says that it was not created
    21210: ACCOUNT_FAULT,  # From not verified
    21211: DEAD_ADDRESS,  # invalid To
    21212: ACCOUNT_FAULT,  # invalid From
    21214: BAD_RECIPIENT,  # To cannot be reached
    21217: DEAD_ADDRESS,  # does not appear to be a number
    21219: ACCOUNT_FAULT,  # trial account: To not verified
    21266: BAD_RECIPIENT,  # later: To is From
    21268: DEAD_ADDRESS,  # seen: premium number
    21401: ACCOUNT_FAULT,  # invalid phone number (of ours)
    21407: ACCOUNT_FAULT,  # this type of number has no SMS
    21408: ACCOUNT_FAULT,  # region not enabled
    21601: ACCOUNT_FAULT,  # From cannot do SMS
    21602: BAD_MESSAGE,  # body required
    21603: BAD_MESSAGE,  # From or MessagingServiceSid required
    21604: BAD_MESSAGE,  # To required
    21605: BAD_MESSAGE,  # over 160 characters (old endpoint)
    21606: ACCOUNT_FAULT,  # From not valid for this destination
    21607: ACCOUNT_FAULT,  # trial account: From must be the sandbox number
    21608: ACCOUNT_FAULT,  # trial account: To not verified
    21609: ACCOUNT_FAULT,  # invalid StatusCallback
    21610: OPTED_OUT,  # the recipient answered STOP
    21611: RATE_LIMITED,  # the queue of this From is full
    21612: BAD_RECIPIENT,  # To not reachable from this From; see verdict_of
    21614: DEAD_ADDRESS,  # not a mobile number
    21616: ACCOUNT_FAULT,  # From matches several numbers
    21617: BAD_MESSAGE,  # over 1600 characters
    21618: BAD_MESSAGE,  # body cannot be sent
    21619: BAD_MESSAGE,  # unable to create record: no body
    21620: BAD_MESSAGE,  # invalid media URL
    21621: ACCOUNT_FAULT,  # From not enabled for MMS
    21622: ACCOUNT_FAULT,  # account not enabled for MMS
    21623: BAD_MESSAGE,  # too many media
    21624: BAD_MESSAGE,  # invalid validity period
    21626: ACCOUNT_FAULT,  # invalid StatusCallbackEvent
    21627: BAD_MESSAGE,  # invalid max price
    21635: DEAD_ADDRESS,  # seen: To is a landline
    21654: BAD_MESSAGE,  # ContentSid required
    21655: BAD_MESSAGE,  # ContentSid invalid
    21656: BAD_MESSAGE,  # ContentVariables invalid
    21657: ACCOUNT_FAULT,  # sender id invalid
    21658: BAD_MESSAGE,  # parameter too long
    21659: ACCOUNT_FAULT,  # later: From is not a Twilio number
    21660: ACCOUNT_FAULT,  # later: From belongs to another account
    21701: ACCOUNT_FAULT,  # messaging service does not exist
    21702: ACCOUNT_FAULT,  # messaging service not available
    21703: ACCOUNT_FAULT,  # messaging service has no number for this
    21704: ACCOUNT_FAULT,  # messaging service has no numbers
    21705: ACCOUNT_FAULT,  # messaging service invalid
    21708: ACCOUNT_FAULT,  # alpha sender id missing
    21709: ACCOUNT_FAULT,  # alpha sender id invalid or not authorised
    21711: ACCOUNT_FAULT,  # sender not in the messaging service
    21712: ACCOUNT_FAULT,  # sender in another messaging service
    30012: BAD_MESSAGE,  # TTL too small
    30013: BAD_MESSAGE,  # TTL too big
    30014: BAD_MESSAGE,  # To attributes invalid
    30102: ACCOUNT_FAULT,  # link shortening: certificate expired
    30106: ACCOUNT_FAULT,  # link shortening: domain not set up
    30107: ACCOUNT_FAULT,  # link shortening: no private certificate
    30110: BAD_MESSAGE,  # domain blocked
    30111: BAD_MESSAGE,  # URL blocked
    30132: ACCOUNT_FAULT,  # link shortening: certificate not valid
    PUMPING_BLOCK: BUSY_RECIPIENT,  # later: its numbers rest for 15 to 30 minutes
    60005: BUSY_RECIPIENT,  # downstream carrier error; "repeat": seen
}


def verdict_of(*, status: int, code: int | None, by_pool: bool) -> Verdict:
    """Say what an answer other than 2xx means; `by_pool`: a messaging service sends.

    Twilio splits its codes now and then: one that is not listed falls back on its
    HTTP status. A 4xx with a code of Twilio's created nothing; a 5xx proves nothing,
    whatever else it says.
    """
    if not 300 <= status < 500:
        return UNKNOWN
    if code == 21612 and by_pool:
        # Twilio chose the From: the pool lacks one for this destination.
        return ACCOUNT_FAULT
    if code is not None and code in CODES and status >= 400:
        return CODES[code]
    # Without 20429 it may come from something in between.
    if status == 429:
        return UNKNOWN
    return verdict_of_status(status, retry_after=None)
