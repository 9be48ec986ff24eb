"""What a world leaves out so that more phones fit into it, and how its report says so.

``full`` leaves out nothing. ``light`` lowers the language work of recalls, half of what a phone
does: fewer questions are asked, and an answer that seems incomplete is not looked into again.
Dreams, learning, privacy, cryptography, sync and the cloud are done in full: a light world shows
them under the load of a large fleet. What it says of recall is of the questions asked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from simulator.people import Ask, Person
from simulator.words import Both

__all__ = ["LIGHT_ASKS", "Fidelity", "in_both", "lowered", "played", "said"]

Fidelity: TypeAlias = Literal["full", "light"]

LIGHT_ASKS: Final = 4
"""Of so many questions one is asked in a light world."""
_SAID: Final = Both(
    f"Fidelity light: one question in {LIGHT_ASKS} is asked and none is looked into twice; "
    "all else is done in full.",
    f"精度 light：每 {LIGHT_ASKS} 个问题只问一个，且不作二次查找；其余一概照做。",
)


def played(fidelity: Fidelity, person: Person, phone: int) -> Person:
    """`person` with those questions that are asked; who asks which does not depend on others."""
    if fidelity == "full":
        return person
    asks = [deed for deed in person.deeds if isinstance(deed, Ask)]
    asked = {id(ask) for ask in asks[phone % LIGHT_ASKS :: LIGHT_ASKS]}
    kept = (deed for deed in person.deeds if not isinstance(deed, Ask) or id(deed) in asked)
    return replace(person, deeds=tuple(kept))


def lowered(fidelity: Fidelity) -> dict[str, Any]:
    """Settings of the phone that are lowered."""
    return {} if fidelity == "full" else {"clarifying_rounds": 0}


def said(fidelity: Fidelity) -> str | None:
    """What is left out, in a sentence; None for nothing."""
    return None if fidelity == "full" else _SAID.en


def in_both(sentence: str | None) -> Both | None:
    """What a report says of its fidelity, in both languages."""
    if sentence is None:
        return None
    return _SAID if sentence == _SAID.en else Both(sentence, sentence)
