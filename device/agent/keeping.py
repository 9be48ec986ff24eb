"""Facts, skills, patterns and runs as items of the structured layer, and back.

The words stand where a person reads them (``text``, ``subject``), the rest is packed in ``detail``:
positions, not names, so that a record stays small; a run's steps are deflated as well.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, is_dataclass, replace
from typing import Any

import msgpack

from device.agent.records import (
    Confirmation,
    Fact,
    FactKind,
    Outcome,
    Page,
    Pattern,
    Result,
    Run,
    Skill,
    Step,
    Trigger,
)
from device.memory.records import Item, ItemKind

__all__ = [
    "fact_item",
    "fact_of",
    "is_readable",
    "learnt_only_from",
    "pattern_item",
    "pattern_of",
    "renamed",
    "run_item",
    "run_of",
    "skill_item",
    "skill_of",
    "words_kept",
]

MOST_RUN_BYTES = 8 << 20
"""A run inflates to this at most: a copy of a memory may come from anywhere."""


def fact_item(identifier: str, fact: Fact, created: float) -> Item:
    """`fact` as an item first made at `created`."""
    return Item(
        id=identifier,
        kind=ItemKind.FACT,
        text=fact.content,
        created=created,
        updated=max(fact.verified, created),
        turns=(),
        subject=fact.app,
        action=fact.kind.value,
        confidence=fact.confidence,
        accesses=fact.confirmations,
        last_access=fact.used,
        detail=_pack(
            fact.verified,
            fact.sources,
            fact.confirmations,
            fact.refutations,
            fact.pending,
            fact.rivals,
        ),
    )


def fact_of(item: Item) -> Fact:
    """Inverse of `fact_item`."""
    verified, sources, confirmations, refutations, pending, rivals = _unpack(item.detail)
    return Fact(
        app=item.subject,
        content=item.text,
        kind=FactKind(item.action),
        confidence=item.confidence,
        verified=verified,
        used=item.last_access,
        sources=tuple(sources),
        confirmations=confirmations,
        refutations=refutations,
        pending=pending,
        rivals=tuple(rivals),
    )


def words_kept(item: Item) -> list[str]:
    """The words in an item's ``detail``: what a search for words has to look at besides."""
    if item.kind is ItemKind.SKILL:
        return [*skill_of(item).steps]
    if item.kind is not ItemKind.RUN:
        return []
    steps = run_of(item)[0].steps
    pages = [step.page for step in steps]
    shown = [word for page in pages for word in (page.title, *page.visible, *page.clickable)]
    return [*(step.target for step in steps), *dict.fromkeys(shown)]


def renamed(item: Item, ids: Mapping[str, str]) -> bytes:
    """The item's ``detail`` with the runs and facts it names called what they are called in `ids`;
    what is not there is left out."""
    if item.kind is ItemKind.FACT:
        fact = fact_of(item)
        named = replace(fact, sources=_all_in(ids, fact.sources), rivals=_all_in(ids, fact.rivals))
        return fact_item(item.id, named, item.created).detail
    if item.kind is ItemKind.SKILL:
        skill = skill_of(item)
        named_skill = replace(skill, sources=_all_in(ids, skill.sources))
        return skill_item(item.id, named_skill, item.created).detail
    return item.detail


def is_readable(item: Item) -> bool:
    """Whether the ``detail`` of an agent's item is one: a copy may hold anything."""
    from pydantic import TypeAdapter

    reader, kind = _READERS[item.kind]
    try:
        read = reader(item)
        checked: object = TypeAdapter(kind).validate_python(_plain(read))
    except (ValueError, TypeError, KeyError, AttributeError, zlib.error, msgpack.UnpackException):
        return False
    return checked == read


def _plain(read: Any) -> Any:
    return (
        tuple(map(_plain, read))
        if isinstance(read, tuple)
        else (asdict(read) if is_dataclass(read) and not isinstance(read, type) else read)
    )


def _all_in(ids: Mapping[str, str], named: Iterable[str]) -> tuple[str, ...]:
    return tuple(ids[one] for one in named if one in ids)


def learnt_only_from(runs: Collection[str], items: Iterable[Item]) -> list[Item]:
    """The facts among `items` that were learnt from nothing but these runs (their ids)."""
    facts = [item for item in items if item.kind is ItemKind.FACT]
    sources = [frozenset(fact_of(item).sources) for item in facts]
    return [item for item, of in zip(facts, sources, strict=True) if of and of <= set(runs)]


