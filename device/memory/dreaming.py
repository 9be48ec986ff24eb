"""The memory's part of a dream: consolidate what is new, let what has faded go.

Work goes batch by batch; each batch is computed, then applied whole together with its checkpoint.
Cancelled or killed between batches, nothing is lost and the next dream goes on from there.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import tzinfo

from device.actors import ActorRef, checkpoint
from device.language import find_attributes
from device.language.extractors import Extractor
from device.memory.changes import Change
from device.memory.consolidation import Consolidator
from device.memory.forgetting import ForgettingPolicy, faded
from device.memory.itemcalls import (
    Apply,
    Archive,
    Consolidated,
    Covered,
    ForgetItems,
    ListArchived,
    ListItems,
    Overdue,
    StaleBatch,
    TakeStock,
)
from device.memory.lifecycle import expire
from device.memory.raw import Newest, TurnsAfter
from device.memory.records import Turn
from device.memory.workingcalls import Remember, Tidy

__all__ = ["anything_pending", "consolidate_pending", "let_fade"]


async def anything_pending(raw: ActorRef, structured: ActorRef) -> bool:
    """Whether turns wait to be consolidated; two small questions."""
    return await raw.ask(Newest()) > await structured.ask(Consolidated())


async def consolidate_pending(
    raw: ActorRef,
    structured: ActorRef,
    working: ActorRef,
    *,
    batch: int = 64,
    tz: tzinfo,
    now: float | None = None,
    extractor: Extractor | None = None,
) -> int:
    """Consolidate every turn not yet consolidated; how many there were.

    `extractor` reads the turns; the built-in rules unless one is given.

    `batch` turns at a time, a checkpoint after each (a batch takes well under 1 s). With `now`
    (unix seconds) given, plans whose time has passed become expired first, and what is taken in
    starts to fade from then.
    """
    if now is not None and (passed := expire(await structured.ask(Overdue(now)), now)):
        await structured.ask(Apply(passed))
    if not await anything_pending(raw, structured):
        return 0
    consolidator, basis = await _sit_down(structured)
    through = await structured.ask(Consolidated())
    covered = await structured.ask(Covered())
    done = 0
    while turns := await raw.ask(TurnsAfter(through, batch)):
        fresh = [turn for turn in turns if turn.sequence not in covered] if covered else turns
        await _remember_values(working, fresh)
        drafts = None if extractor is None else await extractor.extract(fresh, tz)
        changes = consolidator.consolidate(fresh, tz, drafts)
        if now is not None:
            changes = [_taken_in(change, now) for change in changes]
        try:
            await structured.ask(Apply(changes, turns[-1].sequence, basis))
        except StaleBatch:
            # The user forgot something meanwhile: begin again from what is left.
            consolidator, basis = await _sit_down(structured)
            continue
        through = turns[-1].sequence
        done += len(fresh)
        await checkpoint()
    return done


def _taken_in(change: Change, now: float) -> Change:
    """Taking a memory in counts as its first access: an old chat imported today is new to this
    phone and must not fade at once."""
    item = change.item
    if item.last_access >= now:
        return change
    return Change(change.kind, replace(item, last_access=now))


async def _sit_down(structured: ActorRef) -> tuple[Consolidator, int]:
    """A desk with everything on it: what is archived comes back when it is spoken of again."""
    stock = await structured.ask(TakeStock())
    return Consolidator(stock.items), stock.revision


async def _remember_values(working: ActorRef, turns: list[Turn]) -> None:
    """Values stated long ago in an imported chat reach the working layer too.

    Before the checkpoint moves, so that a crash repeats it; saying the same value twice is nothing.
    """
    for turn in turns:
        for found in find_attributes(turn.text, turn.speaker):
            await working.ask(Remember(found.key, found.value, turn.id, turn.at))


async def let_fade(
    structured: ActorRef,
    working: ActorRef | None = None,
    *,
    now: float,
    policy: ForgettingPolicy | None = None,
) -> tuple[int, int]:
    """Archive and delete what has faded by `now` (unix seconds); (archived, deleted).

    What is archived goes on fading there until it is deleted. With `working` given, its dialogue
    and ended tasks fade too.
    """
    rules = policy or ForgettingPolicy()
    archive, delete = faded(await structured.ask(ListItems()), now, rules)
    _, cold = faded(await structured.ask(ListArchived()), now, rules)
    archived = await structured.ask(Archive(archive)) if archive else 0
    await checkpoint()
    deleted = await structured.ask(ForgetItems([*delete, *cold])) if delete or cold else 0
    if working is not None:
        await working.ask(Tidy(now))
    return archived, deleted
