"""From a turn to drafts of memories: events, preferences, attributes, and changes to events.

Drafts say what was meant in a schema (002: type, time, place, people, action, object, sentiment);
which stored memory a change concerns is decided by consolidation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from enum import StrEnum

from device.language.actions import find_action
from device.language.attributes import find_attributes, is_user
from device.language.changes import cancels, corrects, ends_of_move, finishes, shift_of
from device.language.entities import find_people, find_place
from device.language.eventhood import Evidence, is_event, is_habit, is_planned, may_tell
from device.language.intents import statements, worth_remembering
from device.language.kept import kept
from device.language.patterns import Bilingual
from device.language.preferences import Preference, find_preference
from device.language.sentiment import sentiment
from device.language.times import TimeExpression, find_times, times_on

__all__ = ["Draft", "DraftKind", "extract"]

MAX_DRAFTS = 8
"""Drafts one turn gives at most."""
MOVE_GAP = 6
"""Characters between the moving words and the new time at most."""
DAY_SECONDS = 86_400.0
VAGUE_GRAINS = frozenset({"second", "days", "after"})
"""Times too loose to make an event of a sentence by themselves: now, lately, from then on."""


class DraftKind(StrEnum):
    """What a draft is, before consolidation."""

    EVENT = "event"
    PREFERENCE = "preference"
    ATTRIBUTE = "attribute"
    CANCEL = "cancel"
    MOVE = "move"
    CORRECT = "correct"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Draft:
    """One thing a turn says. Times are unix seconds UTC; `text` is the sentence itself."""

    kind: DraftKind
    text: str
    subject: str = "user"
    action: str = ""
    object: str = ""
    place: str = ""
    people: tuple[str, ...] = ()
    starts: float | None = None
    ends: float | None = None
    time_text: str = ""
    sentiment: float = 0.0
    planned: bool = False
    """Stated as something to come."""
    exclusive: bool = False
    """A preference that excludes others of its kind ("only", "prefer")."""
    eventful: bool = False
    """A change whose sentence would be an event by itself."""
    target: str = ""
    """The words that say which event a change is about."""
    shift: float = 0.0
    """Seconds by which a move without a date shifts its event ("推迟一周"); sooner is negative."""


_CLAUSES = re.compile(r"[，,]")
_PART_OF_DAY = re.compile(
    r"^(?:in |the )*(?:morning|afternoon|evening|night|noon)$"
    r"|^(?:早上|上午|中午|下午|晚上|早晨|傍晚|半夜)$",
    re.IGNORECASE,
)
"""A time of day without a day: "a spot for a morning workout" is no date."""


def extract(text: str, speaker: str, at: float, tz: tzinfo, kind: str = "dialogue") -> list[Draft]:
    """Drafts of one turn said by `speaker` at unix time `at` in the zone `tz`.

    Empty for small talk, system text and what a machine said. Speakers other than the user are
    people too: their events carry their own name as subject.
    """
    if not worth_remembering(text, speaker, kind):
        return []
    reference = datetime.fromtimestamp(at, tz)
    ends = _ends_on(text, reference.date(), tz)
    if ends is None:
        times = [find_times(sentence, reference) for sentence in statements(text)]
        ahead = _ahead([_end(found) for found in times], reference)
        return list(_drafts(text, speaker, times, ahead))
    return list(_drafts_on(text, speaker, reference.date(), tz, _ahead(ends, reference)))


@kept
def _ends_on(text: str, day: date, zone: tzinfo) -> tuple[float, ...] | None:
    """When what each statement dates is over, which is all that the hour it is said still decides;
    None when the times themselves depend on the hour."""
    times = [times_on(sentence, day, zone) for sentence in statements(text)]
    known = [_end(found) for found in times if found is not None]
    return tuple(known) if len(known) == len(times) else None


@kept
def _drafts_on(
    text: str, speaker: str, day: date, zone: tzinfo, ahead: tuple[bool, ...]
) -> tuple[Draft, ...]:
    """The drafts of a turn whenever it is said that day, given which statements lie ahead."""
    times = [times_on(sentence, day, zone) or () for sentence in statements(text)]
    return _drafts(text, speaker, times, ahead)


def _end(times: Sequence[TimeExpression]) -> float:
    return max((time.end for time in times if _is_firm(time)), default=-math.inf)


def _ahead(ends: Sequence[float], reference: datetime) -> tuple[bool, ...]:
    now = reference.timestamp()
    return tuple([end > now for end in ends])


def _drafts(
    text: str, speaker: str, times: Sequence[Sequence[TimeExpression]], ahead: Sequence[bool]
) -> tuple[Draft, ...]:
    """The drafts of a turn, given the times its statements name and which lie ahead."""
    subject = "user" if is_user(speaker) else speaker
    drafts = [
        Draft(DraftKind.ATTRIBUTE, a.text, subject, action=a.key, object=a.value)
        for a in find_attributes(text, speaker)
    ]
    stated = [d.text for d in drafts]
    for sentence, named, later in zip(statements(text), times, ahead, strict=True):
        draft = _drafted(sentence, subject, tuple(named), later)
        if draft is not None and not _said_already(draft, stated):
            drafts.append(draft)
    return tuple(drafts[:MAX_DRAFTS])


def _said_already(draft: Draft, attributes: list[str]) -> bool:
    """An undated event or a preference whose sentence is but an attribute's statement."""
    if draft.kind not in (DraftKind.EVENT, DraftKind.PREFERENCE) or draft.starts is not None:
        return False
    return any(text and (text in draft.text or draft.text in text) for text in attributes)


