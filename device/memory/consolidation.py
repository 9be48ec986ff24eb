"""Turns become structured memory: extract, resolve, merge, replace (002, structured layer).

Pure and synchronous: turns and present items in, changes out. Item numbers follow from the turn's
sequence and the place in it, so consolidating the same turns again gives the same changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo

from device.language import Draft, DraftKind, content_tokens, extract
from device.memory.amendments import CHANGES, amend, reminds
from device.memory.changes import Change
from device.memory.coding import item_id
from device.memory.confidence import CERTAIN, OWNER_SOURCE, preference_confidence
from device.memory.desk import Desk
from device.memory.lifecycle import SLOTS, Transition, record_of
from device.memory.people import USER, with_names
from device.memory.records import EventState, Item, ItemKind, Turn
from device.memory.rescheduling import new_time, shifted
from device.memory.targets import EventChange, event_meant

__all__ = ["Consolidator", "consolidate"]

NOTE_SLOT = 16
"""Change records of a turn's own doing start at this slot."""
EVENT_CONFIDENCE = 0.8
RESTATED = 0.05
"""Confidence a restatement adds."""
SAME_EVENT_SHARE = 0.7
"""Share of the shorter one's content tokens two tellings of one event have in common."""
MAX_TURNS = 20
"""Provenance kept of one item: its first turn and the newest others."""
ARROW = " → "
"""Stands between what was first said of an event and what changed it."""


def consolidate(turns: Sequence[Turn], existing: Iterable[Item], tz: tzinfo) -> list[Change]:
    """Changes that `turns` (oldest first) make to the `existing` items; times are read in `tz`."""
    return Consolidator(existing).consolidate(turns, tz)


class Consolidator:
    """Consolidates batch after batch without reading the items anew each time."""

    def __init__(self, existing: Iterable[Item]) -> None:
        self._desk = Desk(existing)

    def consolidate(
        self, turns: Sequence[Turn], tz: tzinfo, drafts: Sequence[list[Draft]] | None = None
    ) -> list[Change]:
        """Changes of one batch, in order; the next batch builds on them.

        `drafts`: what each turn says, read by the built-in rules unless given.
        """
        for place, turn in enumerate(turns):
            read = drafts[place] if drafts is not None else _read(turn, tz)
            self._take_in(turn, read, tz)
        return self._desk.take_changes()

    def _take_in(self, turn: Turn, drafts: list[Draft], tz: tzinfo) -> None:
        amended = amend(turn, drafts, tz)
        if amended is not None and _Step(self._desk, turn, len(drafts), amended, tz).change():
            # The same words are no event of their own any more.
            drafts = [d for d in drafts if d.kind is not DraftKind.EVENT and d.kind not in CHANGES]
        for slot, draft in enumerate(drafts):
            _Step(self._desk, turn, slot, draft, tz).run()


def _read(turn: Turn, tz: tzinfo) -> list[Draft]:
    return extract(turn.text, turn.speaker, turn.at, tz, turn.kind)


