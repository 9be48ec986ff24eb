"""Where a ledger lives: its log, and its anchor outside the phone's folder.

The anchor says how far the ledger has come, where a copy of the folder does not reach. It is
written after every entry, before the entry is acted on. So whatever a ledger ever paid for lies at
or before its mark, and a ledger that does not reach its mark has lost charges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, Protocol

from privacy.chain import GENESIS, Reason, entry_hash

__all__ = ["Anchor", "AppendLog", "Mark", "Suspicion", "compared"]

Suspicion = Reason | Literal[""]
"""Why a ledger is not believed to be whole; "" when it is."""


class AppendLog(Protocol):
    """Where entries live; on a phone, a sealed log."""

    def append(self, payload: bytes) -> int:
        """Store ``payload`` durably and return its sequence number."""
        ...

    def read(self) -> Iterator[tuple[int, bytes]]:
        """Every (sequence number, payload), oldest first."""
        ...


class Mark(NamedTuple):
    """A ledger's number of entries, and the hex hash of the last (GENESIS for none)."""

    length: int
    head: str


class Anchor(Protocol):
    """A durable place for one mark, outside what a backup or a copy of the phone takes along."""

    def read(self) -> Mark | None:
        """The mark; None when there is none, or what is there is not one."""
        ...

    def write(self, mark: Mark) -> None:
        """Replace the mark: atomic, and durable on return."""
        ...


def compared(payloads: Iterable[bytes], anchor: Anchor | None) -> tuple[list[bytes], Suspicion]:
    """The ledger's entries, and whether they go through their anchor's mark.

    Ahead of it is sound: a crash may fall between an entry and its mark.
    """
    entries = list(payloads)
    if anchor is None:
        return entries, ""
    mark = anchor.read()
    if mark is None:
        return entries, "unmarked" if entries else ""
    if mark.length > len(entries):
        return entries, "rolled back"
    head = entry_hash(entries[mark.length - 1]) if mark.length else GENESIS
    return entries, "" if head == mark.head else "cloned"
