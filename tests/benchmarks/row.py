"""One line of the benchmark table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Row", "best_seconds"]


@dataclass(frozen=True)
class Row:
    """A measured figure beside a peer or a bound, both taken in the same run.

    ``ratio`` is value / peer_value (or value / bound); ``target`` is a bound on ``value`` read
    with ``better``: "low" means at or under it is met, "high" at or over.
    """

    name: str
    value: float
    unit: str
    peer: str = ""
    peer_value: float | None = None
    bound: float | None = None
    target: float | None = None
    better: str = "low"

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's, or over the bound when there is no peer."""
        other = self.peer_value if self.peer_value is not None else self.bound
        return None if not other else self.value / other

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None when there is none."""
        if self.target is None:
            return None
        return self.value <= self.target if self.better == "low" else self.value >= self.target

    def as_json(self) -> dict[str, Any]:
        """The row as `out/bench.json` holds it."""
        fields = asdict(self)
        fields.pop("better")
        return fields | {"ratio": self.ratio, "met": self.met}


def best_seconds(call: Callable[[], object], repeats: int = 5) -> float:
    """Shortest of `repeats` timings of `call`: the one least disturbed by the machine."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best