class _Step:
    """One draft of one turn, put where it belongs."""

    def __init__(self, desk: Desk, turn: Turn, slot: int, draft: Draft, tz: tzinfo) -> None:
        self._desk = desk
        self._turn = turn
        self._draft = draft
        self._tz = tz
        self._number = turn.sequence * SLOTS + slot
        self._note = self._number + NOTE_SLOT

    def change(self) -> bool:
        """Change the event the draft is about; whether there is one."""
        match self._draft.kind:
            case DraftKind.CANCEL:
                return self._end(EventState.CANCELLED, Transition.CANCELLED)
            case DraftKind.DONE:
                return self._end(EventState.COMPLETED, Transition.COMPLETED)
            case DraftKind.CORRECT:
                return self._move(Transition.CORRECTED)
            case _:
                return self._move(Transition.MOVED)

    def run(self) -> None:
        """Put the draft where it belongs."""
        match self._draft.kind:
            case DraftKind.EVENT:
                self._event()
            case DraftKind.PREFERENCE:
                self._preference()
            case DraftKind.ATTRIBUTE:
                self._attribute()
            case DraftKind.CANCEL:
                self.change()
            case _:
                changed = self.change()
                if self._draft.eventful and (not changed or self._draft.kind is DraftKind.DONE):
                    self._event()

    # -- events

    def _event(self) -> None:
        same = self._same_event()
        if same is None:
            self._desk.create(self._item(ItemKind.EVENT, confidence=EVENT_CONFIDENCE))
            return
        confidence = min(same.confidence + RESTATED, 1.0)
        self._desk.update(replace(self._seen(same), confidence=confidence))

    def _same_event(self) -> Item | None:
        """An active event told before: same day, and most of the words of the shorter telling."""
        mine = set(content_tokens(self._draft.text))
        for _, event in self._desk.events_like(self._draft.text):
            theirs = set(content_tokens(event.text))
            shorter = min(len(mine), len(theirs))
            if self._day(event.starts) != self._day(self._draft.starts) or not shorter:
                continue
            alike = len(mine & theirs) >= SAME_EVENT_SHARE * shorter
            people = event.people, self._draft.people
            # A visit to Ann and a visit to Bob differ in one word and are two visits.
            others = all(people) and set(people[0]).isdisjoint(people[1])
            if alike and not others and event.subject == self._draft.subject:
                return event
        return None

    def _day(self, at: float | None) -> str:
        return "" if at is None else datetime.fromtimestamp(at, self._tz).date().isoformat()

    def _end(self, state: EventState, transition: Transition) -> bool:
        event = self._meant()
        if event is None:
            return False
        self._desk.update(replace(event, state=state, updated=self._turn.at))
        self._write_note(event, transition)
        return True

    def _meant(self) -> Item | None:
        return event_meant(self._desk, EventChange(self._draft, self._turn.at, self._tz))

    def _move(self, transition: Transition) -> bool:
        shift = self._draft.shift
        event = None if shift and reminds(self._draft.text) else self._meant()
        if event is None or (shift and event.starts is None):
            return False
        starts, ends, words = self._new_time(event)
        moved = replace(
            event,
            id=item_id(self._number),
            text=f"{event.text.split(ARROW)[0]}{ARROW}{self._draft.text}",
            updated=self._turn.at,
            turns=self._turns_of(event),
            place=self._draft.place or event.place,
            starts=starts,
            ends=ends,
            time_text=words,
        )
        self._desk.create(moved)
        self._retire(event, moved.id, EventState.CANCELLED, transition)
        return True

    def _new_time(self, event: Item) -> tuple[float | None, float | None, str]:
        if self._draft.starts is None:
            return shifted(event, self._draft.shift, self._tz)
        return new_time(event, self._draft, self._turn.at, self._tz)

    # -- preferences and attributes

    def _preference(self) -> None:
        mine = self._draft
        held = self._desk.facts(ItemKind.PREFERENCE, mine.subject, "")
        for item in held:
            if _tokens(item.object) == _tokens(mine.object) and item.action == mine.action:
                self._reinforce(item)
                return
        confidence = preference_confidence(1, 0.0, abs(mine.sentiment))
        confidence = CERTAIN if self._turn.source == OWNER_SOURCE else confidence
        fresh = self._item(ItemKind.PREFERENCE, confidence=confidence)
        self._settle(fresh, [item for item in held if _conflict(item, mine)])

    def _attribute(self) -> None:
        held = self._desk.facts(ItemKind.ENTITY, self._draft.subject, self._draft.action)
        for item in held:
            if item.object == self._draft.object:
                self._desk.update(replace(self._seen(item), text=self._draft.text))
                return
        self._settle(self._item(ItemKind.ENTITY, confidence=1.0), held)

    def _reinforce(self, item: Item) -> None:
        if self._turn.id in item.turns:
            return
        seen = self._seen(item)
        emotion = max(abs(item.sentiment), abs(self._draft.sentiment))
        span = max(seen.updated, item.updated) - item.created
        confidence = max(seen.confidence, preference_confidence(len(seen.turns), span, emotion))
        if self._turn.source == OWNER_SOURCE:
            confidence = CERTAIN
        # All its words come from the newest telling: forgetting an older turn leaves none behind.
        said, thing = self._draft.text, self._draft.object
        self._desk.update(replace(seen, text=said, object=thing, confidence=confidence))

    def _settle(self, fresh: Item, conflicting: list[Item]) -> None:
        """The newer of two that exclude each other stands; the older stays as history."""
        newer = next((item for item in conflicting if item.updated > fresh.updated), None)
        if newer is not None:
            self._desk.create(replace(fresh, replaced_by=newer.id, state=EventState.EXPIRED))
            return
        self._desk.create(fresh)
        for item in conflicting:
            self._retire(item, fresh.id, EventState.EXPIRED, Transition.REPLACED)

    # -- shared

    def _retire(self, old: Item, by: str, state: EventState, transition: Transition) -> None:
        if old.id == by:
            return
        self._desk.update(replace(old, state=state, replaced_by=by, updated=self._turn.at))
        self._write_note(old, transition)

    def _write_note(self, old: Item, transition: Transition) -> None:
        turn, said = self._turn, self._draft.text
        self._desk.create(record_of(self._note, old, transition, turn.at, said, turn.id))
        self._note += 1

    def _seen(self, item: Item) -> Item:
        """The item with this turn added to its provenance."""
        return replace(item, turns=self._turns_of(item), updated=max(item.updated, self._turn.at))

    def _turns_of(self, item: Item) -> tuple[str, ...]:
        if self._turn.id in item.turns:
            return item.turns
        turns = (*item.turns, self._turn.id)
        return turns if len(turns) <= MAX_TURNS else (turns[0], *turns[2:])

    def _item(self, kind: ItemKind, *, confidence: float) -> Item:
        draft, turn = self._draft, self._turn
        return Item(
            id=item_id(self._number),
            kind=kind,
            text=draft.text,
            created=turn.at,
            updated=turn.at,
            turns=(turn.id,),
            subject=draft.subject,
            action=draft.action,
            object=draft.object,
            place=draft.place,
            people=with_names(draft.people, self._desk.entities(USER)) if draft.people else (),
            starts=draft.starts,
            ends=draft.ends,
            time_text=draft.time_text,
            sentiment=draft.sentiment,
            confidence=confidence,
        )


def _tokens(text: str) -> frozenset[str]:
    return frozenset(content_tokens(text)) or frozenset([text.strip().lower()])


def _conflict(held: Item, new: Draft) -> bool:
    """Liked and disliked the same thing, or two exclusive choices of one kind.

    The kind is the last word of the object: aisle *seat* against window *seat*, 靠窗的*座* against
    靠过道的*座*.
    """
    theirs, mine = _tokens(held.object), _tokens(new.object)
    if held.action != new.action:
        return theirs == mine
    return new.exclusive and theirs != mine and _kind(held.object) == _kind(new.object)


def _kind(thing: str) -> str:
    words = thing.strip().lower().split()
    last = words[-1] if words else ""
    return last if last.isascii() else last[-1:]