def skill_item(identifier: str, skill: Skill, created: float) -> Item:
    """`skill` as an item first made at `created`."""
    trigger = skill.trigger
    return Item(
        id=identifier,
        kind=ItemKind.SKILL,
        text=skill.name,
        created=created,
        updated=max(skill.used, created),
        turns=(),
        subject=" ".join(trigger.apps),
        accesses=skill.successes + skill.failures,
        last_access=skill.used,
        detail=_pack(
            (trigger.apps, trigger.pages, trigger.tasks),
            skill.steps,
            skill.successes,
            skill.failures,
            skill.average_steps,
            skill.enabled,
            skill.distilled,
            skill.sources,
        ),
    )


def skill_of(item: Item) -> Skill:
    """Inverse of `skill_item`."""
    trigger, steps, successes, failures, average, enabled, distilled, sources = _unpack(item.detail)
    return Skill(
        name=item.text,
        trigger=Trigger(*map(tuple, trigger)),
        steps=tuple(steps),
        successes=successes,
        failures=failures,
        average_steps=average,
        used=item.last_access,
        enabled=enabled,
        distilled=distilled,
        sources=tuple(sources),
    )


def pattern_item(identifier: str, pattern: Pattern, created: float) -> Item:
    """`pattern` as an item first made at `created`."""
    return Item(
        id=identifier,
        kind=ItemKind.PATTERN,
        text=f"{pattern.intent} · {pattern.app}",
        created=created,
        updated=max(pattern.seen, created),
        turns=(),
        subject=pattern.app,
        action=pattern.intent,
        accesses=pattern.runs,
        last_access=pattern.seen,
        detail=_pack(
            pattern.runs,
            pattern.steps,
            [(state.value, count) for state, count in pattern.confirmations],
            pattern.hours,
            pattern.corrected,
        ),
    )


def pattern_of(item: Item) -> Pattern:
    """Inverse of `pattern_item`."""
    runs, steps, confirmations, hours, corrected = _unpack(item.detail)
    return Pattern(
        intent=item.action,
        app=item.subject,
        runs=runs,
        steps=tuple(steps),
        confirmations=tuple((Confirmation(state), count) for state, count in confirmations),
        hours=tuple(hours),
        corrected=corrected,
        seen=item.last_access,
    )


def run_item(identifier: str, run: Run, *, written: float = 0.0, distilled: float = 0.0) -> Item:
    """`run` as an item; `written` and `distilled`: when facts of it were written and drawn."""
    steps = [_step_row(step) for step in run.steps]
    return Item(
        id=identifier,
        kind=ItemKind.RUN,
        text=run.goal,
        created=run.started,
        updated=max(run.started, *(step.at for step in run.steps), 0.0),
        turns=(),
        subject=run.app,
        action=run.outcome.value,
        object=run.task,
        detail=zlib.compress(_pack(run.intents, steps, written, distilled)),
    )


def run_of(item: Item) -> tuple[Run, float, float]:
    """Inverse of `run_item`: (run, written, distilled)."""
    packed = zlib.decompressobj().decompress(item.detail, MOST_RUN_BYTES)
    intents, steps, written, distilled = _unpack(packed)
    run = Run(
        task=item.object,
        goal=item.text,
        app=item.subject,
        steps=tuple(map(_step_of, steps)),
        outcome=Outcome(item.action),
        started=item.created,
        intents=tuple(intents),
    )
    return run, written, distilled


def _step_row(step: Step) -> tuple[Any, ...]:
    page = step.page
    return (
        step.at,
        step.action,
        step.target,
        (page.title, page.visible, page.clickable, page.focused),
        step.result.value,
        step.mark,
        step.repeats,
    )


def _step_of(row: list[Any]) -> Step:
    at, action, target, (title, visible, clickable, focused), result, mark, repeats = row
    page = Page(title, tuple(visible), tuple(clickable), focused)
    return Step(at, action, target, page, Result(result), mark, repeats)


def _pack(*fields: object) -> bytes:
    return bytes(msgpack.packb(fields))


def _unpack(detail: bytes) -> list[Any]:
    fields: list[Any] = msgpack.unpackb(detail)
    return fields


_READERS: Mapping[ItemKind, tuple[Callable[[Item], object], Any]] = {
    ItemKind.FACT: (fact_of, Fact),
    ItemKind.SKILL: (skill_of, Skill),
    ItemKind.PATTERN: (pattern_of, Pattern),
    ItemKind.RUN: (run_of, tuple[Run, float, float]),
}
