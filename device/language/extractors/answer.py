"""What a model service may answer, and what is taken of it.

The answer is untrusted. It must fit the schema (002: type, time, place, people, action, object,
sentiment), and every word it attributes to a turn must stand in that turn: what a model invents or
what an earlier text told it to say is dropped. Times are read here, never taken from the model.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from device.language.attribute_rules import LABELS_ZH
from device.language.attributes import is_user
from device.language.changes import shift_of
from device.language.events import MAX_DRAFTS, Draft, DraftKind
from device.language.extractors.extractor import Said
from device.language.times import find_times
from device.language.words import RELATIONS_EN, RELATIONS_ZH

__all__ = ["Answer", "drafts_of"]

MAX_TURNS = 8
"""Turns one request asks about."""

Phrase = Annotated[str, StringConstraints(max_length=120, strip_whitespace=True)]
_TASTES = frozenset({"like", "dislike"})
_RELATIONS = frozenset([*RELATIONS_ZH.values(), *RELATIONS_EN.values()])


class _Bounded(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Memory(_Bounded):
    """One thing a turn says."""

    kind: DraftKind
    quote: Annotated[str, StringConstraints(min_length=1, max_length=400, strip_whitespace=True)]
    """The sentence that says it, word for word."""
    action: Phrase = ""
    object: Phrase = ""
    place: Phrase = ""
    people: tuple[Phrase, ...] = Field(default=(), max_length=8)
    time: Phrase = ""
    """The words that say when, word for word."""
    sentiment: float = Field(default=0.0, ge=-1.0, le=1.0, allow_inf_nan=False)
    planned: bool = False
    exclusive: bool = False


class TurnAnswer(_Bounded):
    """What is worth remembering of one turn."""

    turn: int = Field(ge=0, lt=MAX_TURNS)
    memories: tuple[Memory, ...] = Field(max_length=MAX_DRAFTS)


class Answer(_Bounded):
    """The whole answer to one request."""

    turns: tuple[TurnAnswer, ...] = Field(max_length=MAX_TURNS)


def drafts_of(memories: tuple[Memory, ...], turn: Said, tz: tzinfo) -> list[Draft]:
    """The drafts of those memories that the turn itself says, with their times resolved."""
    return [_draft(memory, turn, tz) for memory in memories if _said(memory, turn)]


def _said(memory: Memory, turn: Said) -> bool:
    """Whether each word of the memory stands in the turn, and its kind fits its action."""
    text = turn.text.casefold()
    quote = memory.quote.casefold()
    parts = (memory.object, memory.place, memory.time, *memory.people)
    if quote not in text or any(part.casefold() not in text for part in parts):
        return False
    if memory.kind is DraftKind.PREFERENCE:
        return memory.action in _TASTES and bool(memory.object)
    if memory.kind is DraftKind.ATTRIBUTE:
        return bool(memory.object) and is_user(turn.speaker) and _is_key(memory.action)
    return True


def _is_key(key: str) -> bool:
    relation, dot, part = key.rpartition(".")
    return part in LABELS_ZH and (not dot or relation in _RELATIONS)


def _draft(memory: Memory, turn: Said, tz: tzinfo) -> Draft:
    draft = Draft(
        memory.kind,
        memory.quote,
        "user" if is_user(turn.speaker) else turn.speaker,
        action=memory.action,
        object=memory.object,
        place=memory.place,
        people=tuple(person for person in memory.people if person),
        sentiment=memory.sentiment,
        planned=memory.planned,
        exclusive=memory.exclusive,
        eventful=memory.kind is DraftKind.EVENT,
    )
    if memory.kind in (DraftKind.MOVE, DraftKind.CORRECT, DraftKind.CANCEL, DraftKind.DONE):
        draft = replace(draft, target=memory.quote.replace(memory.time or "\x00", " "))
    found = find_times(memory.time, datetime.fromtimestamp(turn.at, tz)) if memory.time else []
    if found:
        time = found[0]
        return replace(draft, starts=time.start, ends=time.end, time_text=time.text)
    shift = shift_of(memory.quote) if memory.kind is DraftKind.MOVE else 0.0
    return replace(draft, shift=shift)
