"""One finding of a diagnosis: what was looked at, what was seen, what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "State"]

State = Literal["ok", "warning", "fault", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found. Neither line holds a secret, a memory's text or an identifier."""

    name: str
    """What was looked at, such as ``charging``; the same in every language."""
    state: State
    said: str
    """What was seen, in one line."""
    do: str = ""
    """What to do about it, in one line; empty when there is nothing to do."""
