"""Keeping what an agent learnt within its limits and its age: part of a dream (000, 001, 003)."""

from __future__ import annotations

from device.agent import facts as fact_rules
from device.agent import patterns as pattern_rules
from device.agent import skills as skill_rules
from device.agent.book import Batch, Book
from device.agent.keeping import skill_item
from device.agent.policy import AgentPolicy
from device.agent.trajectories import Kept, surplus

__all__ = ["keep_up"]


async def keep_up(book: Book, policy: AgentPolicy) -> int:
    """Let go of what is over its limits or its age, merge like skills; entries changed."""
    async with book.batch() as batch:
        await _runs(book, batch, policy)
        await _patterns(book, batch, policy)
        await _skills(book, batch, policy)
        for identifier, (fact, _) in (await book.facts()).items():
            if fact_rules.is_unused(fact, batch.now, policy):
                batch.archive(identifier)
    return batch.size


async def _runs(book: Book, batch: Batch, policy: AgentPolicy) -> None:
    kept = {i.id: Kept(i.object, i.created, len(i.detail)) for i in await book.run_items()}
    batch.forget(surplus(kept, batch.now, policy))


async def _patterns(book: Book, batch: Batch, policy: AgentPolicy) -> None:
    for identifier, (pattern, _) in (await book.patterns()).items():
        if pattern_rules.is_expired(pattern, batch.now, policy):
            batch.forget([identifier])


async def _skills(book: Book, batch: Batch, policy: AgentPolicy) -> None:
    held = await book.skills()
    skills = {i: skill for i, (skill, _) in held.items()}
    for identifier, other in skill_rules.pairs_to_merge(skills, policy):
        skills[identifier] = skill_rules.merged(skills[identifier], skills.pop(other))
        batch.update(skill_item(identifier, skills[identifier], held[identifier][1]))
        batch.forget([other])
    batch.forget(skill_rules.weeded(skills, batch.now, policy))
