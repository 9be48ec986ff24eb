"""Distilling with no model: what was seen, told in fixed forms; equal sentences are one (001).

No judgement beyond that: a wrong merge silently loses both sides, while a duplicate is caught by
the limits on how many facts an app may have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from device.agent.distillation.distiller import INDEPENDENT, Judgement, Marks, Verdict
from device.agent.distillation.observed import observed
from device.agent.records import Run

__all__ = ["ExactDistiller", "same_sentence"]


def same_sentence(a: str, b: str) -> bool:
    """Equal but for case, spaces and punctuation."""
    return _letters(a) == _letters(b)


class ExactDistiller:
    """The distiller of a phone that was given none."""

    name = "none"

    async def facts(self, run: Run) -> Sequence[str]:
        """As `Distiller.facts`: placements and successions that the steps name."""
        return observed(run)

    async def judge(self, new: str, held: Mapping[str, str]) -> Judgement:
        """As `Distiller.judge`: the same sentence, or independent."""
        same = next((i for i, content in held.items() if same_sentence(content, new)), "")
        return Judgement(Verdict.DUPLICATE, same) if same else INDEPENDENT

    async def marks(self, run: Run, held: Mapping[str, str]) -> Marks:  # noqa: ARG002 - no judgement
        """As `Distiller.marks`: nothing, for telling needs judgement."""
        return Marks()


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
