"""A disk in RAM whose power can fail: what was not synced may vanish, tear or be reordered."""

from __future__ import annotations

import random

SECTOR = 64
"""Bytes that reach the medium together; small, so that short test records straddle several."""
MERELY_KILLED = 0.35
"""Share of deaths in which the page cache survives: a kill, not a power loss."""


class PowerLossError(BaseException):
    """The process ends here."""


class PowerLossStorage:
    """The `Storage` protocol over `durable` (the medium) and `live` (the page cache)."""

    def __init__(self, rng: random.Random, durable: dict[str, bytes] | None = None) -> None:
        self.rng = rng
        self.durable = dict(durable or {})
        self.live = {name: bytearray(data) for name, data in self.durable.items()}
        self.fuse: int | None = None
        """Writing operations until the power goes; None for never."""

    def names(self, prefix: str = "") -> list[str]:
        return sorted(name for name in self.live if name.startswith(prefix))

    def read(self, name: str) -> bytes:
        return bytes(self._file(name))

    def size(self, name: str) -> int:
        return len(self._file(name))

    def append(self, name: str, data: bytes) -> None:
        cut = self._burn()
        kept = self.rng.randint(0, len(data)) if cut else len(data)
        self.live.setdefault(name, bytearray()).extend(data[:kept])
        self._die_if(cut)

    def sync(self, name: str) -> None:
        cut = self._burn()
        self._die_if(cut and self.rng.random() < 0.5)
        self.durable[name] = bytes(self._file(name))
        self._die_if(cut)

    def replace(self, name: str, data: bytes) -> None:
        cut = self._burn()
        self._die_if(cut and self.rng.random() < 0.5)
        self.live[name] = bytearray(data)
        self.durable[name] = bytes(data)
        self._die_if(cut)

    def delete(self, name: str) -> None:
        cut = self._burn()
        self._die_if(cut and self.rng.random() < 0.5)
        self.live.pop(name, None)
        self.durable.pop(name, None)
        self._die_if(cut)

    def after_death(self) -> PowerLossStorage:
        """The disk as the next process finds it."""
        if self.rng.random() < MERELY_KILLED:
            # The page cache survives, but what is in it is still not durable.
            after = PowerLossStorage(self.rng, self.durable)
            after.live = {name: bytearray(data) for name, data in self.live.items()}
            return after
        survivors = dict(self.durable)
        for name, data in self.live.items():
            old = self.durable.get(name)
            if old is None and self.rng.random() < 0.5:
                continue  # the directory entry never reached the medium
            survivors[name] = (old or b"") + self._remains(bytes(data[len(old or b"") :]))
        return PowerLossStorage(self.rng, survivors)

    def _remains(self, tail: bytes) -> bytes:
        """What is left of unsynced bytes: nothing, a prefix, or sectors with holes."""
        fate = self.rng.random()
        if fate < 0.3:
            return b""
        if fate < 0.6:
            return tail[: self.rng.randint(0, len(tail))]
        kept = bytearray()
        for start in range(0, len(tail), SECTOR):
            sector = tail[start : start + SECTOR]
            lot = self.rng.random()
            if lot < 0.2:
                sector = bytes(len(sector))
            elif lot < 0.3:
                sector = self.rng.randbytes(len(sector))
            kept += sector
        return bytes(kept)

    def _burn(self) -> bool:
        if self.fuse is None:
            return False
        self.fuse -= 1
        return self.fuse <= 0

    def _die_if(self, dead: bool) -> None:
        if dead:
            raise PowerLossError

    def _file(self, name: str) -> bytearray:
        try:
            return self.live[name]
        except KeyError:
            raise FileNotFoundError(name) from None
