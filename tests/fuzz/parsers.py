"""Every parser of bytes from outside."""

from __future__ import annotations

from tests.fuzz import (
    blob_parsers,
    cloud_parsers,
    device_parsers,
    privacy_parsers,
    session_parsers,
    wire_parsers,
)
from tests.fuzz.harness import Parser

__all__ = ["PARSERS", "WIRE", "shares"]

WIRE: tuple[Parser, ...] = wire_parsers.PARSERS + session_parsers.PARSERS
"""What reads a socket of the sync protocol."""
PARSERS: tuple[Parser, ...] = (
    WIRE
    + blob_parsers.PARSERS
    + privacy_parsers.PARSERS
    + device_parsers.PARSERS
    + cloud_parsers.PARSERS
)


def shares(total: int) -> dict[str, int]:
    """Frames of a run of at least ``total``, by parser and its weight."""
    weights = sum(parser.weight for parser in PARSERS)
    return {parser.name: int(total * parser.weight / weights) + 1 for parser in PARSERS}
