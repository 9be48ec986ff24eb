"""Watches how much private memory the process holds and cleans up over the limit (law 8).

Private memory is what only this process has and what no one can take back from it: anonymous
pages, not the mapped files of Python and its libraries. The limit is meant over a bare Python.
Over it the cleaners run, the cheapest first, until it is kept again.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "BARE_PYTHON",
    "MB",
    "Cleaner",
    "MemoryMonitor",
    "MemoryUse",
    "private_bytes",
    "steady_heap",
    "trim_heap",
]

MB = 1 << 20
BARE_PYTHON = 4 * MB
"""Private bytes of `python -c pass`: 3.1 to 3.5 MB with CPython 3.11 to 3.13 on glibc."""
STATUS = Path("/proc/self/status")
PRIVATE = "RssAnon:"
GROWN = 6 * MB
"""After a cleaning that did not reach the limit, the next one waits for so much growth: what is
needed is needed, and cleaning again at every turn would only cost time."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
BLOCK = 128 * 1024
"""Bytes from which an allocation gets pages of its own, which go back when it ends. glibc raises
this by itself after the first large array, and freed arrays then stay in the heap as holes."""

Cleaner = Callable[[], Awaitable[object]]
"""Frees memory; anything it gives up can be made or read again."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes over a bare Python; `used` is None where the system does not tell."""

    used: int | None
    limit: int
    cleanings: int
    """How often the limit was passed and the cleaners ran."""

    @property
    def over(self) -> bool:
        """The limit is passed now."""
        return self.used is not None and self.used > self.limit


class MemoryMonitor:
    """Checked by its owner: after a batch of work, and now and then while idle."""

    def __init__(
        self,
        limit: int,
        cleaners: Sequence[Cleaner],
        read: Callable[[], int | None] | None = None,
    ) -> None:
        """`limit` in bytes over a bare Python; `read` gives the private bytes of the process."""
        self._limit = limit
        self._cleaners = (trim_heap, *cleaners, trim_heap) if cleaners else (trim_heap,)
        self._read = read or private_bytes
        self._cleanings = 0
        self._futile = 0

    def use(self) -> MemoryUse:
        """How things stand."""
        held = self._read()
        used = None if held is None else max(held - BARE_PYTHON, 0)
        return MemoryUse(used, self._limit, self._cleanings)

    async def check(self) -> bool:
        """Clean up if the limit is passed; whether it had been."""
        use = self.use()
        if use.used is None or not use.over or use.used < self._futile + GROWN:
            return False
        self._cleanings += 1
        for clean in self._cleaners:
            await clean()
            use = self.use()
            if not use.over:
                self._futile = 0
                return True
        self._futile = use.used or 0
        return True


async def trim_heap() -> None:
    """Collect garbage and give the heap's free pages back, where the C library can."""
    gc.collect()
    trim = getattr(_libc(), "malloc_trim", None)
    if trim is not None:
        trim(0)


def steady_heap() -> None:
    """Let large arrays always have pages of their own; once, when a phone's process starts."""
    mallopt = getattr(_libc(), "mallopt", None)
    if mallopt is not None and getattr(_libc(), "malloc_trim", None) is not None:
        mallopt(M_MMAP_THRESHOLD, BLOCK)
        mallopt(M_TRIM_THRESHOLD, BLOCK)


def private_bytes(status: Path = STATUS) -> int | None:
    """Anonymous resident bytes of this process; None where the system does not tell."""
    with suppress(OSError, ValueError):
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith(PRIVATE):
                return int(line.split()[1]) * 1024
    return None


def _libc() -> ctypes.CDLL | None:
    with suppress(OSError):
        return ctypes.CDLL(None)
    return None
