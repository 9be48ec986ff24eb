"""Every way a peer's bytes can be wrong, as types.

Messages name fields, sizes and reasons; they never quote the bytes received, which may hold a
user's text or an attacker's.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "DifferenceInvalid",
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
]

ReleaseReason = Literal["signature", "rollback", "expired", "future", "shape", "hash", "size"]


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


class ReportInvalid(ProtocolError):
    """An uploaded report that is not in the uplink format."""


class WeightsInvalid(ProtocolError):
    """Weights that do not fit the model's spec (shape, name, or a value that is not finite)."""
