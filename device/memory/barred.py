"""Turns that were forgotten: nothing may be drawn from them again, whatever arrives late."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["Barred"]


@dataclass(slots=True)
class Barred:
    """Sequence numbers of forgotten turns: everything up to `floor`, and single ones `above` it.

    The floor is what forgetting everything leaves behind: one number instead of one for each turn.
    """

    floor: int = -1
    above: set[int] = field(default_factory=set)

    def __contains__(self, sequence: int) -> bool:
        return sequence <= self.floor or sequence in self.above

    def __len__(self) -> int:
        return self.floor + 1 + len(self.above)

    def add(self, sequences: Iterable[int]) -> None:
        """Bar these turns."""
        self.above.update(sequence for sequence in sequences if sequence > self.floor)

    def raise_floor(self, last: int) -> None:
        """Bar every turn up to `last`."""
        self.floor = max(self.floor, last)
        self.above = {sequence for sequence in self.above if sequence > self.floor}
