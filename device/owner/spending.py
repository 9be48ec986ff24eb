"""What privacy has cost this phone, charge by charge: what its owner sees as a chart."""

from __future__ import annotations

from dataclasses import dataclass

from privacy import Ledger
from privacy.accounting import gdp_epsilon, mu_of
from privacy.chain import Quarantine, Reserve

__all__ = ["Spent", "spending"]


@dataclass(frozen=True, slots=True)
class Spent:
    """One charge, with what had been spent in all once it was made.

    A quarantine counts as one of its own: what a restored or copied ledger may have missed.
    """

    at: float
    """Unix seconds."""
    task: str
    epsilon: float


def spending(ledger: Ledger) -> list[Spent]:
    """Every charge of the ledger, oldest first, at the budget's δ."""
    units = 0
    charges = []
    for entry in ledger.entries():
        match entry:
            case Reserve():
                units, task = units + entry.rho, entry.task
            case Quarantine():
                units, task = units + sum(entry.units.values()), entry.kind
            case _:
                continue
        epsilon = gdp_epsilon(mu_of(units), ledger.budget.delta)
        charges.append(Spent(entry.at, task, epsilon))
    return charges
