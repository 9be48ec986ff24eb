"""What one virtual phone tells its world: window by window, and when the world ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from device.phone import Phone
from privacy.chain import Commit, ReceiptEntry
from simulator.faults.lies import Lie
from simulator.faults.plan import Fired
from simulator.laws import Tally
from simulator.network import Traffic

__all__ = ["Left", "PhoneResult", "WindowNote", "left_by"]


@dataclass(frozen=True, slots=True)
class WindowNote:
    """What happened on one phone during one window of virtual time."""

    phone: int
    acked_at: tuple[float, ...] = ()
    adopted: tuple[tuple[float, str, int], ...] = ()
    kept: tuple[tuple[float, str, int], ...] = ()
    """Releases tried and not adopted."""
    tallied: tuple[tuple[bytes, bytes], ...] = ()
    """Report id, and what it says without its noise."""


@dataclass
class PhoneResult:
    """What one phone leaves behind when the world ends."""

    phone: int
    tally: Tally
    digest: int
    acked: list[bytes]
    released: list[bytes]
    records: int
    answered: int
    useful: int
    by_layer: dict[str, int]
    """Recalls by the layer of their best hit, or none."""
    decided_by: dict[str, int]
    traffic: Traffic
    epsilon: float
    versions: dict[str, int]
    items: int
    window_seconds: float
    window_by_hour: list[float]
    """(24,) seconds of the true window by local hour."""
    window_by_week: NDArray[np.float32]
    """(168,) the same by local weekday and hour, from Monday 00:00."""
    utc_offset: float
    """Seconds by which the owner's clocks are ahead of UTC."""
    waiting: int
    """Reports still in the outbox."""
    fired: Fired = field(default_factory=Counter)
    """Faults that happened to this phone."""
    lies: list[Lie] = field(default_factory=list)
    """Uploads of the malicious phone beside it."""


@dataclass(frozen=True)
class Left:
    """What a phone holds when the world ends; nothing where it does not open any more."""

    turns: int = 0
    items: int = 0
    waiting: int = 0
    """Reports in its outbox."""
    epsilon: float = 0.0
    versions: Mapping[str, int] = field(default_factory=dict)
    suspicion: str = ""
    """Why its ledger is believed restored or copied."""
    committed: frozenset[str] = frozenset()
    """Hashes of the reports that its ledger says it paid for, hex."""
    receipted: frozenset[str] = frozenset()
    """Hashes of the reports that it holds a receipt for, hex."""


async def left_by(phone: Phone) -> Left:
    """Read a phone's books, then close it."""
    status = await phone.status()
    entries = list(phone.ledger.entries())
    await phone.close()
    return Left(
        turns=status.memory.turns,
        items=status.memory.items,
        waiting=status.outbox,
        epsilon=status.budget.epsilon_spent,
        versions={name: model.version for name, model in sorted(status.models.items())},
        suspicion=status.budget.suspicion,
        committed=frozenset(one.sha256 for one in entries if isinstance(one, Commit)),
        receipted=frozenset(one.sha256 for one in entries if isinstance(one, ReceiptEntry)),
    )
