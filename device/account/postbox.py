"""The account's mailbox, reached in a session with the cloud."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from device.account.errors import AccountError, MailboxFull, NumberSpent
from device.sync.bookkeeping import Bookkeeper
from device.sync.channel import Connect, binding_of
from device.sync.conversation import Conversation
from device.sync.identity import Identity
from protocol.identity import BitSource
from protocol.messages import UPLOAD_ID_SIZE
from protocol.session import ClientSession, EnrolRequest, UploadCommitted

__all__ = ["SessionMailbox", "cloud_mailbox"]

NONCE_BYTES = 32
MAIL_SINCE = 2
"""The protocol version that carries mail."""
OPEN = "open"
"""Said in place of a token to a cloud that takes every phone."""
NOT_A_MEMBER = (
    "this phone is no longer in the account: another device removed it, or it is in another one; "
    "`reverie-device account leave`, then join again"
)


class SessionMailbox:
    """The mailbox in one open session. An upload is named by its letter, so one broken off goes on
    in the next session."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk

    async def post(self, letter: bytes) -> None:
        """As `Mailbox.post`.

        Raises:
            AccountError: the cloud does not know this device in the account, or takes no mail now.
        """
        name = hashlib.sha256(letter).digest()[:UPLOAD_ID_SIZE]
        outcome = await self._talk.deliver(name, letter, "mail")
        if isinstance(outcome, UploadCommitted):
            return
        if outcome.code == "mailbox_full":
            raise MailboxFull
        if outcome.code == "duplicate_report":
            raise NumberSpent
        if outcome.code == "not_a_member":
            raise AccountError(NOT_A_MEMBER)
        raise AccountError(f"the cloud did not take a letter: {outcome.code}")

    async def collect(self, after: int) -> list[tuple[int, bytes]]:
        """As `Mailbox.collect`."""
        return await self._talk.collect(after)


@asynccontextmanager
async def cloud_mailbox(
    identity: Identity,
    books: Bookkeeper,
    connect: Connect,
    *,
    cloud_key: bytes,
    token: str,
    bits: BitSource,
) -> AsyncIterator[SessionMailbox]:
    """A session for the mail alone; a phone the cloud does not know yet is enrolled.

    Raises:
        CloudUnreachable, ChannelClosed, SyncFailed: nothing is lost.
        AccountError: the cloud carries no mail.
    """
    async with connect() as channel:
        enrol = None
        if not identity.device_id:
            enrol = EnrolRequest(token=token or OPEN, public_key=identity.key.public)
        session = ClientSession(
            device_id=identity.device_id,
            sign=identity.key.sign,
            client_nonce=bits(NONCE_BYTES),
            have={},
            enrol=enrol,
            cloud_key=cloud_key,
            binding=binding_of(channel),
            least_version=identity.least_version,
        )
        talk = Conversation(session, channel)
        device_id, plan = await talk.begin()
        if device_id:
            identity.enrolled(device_id)
            books.enrolled(device_id)
        if plan.version < MAIL_SINCE:
            raise AccountError("the cloud speaks an older protocol and carries no mail yet")
        yield SessionMailbox(talk)
        await talk.end()
