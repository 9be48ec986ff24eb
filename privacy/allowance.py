"""What a budget allows at one fleet size, in figures and in one plain sentence each."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Allowance", "local_sentence", "shared_sentence"]


class Allowance(NamedTuple):
    """What a budget allows at one fleet size, and the errors that decide it."""

    counts_error: float
    """Standard deviation of a histogram bin as a share of the fleet."""
    update_error: float
    """L2 noise of the mean update, in clips."""
    counts_useful: bool
    updates_useful: bool
    sentence: str
    local_error: float
    """Standard deviation of a bin as a share of the fleet, in local mode."""
    local_useful: bool
    local_sentence: str


def shared_sentence(
    fleet: str, counts: float, counts_useful: bool, update: float, updates_useful: bool
) -> str:
    """Of rounds shared between leader and helper; ``fleet``: size, budget and epsilon in words."""
    counted, updated = _counts(counts, counts_useful), _updates(update, updates_useful)
    return f"With {fleet} {counted}, and {updated}."


def local_sentence(fleet: str, epsilon: float, error: float, useful: bool) -> str:
    """Of local mode; ``epsilon``: of one report."""
    return (
        f"Without a helper: with {fleet} {_counts(error, useful)}; it asks one histogram a report, "
        f"at epsilon {_figures(epsilon)}, and takes no model updates."
    )


def _counts(error: float, useful: bool) -> str:
    off = f"{_figures(100 * error)} % of the fleet"
    if useful:
        return f"publishes usage counts, each within about {off}"
    return f"refuses to publish usage counts (too few phones: each would be off by about {off})"


def _updates(error: float, useful: bool) -> str:
    if useful:
        return f"takes federated model updates (noise {_figures(error)} of the largest update)"
    return (
        "refuses federated model updates "
        f"(the noise would be {_figures(error)} times the largest update)"
    )


def _figures(value: float) -> str:
    """Two significant figures, never in scientific notation."""
    return f"{float(f'{value:.2g}'):,.15g}"
