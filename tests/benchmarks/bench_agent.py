"""What injected memory is worth to an agent, on real recorded GUI episodes.

The first half of the episodes is lived through by a real phone memory, with no model; then, before
every step of the second half, the block for its app and goal is asked for and it is seen whether it
names the step's target. Beside it: no memory, and everything that was ever seen injected.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path

from device.actors import ActorSystem, LoopClock
from device.agent.agent import AgentMemory
from device.agent.distillation import ExactDistiller
from device.agent.distillation.observed import control_of, observed
from device.agent.injection import tokens
from device.agent.intents import intents_of
from device.agent.policy import AgentPolicy
from device.agent.records import Run
from device.agent.trajectories import prepared
from device.interfaces.episodes import read_episodes
from device.language import content_tokens
from device.memory import StructuredMemory
from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector
from tests.benchmarks.row import Row

GUI = Path("../shared/data/gui")
FILES = {"AndroidControl": "android_control_0.jsonl", "AutoDroid tasks": "ex_mem.json"}
UNTIL = 1_770_000_000.0
SHOWN = 6
"""Goal kinds and apps with most steps."""
DEFAULT = AgentPolicy()
ROOMY = AgentPolicy(facts_in_all=4_000)
"""167 apps in one set are no one's phone: the limit of 40 facts in all is lifted here."""


class Clock(LoopClock):
    """The episodes' own time."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self.at = 0.0

    def now(self) -> float:
        """Unix seconds."""
        return self.at


@dataclass
class Tally:
    """Steps asked about, and how many were named by what."""

    steps: int = 0
    known: int = 0
    """Steps in an app that the first half had shown."""
    named: int = 0
    everything: int = 0
    tokens: int = 0
    by_intent: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    by_app: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))


async def measured(runs: Sequence[Run], policy: AgentPolicy) -> Tally:
    """Live the first half, ask during the second."""
    clock, actors = Clock(), ActorSystem(LoopClock(0.0))
    storage = MemoryStorage()
    keyring = Keyring.open(storage, StaticProtector(bytes(32)), os.urandom)
    log = SealedLog.open(storage, "structured", keyring, clock_now=clock.now)
    structured = actors.spawn("structured", lambda: StructuredMemory(log))
    agent = AgentMemory(
        structured, policy=policy, distiller=ExactDistiller(), clock=clock, zone=UTC
    )
    half = len(runs) // 2
    for run in runs[:half]:
        clock.at = run.started
        await agent.record_run(run)
        await agent.maintain()
    seen = {run.app for run in runs[:half]}
    everything = _words(line for run in runs[:half] for line in observed(run))
    tally = Tally()
    for run in runs[half:]:
        clock.at = run.started
        block = await agent.inject([run.app], run.goal)
        told = _words(block.text.splitlines())
        for step in prepared(run).steps:
            target = frozenset(content_tokens(control_of(step)))
            if not target:
                continue
            tally.steps += 1
            tally.known += run.app in seen
            tally.tokens += tokens(block.text)
            hit = any(target <= line for line in told)
            tally.named += hit
            tally.everything += any(target <= line for line in everything)
            kinds = [tally.by_intent[intent] for intent in intents_of(run.goal)]
            for counts in (*kinds, tally.by_app[run.app]):
                counts[0] += 1
                counts[1] += hit
    await actors.stop()
    return tally


def _words(lines: Iterable[str]) -> list[frozenset[str]]:
    return [frozenset(content_tokens(line)) for line in lines]


def rows() -> Iterator[Row]:
    """Rows of the agent's memory."""
    for name, file in FILES.items():
        if not (GUI / file).is_file():
            continue
        runs = [run for run in read_episodes(GUI / file, until=UNTIL) if run.app]
        yield from _rows(name, _in_turn(runs))


def _in_turn(runs: Sequence[Run]) -> list[Run]:
    """One run of each app after the other, so that both halves hold every app with two runs."""
    turns: Counter[str] = Counter()
    ranked = []
    for place, run in enumerate(runs):
        ranked.append((turns[run.app], place))
        turns[run.app] += 1
    times = sorted(run.started for run in runs)
    ordered = (runs[place] for _, place in sorted(ranked))
    return [replace(run, started=at) for run, at in zip(ordered, times, strict=True)]


def _rows(name: str, runs: Sequence[Run]) -> Iterator[Row]:
    everything = sum(tokens(line) for run in runs[: len(runs) // 2] for line in observed(run))
    for limits, policy in (("40 facts in all", DEFAULT), ("no limit over all", ROOMY)):
        tally = asyncio.run(measured(runs, policy))
        share = tally.named / max(tally.steps, 1)
        yield Row(
            f"agent: next target named, {name}, {limits} (no memory: 0)",
            100 * share,
            "% of steps",
            "everything injected",
            100 * tally.everything / max(tally.steps, 1),
            better="high",
        )
        yield Row(
            f"agent: tokens injected a step, {name}, {limits}",
            tally.tokens / max(tally.steps, 1),
            "tokens",
            "everything injected",
            float(everything),
            target=float(policy.block_tokens),
        )
    for what, table in (("goals of", tally.by_intent), ("app", tally.by_app)):
        for key, (steps, named) in sorted(table.items(), key=lambda entry: -entry[1][0])[:SHOWN]:
            told = f"agent: next target named, {name}, {what} {key} ({steps} steps)"
            yield Row(told, 100 * named / steps, "% of steps")
