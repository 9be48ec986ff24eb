"""Turns said on another device of the same owner: named in an item's provenance, held elsewhere."""

from __future__ import annotations

import re

__all__ = ["foreign_turn", "told_on"]

_FOREIGN = re.compile(r"device:([0-9a-f]{32})/(\d{1,18})")


def foreign_turn(device: str, sequence: int) -> str:
    """The id of the turn at `sequence` of the raw log of `device` (32 hex digits)."""
    return f"device:{device}/{sequence}"


def told_on(identifier: str) -> tuple[str, int] | None:
    """(device, sequence) of a turn of another device; None for anything else."""
    found = _FOREIGN.fullmatch(identifier)
    return (found[1], int(found[2])) if found else None
