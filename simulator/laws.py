"""The laws as the simulator checks them: their names, and the tally of checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

__all__ = [
    "ACKED_ONCE",
    "CANARY",
    "CHARGED",
    "CONVERGED",
    "FORGED",
    "GIVEN",
    "KEPT",
    "LAWS",
    "OCCASIONAL",
    "RECEIPTED",
    "RISING",
    "SAME_BYTES",
    "SIGNED",
    "SMALL",
    "UNSUSPECTED",
    "VERIFIED",
    "WINDOW",
    "WITHIN_BUDGET",
    "Tally",
]

CHARGED = "1 charged before release"
SAME_BYTES = "1 a retry sends the same bytes"
CANARY = "1 no canary outside the sealed store"
UNSUSPECTED = "1 no ledger in quarantine without cause"
WINDOW = "2 dreams and syncs only inside the window"
ACKED_ONCE = "3 every acknowledged upload counted exactly once"
RECEIPTED = "3 every acknowledged upload has its receipt in the ledger"
RISING = "7 versions only rise"
SIGNED = "7 only signed releases adopted"
KEPT = "3 every acknowledged record is kept, none doubled"
WITHIN_BUDGET = "1 no device ever spends more than its budget"
CONVERGED = "3 every healthy phone catches up once the faults have stopped"
FORGED = "3 nothing forged is held or counted"
VERIFIED = "4 nothing is decoded before its hash was verified"
GIVEN = "6 a phone takes nothing from the machine"
SMALL = "8 a phone's traffic and storage stay small"
LAWS = (
    CHARGED,
    SAME_BYTES,
    CANARY,
    UNSUSPECTED,
    WINDOW,
    ACKED_ONCE,
    RECEIPTED,
    RISING,
    SIGNED,
    KEPT,
    WITHIN_BUDGET,
    CONVERGED,
    FORGED,
    VERIFIED,
    GIVEN,
    SMALL,
)
OCCASIONAL: Final = frozenset({FORGED, VERIFIED, GIVEN, SMALL})
"""Laws that only some worlds can see kept or broken; a report names them where one did."""

_SHOWN: Final = 100
"""Violations kept as text; the rest are only counted."""


@dataclass
class Tally:
    """How often each law was checked, and what broke it."""

    checked: Counter[str] = field(default_factory=Counter)
    violated: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    told: Callable[[str, str], None] | None = None
    """Told the law and what broke it, at once."""

    def check(self, law: str, holds: bool, who: str, what: str) -> None:
        """Count one check; when it fails, keep a line that says who did what."""
        self.checked[law] += 1
        if not holds:
            self.violated[law] += 1
            if self.told is not None:
                self.told(law, what)
            if len(self.violations) < _SHOWN:
                self.violations.append(f"law {law}: {who}: {what}")

    def merge(self, other: Tally) -> None:
        """Add another tally."""
        self.checked.update(other.checked)
        self.violated.update(other.violated)
        self.violations = (self.violations + other.violations)[:_SHOWN]
