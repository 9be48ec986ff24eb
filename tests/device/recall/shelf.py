"""Public documents for tests: facts, sealed logs that outlive their owners, an open layer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from device.recall.public import PublicLayer
from device.recall.public_store import PublicStore
from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector
from protocol.documents import describe
from protocol.records import canonical
from tests.device.recall.rig import START

__all__ = ["METRO", "Shelf", "document", "facts"]

METRO = {
    "line-1": "Metro line 1 runs from Qianhai to Shenzhen Bay until 23:00",
    "line-2": "Metro line 2 is closed on Sundays for repairs",
    "line-3": "地铁三号线末班车是晚上十一点半",
    "fare": "A metro ticket costs 4 yuan, children ride free",
}


def facts(texts: dict[str, str], **more: Any) -> list[dict[str, Any]]:
    return [{"id": i, "text": text, "language": "en", **more} for i, text in texts.items()]


def document(records: Iterable[dict[str, Any]]) -> bytes:
    return canonical(records)


@dataclass
class Shelf:
    """A phone's storage with the two logs of public documents."""

    storage: MemoryStorage = field(default_factory=MemoryStorage)

    def __post_init__(self) -> None:
        self._bits = np.random.Generator(np.random.Philox(key=1)).bytes
        self._logs: list[SealedLog] = []
        self.open()

    def open(self) -> None:
        """As after a restart; what was not durable is gone."""
        keyring = Keyring.open(self.storage, StaticProtector(b"s" * 32), self._bits)
        self._logs = [
            SealedLog.open(
                self.storage, name, keyring, clock_now=lambda: START, segment_records=count
            )
            for name, count in (("knowledge", 1000), ("passages", 1))
        ]
        self.pieces = self._logs[1]
        self.store = PublicStore(*self._logs)
        self.layer = PublicLayer(self.store)

    async def take(self, texts: dict[str, str], *, name: str = "metro", version: int = 1) -> None:
        """Put a document of these facts on the shelf."""
        content = document(facts(texts))
        await self.layer.take(describe(name, version, content), content, START, START)
