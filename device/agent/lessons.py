"""What one finished run teaches: facts of its app, marks of facts it used, the user's habit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from device.agent import patterns as pattern_rules
from device.agent.book import Batch, Book, Facts
from device.agent.distillation import Distiller, Marks
from device.agent.intents import intents_of
from device.agent.keeping import fact_item, pattern_item, run_item
from device.agent.policy import AgentPolicy
from device.agent.records import Confirmation, Outcome, Pattern, Run
from device.agent.trajectories import prepared
from device.agent.writing import (
    Offers,
    Writing,
    marked,
    may_distil,
    may_write,
    offered,
    settled,
)

__all__ = ["RunReport", "Teacher", "mark"]


@dataclass(frozen=True, slots=True)
class RunReport:
    """What one recorded run did: ids of facts changed and dropped, and why offers were refused."""

    id: str
    changed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    written: int = 0
    refused: tuple[str, ...] = ()


class Teacher:
    """Draws from runs what is worth knowing, by the distiller it is given."""

    __slots__ = ("_book", "_distiller", "_policy", "_zone")

    def __init__(
        self, book: Book, *, policy: AgentPolicy, distiller: Distiller, zone: tzinfo
    ) -> None:
        self._book = book
        self._policy = policy
        self._distiller = distiller
        self._zone = zone

    async def teach(
        self,
        run: Run,
        confirmation: Confirmation = Confirmation.NO_RECORD,
        injected: Sequence[str] = (),
    ) -> RunReport:
        """Keep a finished run, learn facts of its app and how the user goes about such tasks.

        `injected`: ids of the facts the agent was given; a distiller with judgement marks what a
        success confirmed and what a failure refuted.
        """
        kept = prepared(replace(run, intents=run.intents or intents_of(run.goal)))
        # A distilling service may take its time: nothing is held up while it thinks.
        marks = await self._marks(kept, injected)
        offers = await self._offers(kept)
        async with self._book.batch(at=self._moment(kept)) as batch:
            source = batch.fresh_id()
            told = mark(
                await self._book.facts(), marks.confirmed, marks.refuted, batch, self._policy
            )
            writing = await self._write(kept, offers, source, told, batch)
            batch.create(
                run_item(
                    source,
                    kept,
                    written=batch.now if writing.written else 0.0,
                    distilled=0.0 if offers is None else batch.now,
                )
            )
            if kept.outcome is Outcome.SUCCESS:
                await self._observe(kept, confirmation, batch)
        return RunReport(
            source,
            tuple(dict.fromkeys((*told.changed, *writing.changed))),
            tuple(dict.fromkeys((*told.dropped, *writing.dropped))),
            writing.written,
            writing.refused,
        )

    def _moment(self, run: Run) -> float:
        """When the run taught what it did: its end, so that an old one counts as old."""
        return min(run.ended, self._book.now())

    async def _marks(self, run: Run, injected: Sequence[str]) -> Marks:
        """What the run says of the facts it was given (001: refutations come from failed tasks)."""
        known = await self._book.facts()
        given = {i: known[i][0].content for i in injected if i in known}
        marks = await self._distiller.marks(run, given) if given else Marks()
        confirmed = marks.confirmed if run.outcome is Outcome.SUCCESS else ()
        refuted = marks.refuted if run.outcome is Outcome.FAILURE else ()
        return Marks(tuple(given.keys() & confirmed), tuple(given.keys() & refuted))

    async def _offers(self, run: Run) -> Offers | None:
        """What the distiller offers; None when it is not this run's turn to be distilled."""
        runs, now = await self._book.runs(), self._moment(run)
        distilled = [(done, at) for done, _, at in runs if at]
        cooled = may_write(run.app, _last_written(runs), now, self._policy)
        if not cooled or not may_distil(run, distilled, now, self._policy):
            return None
        facts = {i: fact for i, (fact, _) in (await self._book.facts()).items()}
        return await offered(run, facts, self._distiller, self._policy)

    async def _write(
        self, run: Run, offers: Offers | None, source: str, told: Writing, batch: Batch
    ) -> Writing:
        """Settle the offers with the facts as they are once marked."""
        last = _last_written(await self._book.runs())
        if offers is None or not may_write(run.app, last, batch.now, self._policy):
            return Writing({}, (), 0, ())
        known = await self._book.facts()
        facts = {i: fact for i, (fact, _) in known.items() if i not in told.dropped}
        writing = settled(
            offers,
            run,
            source,
            facts | told.changed,
            batch.fresh_ids(),
            now=batch.now,
            policy=self._policy,
        )
        for identifier, fact in writing.changed.items():
            created = known[identifier][1] if identifier in known else batch.now
            batch.put(identifier in known, fact_item(identifier, fact, created))
        batch.forget(writing.dropped)
        return writing

    async def _observe(self, run: Run, confirmation: Confirmation, batch: Batch) -> None:
        held = {
            (p.intent, p.app): (i, p, at) for i, (p, at) in (await self._book.patterns()).items()
        }
        for intent in run.intents:
            fresh = Pattern(intent, run.app)
            identifier, pattern, created = held.get((intent, run.app), ("", fresh, batch.now))
            after = pattern_rules.observed(
                pattern,
                steps=len(run.steps),
                confirmation=confirmation,
                hour=datetime.fromtimestamp(run.started, self._zone).hour,
                at=batch.now,
            )
            item = pattern_item(identifier or batch.fresh_id(), after, created)
            batch.put(bool(identifier), item)


def _last_written(runs: Iterable[tuple[Run, float, float]]) -> dict[str, float]:
    """When facts of each app were last written."""
    last: dict[str, float] = {}
    for run, written, _ in runs:
        last[run.app] = max(written, last.get(run.app, 0.0))
    return last


def mark(
    known: Facts,
    worked: Iterable[str],
    failed: Iterable[str],
    batch: Batch,
    policy: AgentPolicy,
) -> Writing:
    """Confirm and refute facts by id, as one batch of changes."""
    facts = {i: fact for i, (fact, _) in known.items()}
    marks = marked(facts, sorted(worked), sorted(failed), batch.now, policy)
    for identifier, fact in marks.changed.items():
        batch.update(fact_item(identifier, fact, known[identifier][1]))
    batch.forget(marks.dropped)
    return marks
