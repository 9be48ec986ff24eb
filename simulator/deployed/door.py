"""Whether a deployed cloud can be tested: it answers, is the right one, and takes our tokens.

Asked before a single phone lives, so that what is wrong is said in one line and not in a thousand.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

from pydantic import ValidationError

from device.sync.channel import Channel, ChannelClosed, CloudUnreachable, binding_of
from device.sync.conversation import Conversation, SyncFailed
from device.sync.identity import Identity
from device.sync.root import CloudRoot
from device.sync.websocket import websocket
from privacy import BitSource
from protocol.session import ClientSession, EnrolRequest

__all__ = ["CloudRefused", "Target", "knock", "read_tokens", "shown_root", "trust_of"]

_TIMEOUT_SECONDS: Final = 10.0
_ROOT_BYTES: Final = 16 << 10
_NONCE_BYTES: Final = 32
_MOST_TOKEN_BYTES: Final = 64 << 20
_SCHEMES: Final = {"ws": "http", "wss": "https", "http": "http", "https": "https"}
OPEN: Final = "open"
"""Said in place of a token to a cloud that takes every phone."""


class CloudRefused(Exception):
    """The load test cannot begin; the message is one line that says what to do."""


@dataclass(frozen=True)
class Target:
    """The cloud under test.

    Attributes:
        url: ws, wss, http or https.
        key: its Ed25519 key in hex; "" takes the one it shows first.
        helper: the helper's X25519 key in hex; "" takes the first one a phone is charged for.
        authority: PEM file of the certificate authority to trust; None for the system's.
        token_file: an enrolment token a line; None for a cloud that takes every phone.
    """

    url: str
    key: str = ""
    helper: str = ""
    authority: Path | None = None
    token_file: Path | None = None

    @property
    def address(self) -> str:
        """Its address with http or https.

        Raises:
            CloudRefused: that is no address.
        """
        parts = urlsplit(self.url)
        if parts.scheme not in _SCHEMES or not parts.netloc:
            raise CloudRefused(f"{self.url!r} is no address; try wss://cloud.example")
        where = (_SCHEMES[parts.scheme], parts.netloc, parts.path.rstrip("/"), "", "")
        return urlunsplit(where)


def trust_of(target: Target) -> ssl.SSLContext | None:
    """Whose certificates are good; None for the system's choice.

    Raises:
        CloudRefused: the authority's file cannot be used.
    """
    if target.authority is None:
        return None
    try:
        return ssl.create_default_context(cafile=str(target.authority))
    except (OSError, ssl.SSLError):
        raise CloudRefused(
            f"{target.authority} is no certificate authority in PEM format"
        ) from None


def shown_root(target: Target, trust: ssl.SSLContext | None) -> CloudRoot:
    """What the cloud says of itself, held against the pinned key.

    Raises:
        CloudRefused: nobody answers, TLS is not to be trusted, it is no cloud, or another one.
    """
    address = target.address
    try:
        with urlopen(address + "/v1/root", timeout=_TIMEOUT_SECONDS, context=trust) as answer:  # noqa: S310
            root = CloudRoot.model_validate(json.loads(answer.read(_ROOT_BYTES)))
    except HTTPError as error:
        raise CloudRefused(f"what answers at {address} is no cloud (HTTP {error.code})") from None
    except (OSError, URLError) as error:
        raise CloudRefused(_unanswered(address, error)) from None
    except (ValueError, ValidationError):
        raise CloudRefused(f"what answers at {address} is no cloud") from None
    if target.key and target.key != root.public_key:
        raise CloudRefused(
            f"the cloud at {address} has the key {root.public_key[:16]}…, not the one given: "
            "compare --cloud-key with what its operator says"
        )
    return root


def read_tokens(target: Target, root: CloudRoot, phones: int) -> Sequence[str]:
    """A token for every phone.

    Raises:
        CloudRefused: there are too few, or the file cannot be read.
    """
    if target.token_file is None:
        if not root.open_enrolment:
            raise CloudRefused(
                "this cloud takes phones with a token only: give --token-file with one token a "
                "line (`reverie-cloud token` makes them)"
            )
        return [OPEN] * phones
    try:
        with target.token_file.open(encoding="utf-8") as file:
            tokens = file.read(_MOST_TOKEN_BYTES).split()
    except (OSError, UnicodeDecodeError):
        raise CloudRefused(f"{target.token_file} cannot be read as a list of tokens") from None
    if len(tokens) < phones:
        raise CloudRefused(
            f"{target.token_file} holds {len(tokens):,} tokens, {phones:,} phones need one each"
        )
    return tokens[:phones]


async def knock(
    target: Target,
    trust: ssl.SSLContext | None,
    root: CloudRoot,
    *,
    identity: Identity,
    token: str,
    bits: BitSource,
) -> None:
    """Hold one session as the phone of `identity`, which its own first session will repeat: the
    cloud proves its key, and takes the token.

    Raises:
        CloudRefused: it does not.
    """
    try:
        async with websocket(target.address, trust)() as channel:
            session = _session(channel, root, identity, token, bits)
            conversation = Conversation(session, channel)
            await conversation.begin()
            await conversation.end()
    except CloudUnreachable as error:
        raise CloudRefused(_unanswered(target.address, error.__cause__ or error)) from None
    except ChannelClosed:
        raise CloudRefused(f"the cloud at {target.address} hung up on the first phone") from None
    except SyncFailed as error:
        raise CloudRefused(_refused(target, error)) from None


def _session(
    channel: Channel, root: CloudRoot, identity: Identity, token: str, bits: BitSource
) -> ClientSession:
    return ClientSession(
        device_id="",
        sign=identity.key.sign,
        client_nonce=bits(_NONCE_BYTES),
        have={},
        metadata={},
        enrol=EnrolRequest(token=token, public_key=identity.key.public),
        cloud_key=bytes.fromhex(root.public_key),
        binding=binding_of(channel),
        least_version=identity.least_version,
    )


def _refused(target: Target, error: SyncFailed) -> str:
    said = " ".join(str(error).split())
    if "token" in said:
        where = target.token_file or "this cloud"
        return f"the cloud at {target.address} refuses the first token of {where}: {said}"
    return f"the cloud at {target.address} refuses the first phone: {said}"


def _unanswered(address: str, error: BaseException) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        why = reason.verify_message or "not verified"
        return (
            f"the certificate of {address} is not trusted ({why}): give its authority with "
            "--trust-ca"
        )
    if isinstance(reason, ssl.SSLError):
        return f"{address} does not speak TLS as we do ({reason.reason or 'no reason given'})"
    return f"nobody answers at {address}: is `reverie-cloud serve` running there?"
