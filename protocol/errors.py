"""Every way a peer's bytes can be wrong, as types.

Messages name fields, sizes and reasons; they never quote the bytes received, which may hold a
user's text or an attacker's.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "DeltaInvalid",
    "DifferenceInvalid",
    "DocumentReason",
    "DocumentRefused",
    "FrameTooLarge",
    "MalformedFrame",
    "ProtocolError",
    "RefusalCode",
    "ReleaseReason",
    "ReleaseRefused",
    "ReportInvalid",
    "SessionError",
    "SignatureInvalid",
    "UnknownMessage",
    "UnsupportedVersion",
    "WeightsInvalid",
    "WireError",
]

RefusalCode = Literal[
    "unknown_device",
    "revoked",
    "bad_proof",
    "bad_token",
    "bad_message",
    "too_large",
    "stale_round",
    "duplicate_report",
    "unknown_release",
    "busy",
    "version",
    "limit",
    "mailbox_full",
    "not_a_member",
]
"""Why a peer's wish is refused. The last three came with version 2 of the protocol.

"limit": this device asks for more than its share; "mailbox_full": its account's letters take all
the room they may; "not_a_member": the letter is for an account that the device is not in.
"""

ReleaseReason = Literal[
    "signature", "unlisted", "rollback", "expired", "future", "shape", "hash", "size"
]  # fmt: skip

DocumentReason = Literal[
    "signature", "unlisted", "rollback", "expired", "future", "size", "hash", "base", "format",
    "records",
]  # fmt: skip


class ProtocolError(Exception):
    """Base of everything this room raises about a peer."""


class WireError(ProtocolError):
    """A frame that is not a message of this protocol."""

    code: RefusalCode = "bad_message"


class FrameTooLarge(WireError):
    """A frame over the size cap; refused before it is parsed."""

    code: RefusalCode = "too_large"


class MalformedFrame(WireError):
    """Bytes that do not parse, or fields that break the schema."""


class UnknownMessage(WireError):
    """A well-formed frame of a type this version does not know."""


class UnsupportedVersion(WireError):
    """Both ends have no protocol version in common: one of them must be updated."""

    code: RefusalCode = "version"


class SessionError(ProtocolError):
    """A message or a command that the session's state does not allow."""

    def __init__(self, code: RefusalCode, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code: RefusalCode = code
        self.detail = detail


class SignatureInvalid(ProtocolError):
    """A signature or signed envelope that the expected key did not make."""


class ReleaseRefused(ProtocolError):
    """A release this phone must not adopt; ``reason`` says which check failed."""

    def __init__(self, reason: ReleaseReason, detail: str = "") -> None:
        super().__init__(f"release refused ({reason}){': ' + detail if detail else ''}")
        self.reason: ReleaseReason = reason
        self.detail = detail


class DifferenceInvalid(ProtocolError):
    """A parameter blob or difference that does not decode to the model's shape."""


class DeltaInvalid(ProtocolError):
    """A VCDIFF delta that is malformed, unsupported, or asks for more than its limits."""


class DocumentRefused(ProtocolError):
    """A document this phone must not show; ``reason`` says which check failed.

    "signature", "unlisted", "rollback", "expired" and "future" are of its description: not the
    cloud's, not among the trusted targets, not newer than what was held, or not of this time.
    "size" and "hash" are of what arrived or of what it decoded to, "base" means that it needs
    another version than the one at hand, "format" that it does not decode, "records" that it is
    not in canonical form or not what its kind of record is.
    """

    def __init__(self, reason: DocumentReason, detail: str) -> None:
        super().__init__(f"document refused ({reason}): {detail}")
        self.reason: DocumentReason = reason
        self.detail = detail


class ReportInvalid(ProtocolError):
    """An uploaded report that is not in the uplink format."""


class WeightsInvalid(ProtocolError):
    """Weights that do not fit the model's spec (shape, name, or a value that is not finite)."""
