"""A shorter world that still fails: fewer days, phones and faults, by delta debugging.

After Zeller and Hildebrandt (2002): of each kind, try to do without as much as possible, and keep
what still fails, until nothing more can be left out. Every try is a whole world of the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulator.scenario import Scenario

__all__ = ["Fails", "shrink"]

Fails = Callable[[Scenario], bool]


def shrink(scenario: Scenario, fails: Fails, tries: int = 200) -> tuple[Scenario, int]:
    """The shortest world found that `fails`, and how many worlds were tried.

    Raises ValueError when `scenario` itself does not fail.
    """
    if not fails(scenario):
        raise ValueError("this world does not fail: there is nothing to shrink")
    used = 1
    improved = True
    while improved:
        improved = False
        for smaller in _smaller(scenario):
            if used >= tries:
                return scenario, used
            used += 1
            if fails(smaller):
                scenario, improved = smaller, True
                break
    return scenario, used


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Worlds a step shorter, the boldest steps first."""
    for days in _steps(scenario.days):
        yield scenario.model_copy(update={"days": days})
    for phones in _steps(scenario.phones):
        yield scenario.model_copy(update={"phones": phones})
    for name, fault in scenario.faults.items():
        if fault.rate:
            yield scenario.model_copy(update={"faults": scenario.faults.without(name)})


def _steps(number: int) -> Iterator[int]:
    """1, then half, then one less; each once."""
    seen = {number}
    for less in (1, number // 2, number - 1):
        if less >= 1 and less not in seen:
            seen.add(less)
            yield less
