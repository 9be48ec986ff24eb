"""What an audit of a fleet reports: one finding per contradiction."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Finding", "Findings", "finite"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation. ``kind``: a stable word for scripts; ``where``: round, release or ledger."""

    kind: str
    where: str
    what: str


class Findings(list[Finding]):
    """Collects findings in the order they are made."""

    def report(self, kind: str, where: str, what: str) -> None:
        """Add one."""
        self.append(Finding(kind, where, what))

    def at(self, where: str) -> bool:
        """Whether anything was found there."""
        return any(finding.where == where for finding in self)


def finite(value: float) -> float:
    """For the table and JSON, which have no infinity."""
    return value if math.isfinite(value) else 0.0
