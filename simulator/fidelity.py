"""What a world leaves out so that more phones fit into it, and how its report says so.

``full`` leaves out nothing. ``light`` lowers the language work, half of what a phone does: every
third conversation is had, every third question about those is asked, and an answer that seems
incomplete is not looked into again. Dreams, learning, privacy, cryptography, sync and the cloud are
done in full: a light world shows them under the load of a large fleet. What it says of recall is of
the questions asked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from simulator.people import Ask, Compare, Deed, Person, Say
from simulator.words import Both

__all__ = ["LIGHT", "Fidelity", "in_both", "lowered", "played", "said"]

Fidelity: TypeAlias = Literal["full", "light"]

LIGHT: Final = 3
"""In a light world one of so many conversations is had, and one of so many questions asked."""
_SAID: Final = Both(
    "Fidelity light: every third conversation is had, every third question about those is asked "
    "and none is looked into twice; all else is done in full.",
    "精度 light：每三段对话只进行一段，相关问题每三个只问一个，且不作二次查找；其余一概照做。",
)


def played(fidelity: Fidelity, person: Person, phone: int) -> Person:
    """`person` with those deeds that are done; who does which does not depend on others."""
    if fidelity == "full":
        return person
    sessions = list(dict.fromkeys(deed.session for deed in person.deeds if isinstance(deed, Say)))
    had = frozenset(sessions[phone % LIGHT :: LIGHT])
    # The secret is told in any case: no law may be held less strictly than in a full world.
    said = [
        deed
        for deed in person.deeds
        if isinstance(deed, Say) and (deed.session in had or person.canary in deed.text)
    ]
    told = frozenset(deed.line for deed in said)
    asks = [
        deed for deed in person.deeds if isinstance(deed, Ask) and told.issuperset(deed.evidence)
    ]
    done = {id(deed) for deed in (*said, *asks[phone // LIGHT % LIGHT :: LIGHT])}
    kept = (deed for deed in person.deeds if id(deed) in done or _stands(deed, told))
    return replace(person, deeds=tuple(kept))


def _stands(deed: Deed, told: frozenset[str]) -> bool:
    """Whether a deed other than talk is done, where only `told` lines have been said."""
    match deed:
        case Say() | Ask():
            return False
        case Compare():
            return deed.first in told and deed.second in told
    return True


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
