"""What the write chain asks of whoever distils: offer facts, judge likeness, mark what held (001).

A distiller only proposes. Every sentence it offers is checked by rule before it is kept, and its
limits are the policy's, not its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from device.agent.records import Run

__all__ = ["INDEPENDENT", "Distiller", "Judgement", "Marks", "Verdict"]


class Verdict(StrEnum):
    """How a new fact stands to those held."""

    DUPLICATE = "duplicate"
    MERGE = "merge"
    """One sentence can say both; the judgement holds it."""
    CONTRADICTS = "contradicts"
    INDEPENDENT = "independent"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, about which held fact (its id), and the sentence for a merge."""

    verdict: Verdict
    held: str = ""
    rewrite: str = ""


INDEPENDENT = Judgement(Verdict.INDEPENDENT)


@dataclass(frozen=True, slots=True)
class Marks:
    """Ids of held facts that a run showed to hold, and not to hold."""

    confirmed: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()


class Distiller(Protocol):
    """none | model | endpoint: chosen in the settings, none unless asked for."""

    @property
    def name(self) -> str:
        """What `status` calls it."""
        ...

    async def facts(self, run: Run) -> Sequence[str]:
        """Sentences about the app that a successful run showed; none is a right answer."""
        ...

    async def judge(self, new: str, held: Mapping[str, str]) -> Judgement:
        """How `new` stands to the sentences held of the same app, by id."""
        ...

    async def marks(self, run: Run, held: Mapping[str, str]) -> Marks:
        """Which of the facts that were injected the run confirms or refutes."""
        ...
