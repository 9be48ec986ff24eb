"""Questions about a fleet, and what an answer to one is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from simulator.words import Both

__all__ = ["Answer", "Language", "as_json", "say", "silent"]

Language = Literal["en", "zh"]

silent: Callable[[str], None] = lambda _step: None  # noqa: E731
"""Hears of every step and says nothing."""


@dataclass(frozen=True)
class Answer:
    """One question answered.

    `sentence` is the answer, `basis` what it stands on: what is a formula, what was played, and
    what neither. `rows` are the table under `columns`; `figures` the same numbers for a program.
    """

    question: str
    sentence: Both
    basis: Both
    columns: Sequence[Both]
    rows: Sequence[Sequence[str | Both]]
    figures: dict[str, Any] = field(default_factory=dict)


def as_json(answer: Answer) -> dict[str, Any]:
    """The answer as JSON holds it."""
    return {
        "question": answer.question,
        "sentence": answer.sentence._asdict(),
        "basis": answer.basis._asdict(),
        **asdict(answer)["figures"],
    }


def say(answer: Answer, language: Language, console: Console) -> None:
    """The answer for a person: the table, the sentence, and what it stands on."""
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
    for place, column in enumerate(answer.columns):
        table.add_column(getattr(column, language), justify="right" if place else "left")
    for row in answer.rows:
        table.add_row(*(_in(cell, language) for cell in row))
    console.print(table)
    console.print()
    console.print(getattr(answer.sentence, language), style="bold", markup=False, highlight=False)
    console.print(getattr(answer.basis, language), style="dim", markup=False, highlight=False)


def _in(cell: str | Both, language: Language) -> str:
    return cell if isinstance(cell, str) else str(getattr(cell, language))
