"""What a probe expects against what the phone answered: the first thing wrong, in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from device.memory.confidence import VOLUNTEERED
from device.memory.records import Answer, EventState, Hit, Item, ItemKind, Layer
from device.probing.schema import Dialogue, ItemCheck, Probe
from device.probing.stage import Stage

__all__ = ["wrong"]

CLEAR_MOOD = 0.2
"""Sentiment from which a memory is good or bad rather than neither."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """Everything a check may look at."""

    stage: Stage
    dialogue: Dialogue
    probe: Probe
    answer: Answer
    items: Sequence[Item]
    archived: Sequence[Item]
    values: dict[str, str]
    recent: Sequence[Hit]

    @property
    def top(self) -> tuple[Hit, ...]:
        """The hits that count as an answer."""
        return self.answer.hits[: self.probe.within]

    def local(self, at: float) -> datetime:
        """Unix seconds as the script writes them."""
        return datetime.fromtimestamp(at, self.dialogue.tz).replace(tzinfo=None)


async def wrong(stage: Stage, dialogue: Dialogue, probe: Probe) -> str:
    """Ask `probe` of the phone on `stage` now; empty when all it expects is so."""
    seen = _Seen(
        stage=stage,
        dialogue=dialogue,
        probe=probe,
        answer=await stage.ask(probe.ask, probe.k),
        items=await stage.items(),
        archived=await stage.archived() if probe.archived else (),
        values=await stage.values() if probe.values or probe.no_values else {},
        recent=await stage.recent(probe.ask) if probe.ring or probe.not_ring else (),
    )
    return next((reason for check in _CHECKS for reason in check(seen)), "")


def _finds(seen: _Seen) -> Iterator[str]:
    for number, turn in _turns(seen, seen.probe.finds):
        hits = [hit for hit in seen.top if turn in (hit.id, *hit.turns)]
        yield from _found(seen, hits, f"turn {number}")


def _says(seen: _Seen) -> Iterator[str]:
    for words in seen.probe.says:
        hits = [hit for hit in seen.top if _has(hit.text, words)]
        yield from _found(seen, hits, repr(words))


def _found(seen: _Seen, hits: list[Hit], what: str) -> Iterator[str]:
    layer = seen.probe.layer
    if not hits:
        yield f"{what} is not in the best {seen.probe.within}: {_shown(seen.top)}"
    elif layer and all(hit.layer is not layer for hit in hits):
        yield f"{what} comes from the {hits[0].layer} layer, not the {layer} one"


def _leaves(seen: _Seen) -> Iterator[str]:
    for number, turn in _turns(seen, seen.probe.leaves):
        told = (*seen.answer.hits, *seen.answer.changes)
        if any(turn in (hit.id, *hit.turns) for hit in told):
            yield f"turn {number} is behind an answer and must not be"


def _unsaid(seen: _Seen) -> Iterator[str]:
    for words in seen.probe.unsaid:
        for hit in seen.answer.hits:
            if _has(hit.text, words):
                yield f"{words!r} must not be said, but is: {hit.text!r} ({hit.layer})"


def _retired(seen: _Seen) -> Iterator[str]:
    by_id = {item.id: item for item in seen.items}
    given = [by_id[hit.id] for hit in seen.answer.hits if hit.id in by_id]
    for number, turn in _turns(seen, seen.probe.retired):
        for item in given:
            over = item.state is not EventState.ACTIVE or item.replaced_by
            if turn in item.turns and over and item.kind is not ItemKind.CHANGE:
                yield f"what turn {number} said is {item.state}, yet given as standing"


def _unvolunteered(seen: _Seen) -> Iterator[str]:
    by_id = {item.id: item for item in seen.items if item.kind is ItemKind.PREFERENCE}
    given = [by_id[hit.id] for hit in seen.answer.hits if hit.id in by_id]
    for number, turn in _turns(seen, seen.probe.unvolunteered):
        if any(turn in item.turns for item in given):
            yield f"the unsure preference of turn {number} is brought up unasked"


def _folds(seen: _Seen) -> Iterator[str]:
    turns = set(seen.stage.ids(seen.probe.folds))
    if turns and not any(turns <= {hit.id, *hit.turns} for hit in seen.answer.hits):
        yield f"no one answer carries turns {seen.probe.folds} together"


def _apart(seen: _Seen) -> Iterator[str]:
    turns = set(seen.stage.ids(seen.probe.apart))
    if any(len(turns & {hit.id, *hit.turns}) > 1 for hit in seen.answer.hits):
        yield f"one answer carries several of turns {seen.probe.apart}"


def _empty(seen: _Seen) -> Iterator[str]:
    if seen.probe.empty and seen.answer.hits:
        yield f"nothing is known of this, yet {_shown(seen.answer.hits)}"


def _decided(seen: _Seen) -> Iterator[str]:
    wanted = seen.probe.decided
    if wanted == "model" and not seen.stage.routed:
        wanted = "fallback"
    if wanted and seen.answer.decided_by != wanted:
        yield f"routed by {seen.answer.decided_by}, not by {wanted}"


def _searched(seen: _Seen) -> Iterator[str]:
    if seen.probe.searched is None:
        return
    weights = {layer: seen.answer.weights.get(layer.value, 0.0) for layer in Layer}
    layers = set(seen.stage.phone.floors.searched(weights))
    if layers != set(seen.probe.searched):
        yield f"searched {', '.join(sorted(layers))}"


def _changes(seen: _Seen) -> Iterator[str]:
    told = (*seen.answer.hits, *seen.answer.changes)
    for words in seen.probe.changes:
        if not any(_has(hit.text, words) for hit in told):
            yield f"no change record {words!r} comes along"


def _rounds(seen: _Seen) -> Iterator[str]:
    if seen.probe.rounds is not None and seen.answer.rounds != seen.probe.rounds:
        yield f"took {seen.answer.rounds} rounds, not {seen.probe.rounds}"


def _missing(seen: _Seen) -> Iterator[str]:
    wanted = seen.probe.missing
    if wanted is not None and set(wanted) != set(seen.answer.missing):
        yield f"says {list(seen.answer.missing)} is missing, not {list(wanted)}"


def _items(seen: _Seen) -> Iterator[str]:
    for check in seen.probe.items:
        alike = [i for i in seen.items if i.kind is check.kind and _has(i.text, check.has)]
        faults = [_item_fault(seen, item, check) for item in alike]
        if not faults:
            yield f"no {check.kind} holds {check.has!r}"
        elif all(faults):
            yield f"the {check.kind} {check.has!r}: {faults[0]}"


def _item_fault(seen: _Seen, item: Item, check: ItemCheck) -> str:
    """The first field in which `item` differs; empty when it is as expected."""
    starts = None if item.starts is None else seen.local(item.starts)
    ends = None if item.ends is None else seen.local(item.ends)
    mood = "none" if abs(item.sentiment) < CLEAR_MOOD else "good" if item.sentiment > 0 else "bad"
    pairs: tuple[tuple[str, object, object], ...] = (
        ("state", check.state, item.state),
        ("subject", check.subject, item.subject),
        ("action", check.action, item.action),
        ("place", check.place, item.place),
        ("people", check.people, item.people),
        ("starts", check.starts, starts),
        ("ends", check.ends, ends),
        ("day", check.day and check.day.date(), starts and starts.date()),
        ("said", check.said, item.time_text),
        ("mood", check.mood, mood),
        ("turns", check.turns and seen.stage.ids(check.turns), item.turns),
        ("replaced", check.replaced, bool(item.replaced_by)),
        ("volunteered", check.volunteered, item.confidence >= VOLUNTEERED),
    )
    for name, wanted, got in pairs:
        if wanted is not None and wanted != got:
            return f"{name} is {got}, not {wanted}"
    if check.object is not None and not _has(item.object, check.object):
        return f"object is {item.object!r}, not {check.object!r}"
    return ""


def _no_items(seen: _Seen) -> Iterator[str]:
    for words in seen.probe.no_items:
        for item in seen.items:
            if item.kind is not ItemKind.CHANGE and _has(item.text, words):
                yield f"{words!r} was stored as {item.kind}: {item.text!r}"


def _archived(seen: _Seen) -> Iterator[str]:
    for number, turn in _turns(seen, seen.probe.archived):
        if not any(turn in item.turns for item in seen.archived):
            yield f"what turn {number} said is not in the archive"
        if any(turn in hit.turns for hit in seen.answer.hits if hit.layer is Layer.STRUCTURED):
            yield f"what turn {number} said is archived, yet recalled"


def _values(seen: _Seen) -> Iterator[str]:
    for key, value in seen.probe.values.items():
        if seen.values.get(key) != value:
            yield f"{key} is {seen.values.get(key)!r}, not {value!r}"
    for key in seen.probe.no_values:
        if key in seen.values:
            yield f"{key} is {seen.values[key]!r} and must not be held"


def _ring(seen: _Seen) -> Iterator[str]:
    held = {turn for hit in seen.recent for turn in hit.turns}
    for number, turn in _turns(seen, seen.probe.ring):
        if turn not in held:
            yield f"the working layer does not answer with turn {number}"
    for number, turn in _turns(seen, seen.probe.not_ring):
        if turn in held:
            yield f"the working layer still answers with turn {number}"


_CHECKS: tuple[Callable[[_Seen], Iterator[str]], ...] = (
    _finds,
    _says,
    _leaves,
    _unsaid,
    _retired,
    _unvolunteered,
    _folds,
    _apart,
    _empty,
    _decided,
    _searched,
    _changes,
    _rounds,
    _missing,
    _items,
    _no_items,
    _archived,
    _values,
    _ring,
)


def _turns(seen: _Seen, numbers: tuple[int, ...]) -> Iterator[tuple[int, str]]:
    return zip(numbers, seen.stage.ids(numbers), strict=True)


def _has(text: str, words: str) -> bool:
    return words.casefold() in text.casefold()


def _shown(hits: Sequence[Hit]) -> str:
    """The hits as a failed probe's reason quotes them; scripts are nobody's secrets."""
    return "; ".join(f"{hit.text} ({hit.layer})" for hit in hits) or "nothing"
