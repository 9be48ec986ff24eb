"""What the world knows of an upload that should not count."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Lie"]


class Lie(NamedTuple):
    """One upload of a malicious phone."""

    upload_id: bytes
    task: str
    """"" where it names no round."""
    round: int
    refused: bool
    """Whether the cloud must not even hold it; else it may, and must not count it."""
