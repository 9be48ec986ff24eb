"""Merging in a dream, and undoing it: the asynchronous shell around `merging`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

from device.actors import ActorRef, checkpoint
from device.memory.changes import Change
from device.memory.coding import item_number
from device.memory.itemcalls import Apply, ListItems, Reached, StaleBatch, StructuredStats, Together
from device.memory.judgement import Judgement
from device.memory.merging import about, alike, merge, parted, undo
from device.memory.records import Item
from device.memory.wording import wording_of

__all__ = ["merge_duplicates", "undo_merge"]

READ_AT_ONCE = 512
"""Items looked at between two checkpoints: some ten milliseconds."""


async def merge_duplicates(
    structured: ActorRef, judgement: Judgement, *, now: float, batch: int = 32
) -> int:
    """Make one memory of those that say the same, at `now` (unix seconds); how many became history.

    `batch` merges are applied at a time, whole, with a checkpoint after each. Broken off, or when
    something is forgotten meanwhile, what is left waits for the next dream.
    """
    basis, _ = await structured.ask(Reached())
    items = await structured.ask(ListItems())
    barred = parted(items)
    done, count = 0, 0
    waiting: list[Change] = []
    try:
        for block in await _blocks(items):
            for changes in _merges(block, barred, judgement, now):
                waiting += changes
                count += 1
            if count >= batch:
                await structured.ask(Apply(waiting, basis=basis))
                done, count, waiting = done + count, 0, []
                await checkpoint()
        if waiting:
            await structured.ask(Apply(waiting, basis=basis))
    except StaleBatch:
        return done
    return done + count


async def undo_merge(structured: ActorRef, identifier: str, *, now: float) -> tuple[str, str]:
    """Part a merge again, named by its record or by either memory; ids of the two memories.

    Raises:
        CannotUndo: nothing was merged there, a later merge stands on it, or it is forgotten.
        StaleBatch: something was forgotten at this very moment; ask again.
    """
    basis = (await structured.ask(StructuredStats())).revision
    held: dict[str, Item] = {}
    asked: set[str] = set()
    wanted = [identifier]
    while wanted:
        asked.update(wanted)
        found = await structured.ask(Together(wanted))
        held |= {item.id: item for item in found}
        named = {name for item in found for name in (item.subject, item.replaced_by)}
        wanted = sorted(name for name in named - asked if item_number(name) is not None)
    changes = undo(identifier, held, now)
    await structured.ask(Apply(changes, basis=basis))
    return changes[0].item.id, changes[1].item.id


async def _blocks(items: Sequence[Item]) -> list[list[Item]]:
    """Items of one wording about one thing, two at least a block; the cheap question is first."""
    rough = await _grouped(items, about)
    return await _grouped(
        [item for group in rough for item in group],
        lambda item: (about(item), wording_of(item.text)),
    )


async def _grouped(
    items: Sequence[Item], key: Callable[[Item], Hashable | None]
) -> list[list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for place, item in enumerate(items, 1):
        found = key(item)
        if found is not None:
            groups.setdefault(found, []).append(item)
        if place % READ_AT_ONCE == 0:
            await checkpoint()
    return [group for group in groups.values() if len(group) > 1]


def _merges(
    block: Sequence[Item], barred: frozenset[str], judgement: Judgement, now: float
) -> Iterator[list[Change]]:
    """The changes of each merge in a block, each built on those before."""
    held = {item.id: item for item in block}
    for older, newer in alike(block, barred):
        changes = merge(held[older.id], newer, judgement, now)
        if changes:
            held |= {change.item.id: change.item for change in changes}
            yield changes
