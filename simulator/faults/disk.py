"""A virtual phone's flash: what was not synced may vanish or tear, and space may run out.

A life of the phone (one process) holds a `Handle`; when the process dies, whatever its remains
still try to write reaches nothing. Appends are durable up to the last `sync`; `replace` and
`delete` are durable at once, as the vault's storage promises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from device.vault import StorageFull
from device.vault.anchor import MemoryAnchor
from privacy.anchor import Mark

__all__ = ["Died", "Disk", "Handle", "HeldAnchor"]

_SECTOR: Final = 64
"""Bytes that reach the medium together; small, so that short records straddle several."""
_VANISHED, _SHORTENED = 0.3, 0.6
"""Below the first an unsynced tail is gone, below the second its beginning is left, above it some
sectors are zeros or rubbish."""
_ZEROS, _RUBBISH = 0.2, 0.3
_NAME_LOST: Final = 0.5
"""Chance that a file never synced leaves no name behind."""


def _nobody() -> None:
    """Nobody waits for this death."""


class Died(BaseException):
    """The process of this life has ended; what is still on its stack only unwinds."""


class Disk:
    """The medium and the page cache above it."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self._files = {name: bytearray(data) for name, data in (files or {}).items()}
        self._synced = {name: len(data) for name, data in self._files.items()}
        self.full = False
        self.refused = 0
        """Writes refused for want of space."""
        self.fuse: int | None = None
        """Writing operations until the power goes; None for never."""

    def copy(self) -> dict[str, bytes]:
        """Everything as a backup takes it, by name."""
        return {name: bytes(data) for name, data in self._files.items()}

    def restore(self, files: dict[str, bytes]) -> None:
        """Put a backup in place of what is there."""
        self._files = {name: bytearray(data) for name, data in files.items()}
        self._synced = {name: len(data) for name, data in files.items()}

    def lose_power(self, rng: np.random.Generator) -> None:
        """Unsynced bytes vanish, stop short or tear; the rest is there."""
        for name in sorted(self._files):
            synced = self._synced.get(name, 0)
            data = self._files[name]
            if name not in self._synced and rng.random() < _NAME_LOST:
                del self._files[name]
                continue
            data[synced:] = _remains(bytes(data[synced:]), rng)
        self._synced = {name: len(data) for name, data in self._files.items()}

    # What a Handle passes on.

    def names(self, prefix: str) -> list[str]:
        """Sorted names that start with `prefix`."""
        return sorted(name for name in self._files if name.startswith(prefix))

    def file(self, name: str) -> bytearray:
        """The content; FileNotFoundError when there is none."""
        try:
            return self._files[name]
        except KeyError:
            raise FileNotFoundError(name) from None

    def append(self, name: str, data: bytes, kept: int) -> None:
        """Add the first `kept` bytes of `data` to the cache."""
        self._check_space()
        self._files.setdefault(name, bytearray()).extend(data[:kept])

    def sync(self, name: str) -> None:
        """Everything under `name` is durable."""
        self._synced[name] = len(self.file(name))

    def replace(self, name: str, data: bytes) -> None:
        """Set the content, durably."""
        self._check_space()
        self._files[name] = bytearray(data)
        self._synced[name] = len(data)

    def delete(self, name: str) -> None:
        """Remove the name, durably."""
        self._files.pop(name, None)
        self._synced.pop(name, None)

    def _check_space(self) -> None:
        if self.full:
            self.refused += 1
            raise StorageFull("no space is left on this phone: make room, then try again")


class Handle:
    """One life's `Storage`: the device's view of the disk until the process dies."""

    def __init__(self, disk: Disk, rng: np.random.Generator) -> None:
        self._disk, self._rng = disk, rng
        self.alive = True
        self.power_lost = False
        """Whether it died in the middle of a write."""
        self.on_death: Callable[[], None] = _nobody

    def die(self) -> None:
        """The process ends: nothing of it reaches the disk any more."""
        if self.alive:
            self.alive = False
            self.on_death()

    def names(self, prefix: str = "") -> list[str]:
        """Sorted names that start with `prefix`."""
        self._check()
        return self._disk.names(prefix)

    def read(self, name: str) -> bytes:
        """The whole content."""
        self._check()
        return bytes(self._disk.file(name))

    def size(self, name: str) -> int:
        """Bytes under the name."""
        self._check()
        return len(self._disk.file(name))

    def append(self, name: str, data: bytes) -> None:
        """Add to the end; volatile until `sync`."""
        last = self._last()
        kept = int(self._rng.integers(len(data) + 1)) if last else len(data)
        self._disk.append(name, data, kept)
        self._die_if(last)

    def sync(self, name: str) -> None:
        """Make what was appended durable."""
        last = self._last()
        self._die_if(last and self._rng.random() < _NAME_LOST)
        self._disk.sync(name)
        self._die_if(last)

    def replace(self, name: str, data: bytes) -> None:
        """Set the content, atomically and durably."""
        last = self._last()
        self._die_if(last and self._rng.random() < _NAME_LOST)
        self._disk.replace(name, data)
        self._die_if(last)

    def delete(self, name: str) -> None:
        """Remove the name durably."""
        last = self._last()
        self._die_if(last and self._rng.random() < _NAME_LOST)
        self._disk.delete(name)
        self._die_if(last)

    def _check(self) -> None:
        if not self.alive:
            raise Died

    def _last(self) -> bool:
        """Burn the fuse; whether this write is the one at which the power goes."""
        self._check()
        if self._disk.fuse is None:
            return False
        self._disk.fuse -= 1
        return self._disk.fuse <= 0

    def _die_if(self, dead: bool) -> None:
        if dead:
            self._disk.fuse = None
            self.power_lost = True
            self.die()
            raise Died


class HeldAnchor:
    """The ledger's anchor as one life reaches it."""

    def __init__(self, anchor: MemoryAnchor, handle: Handle) -> None:
        self._anchor, self._handle = anchor, handle

    def read(self) -> Mark | None:
        """The mark; None before the first write."""
        return self._anchor.read()

    def write(self, mark: Mark) -> None:
        """Replace the mark."""
        if not self._handle.alive:
            raise Died
        self._anchor.write(mark)


def _remains(tail: bytes, rng: np.random.Generator) -> bytes:
    """What is left of unsynced bytes: nothing, a beginning, or sectors with holes."""
    fate = rng.random()
    if fate < _VANISHED:
        return b""
    if fate < _SHORTENED:
        return tail[: int(rng.integers(len(tail) + 1))]
    kept = bytearray()
    for start in range(0, len(tail), _SECTOR):
        sector = tail[start : start + _SECTOR]
        lot = rng.random()
        if lot < _ZEROS:
            sector = bytes(len(sector))
        elif lot < _RUBBISH:
            sector = rng.bytes(len(sector))
        kept += sector
    return bytes(kept)