@kept
def _drafted(
    sentence: str, subject: str, times: tuple[TimeExpression, ...], ahead: bool
) -> Draft | None:
    """What a sentence says, once its times are known, and whether one is still to come."""
    changed = _change(sentence, subject, times, ahead)
    if changed is not None:
        return _felt(changed)
    preference = find_preference(sentence)
    if preference is not None:
        return _preferred(sentence, subject, preference)
    done = finishes(sentence)
    if done is None and not may_tell(sentence, dated=any(_is_firm(t) for t in times)):
        return None
    base = _base(sentence, subject, times)
    eventful = _is_event(base, times, ahead)
    if done is not None:
        return _felt(
            replace(base, kind=DraftKind.DONE, target=_clause(sentence, done), eventful=eventful)
        )
    return _felt(base) if eventful else None


def _felt(draft: Draft) -> Draft:
    return replace(draft, sentiment=sentiment(draft.text))


def _preferred(sentence: str, subject: str, found: Preference) -> Draft:
    holder = subject if found.holder == "user" else found.holder
    return Draft(
        DraftKind.PREFERENCE,
        sentence,
        holder,
        action="like" if found.liked else "dislike",
        object=found.object,
        sentiment=found.strength if found.liked else -found.strength,
        exclusive=found.exclusive,
    )


def _change(
    sentence: str, subject: str, times: Sequence[TimeExpression], ahead: bool
) -> Draft | None:
    """The sentence as a correction, a move or a cancellation, if it is one."""
    usable = [t for t in times if t.grain not in VAGUE_GRAINS and not _refused(sentence, t)]
    wrong, move = corrects(sentence), _move(sentence, usable)
    shift = 0.0 if move is not None else shift_of(sentence)
    off = cancels(sentence)
    if not (wrong or move or shift or off):
        return None
    base = _base(sentence, subject, times)
    base = replace(base, eventful=_is_event(base, times, ahead))
    if wrong:
        corrected = replace(base, kind=DraftKind.CORRECT, target=_without(sentence, times))
        return _at(corrected, usable[0]) if usable else _undated(corrected)
    if move is not None:
        moved = replace(base, kind=DraftKind.MOVE, planned=True, target=_without(sentence, times))
        return _at(moved, move)
    if shift:
        shifted = replace(base, kind=DraftKind.MOVE, planned=True, target=sentence, shift=shift)
        return _undated(shifted)
    return replace(base, kind=DraftKind.CANCEL, target=_clause(sentence, off)) if off else None


def _undated(draft: Draft) -> Draft:
    return replace(draft, starts=None, ends=None, time_text="")


def _clause(sentence: str, pattern: Bilingual) -> str:
    """The clause a rule is found in: what else a sentence says is about something else."""
    return next((c for c in _CLAUSES.split(sentence) if pattern.search(c)), sentence)


def _move(sentence: str, times: Sequence[TimeExpression]) -> TimeExpression | None:
    """The time an event is moved to: it stands right after the moving words."""
    if not times:
        return None
    ends = ends_of_move(sentence)
    near = (t for t in times for end in ends if 0 <= t.position - end <= MOVE_GAP)
    return next(near, None)


def _without(sentence: str, times: Sequence[TimeExpression]) -> str:
    for time in times:
        sentence = sentence.replace(time.text, " ")
    return sentence


def _refused(sentence: str, time: TimeExpression) -> bool:
    before = sentence[: time.position].rstrip().lower()
    return before.endswith(
        ("不是", "而不是", "not", "not on", "instead of", "not the", "原来说", "本来是")
    )


def _base(sentence: str, subject: str, times: Sequence[TimeExpression]) -> Draft:
    people = find_people(sentence)
    # "Visit Aunt Ruth" names a person where a place could stand.
    place = "" if (found := find_place(sentence)) in people else found
    action, thing = find_action(sentence, tuple(t.text for t in times), (place, *people))
    draft = Draft(
        DraftKind.EVENT,
        sentence,
        subject,
        action=action,
        object=thing,
        place=place,
        people=people,
        planned=is_planned(sentence),
    )
    fixed = [t for t in times if _is_firm(t) and not _refused(sentence, t)]
    if not fixed:
        return draft
    if is_habit(sentence):
        return replace(draft, time_text=fixed[0].text)
    # The finest time is the event's own: "spring concert on May 9" is on May 9.
    return _at(draft, min(fixed, key=lambda t: (min(t.end - t.start, DAY_SECONDS), t.position)))


def _at(draft: Draft, time: TimeExpression) -> Draft:
    return replace(draft, starts=time.start, ends=time.end, time_text=time.text)


def _is_firm(time: TimeExpression) -> bool:
    return time.grain not in VAGUE_GRAINS and not _PART_OF_DAY.match(time.text.strip())


def _is_event(draft: Draft, times: Sequence[TimeExpression], ahead: bool) -> bool:
    dated = any(_is_firm(time) for time in times)
    return is_event(
        draft.text, Evidence(dated, ahead, draft.place, draft.people, draft.action, draft.object)
    )
