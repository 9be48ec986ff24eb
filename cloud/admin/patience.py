"""How often one address may be wrong.

A token of 256 bits cannot be guessed; this keeps somebody who tries from filling logs and asking
the database all day. Nothing is shared between addresses, so that nobody locks the operators out
from elsewhere.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

__all__ = ["Patience"]

FAILURES: Final = 10
"""Wrong tokens of one address within WINDOW_SECONDS before it has to wait."""
WINDOW_SECONDS: Final = 60.0
ADDRESSES: Final = 4_096
"""Addresses remembered; the one heard of longest ago is forgotten first."""


class Patience:
    """Failures by address, in memory, of this gateway."""

    def __init__(self) -> None:
        self._failed: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """Address → when its window began, failures since."""

    def wait(self, address: str, now: float) -> float:
        """Seconds until this address may try again; 0 when it may now."""
        began, count = self._failed.get(address, (now, 0))
        # A window that begins later than now was seen by a clock that was ahead.
        left = min(began, now) + WINDOW_SECONDS - now
        return left if count >= FAILURES and left > 0 else 0.0

    def failed(self, address: str, now: float) -> None:
        """A wrong token came from there."""
        began, count = self._failed.pop(address, (now, 0))
        if not 0.0 <= now - began < WINDOW_SECONDS:
            began, count = now, 0
        self._failed[address] = (began, count + 1)
        while len(self._failed) > ADDRESSES:
            self._failed.popitem(last=False)
