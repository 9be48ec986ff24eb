"""The tick: one deterministic step of the learning service, made of small ones in a fixed order.

Each step leaves what it has done in the database, so a tick that died, or that another process
overtook, is finished by the next one, whoever runs it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import structlog
from structlog.contextvars import bound_contextvars

from cloud.actors.rounds import COUNT_TASKS
from cloud.composition import GatewayActors, LearningActors
from cloud.gateway.metrics import Metrics
from cloud.helper_client import HelperPort
from cloud.leading import sum_closing
from cloud.storage.database import Database
from cloud.storage.retention import forget_old
from cloud.storage.work import never_trained, pending_candidates, untrained_aggregates
from cloud.telemetry import span

__all__ = ["Aside", "LeaseLost", "Refresh", "StillMine", "Ticker", "here"]

log = structlog.get_logger("reverie.cloud")

Step: TypeAlias = Callable[[float], Awaitable[None]]
Refresh: TypeAlias = Callable[[float], Awaitable[None]]
StillMine: TypeAlias = Callable[[], Awaitable[bool]]
Aside: TypeAlias = Callable[..., Awaitable[Any]]
"""Calls a function that waits for the database: `asyncio.to_thread` in service, so that phones are
answered meanwhile; `here` where time is virtual."""


class LeaseLost(Exception):
    """Another process ticks now: what is left of this tick is its business."""


async def here(function: Callable[..., Any], *args: Any) -> Any:
    """Call it at once, in the caller's thread."""
    return function(*args)


@dataclass(frozen=True)
class Ticker:
    """The steps and what they work on.

    Args:
        refresh: shows phones what the database holds at a time (unix seconds).
        helper: None in local mode.
        retention: seconds a summed report's row still names its phone.
        bits: n -> n random bytes.
    """

    actors: GatewayActors
    learning: LearningActors
    helper: HelperPort | None
    database: Database
    metrics: Metrics
    refresh: Refresh
    retention: float
    bits: Callable[[int], bytes]
    aside: Aside = here

    async def tick(self, now: float, still_mine: StillMine | None = None) -> None:
        """Take every step at `now` (unix seconds).

        Args:
            still_mine: asked before each step where several processes may tick.

        Raises:
            LeaseLost: it said no.
        """
        # From the time alone: a simulated tick has the same id again.
        with bound_contextvars(tick_id=f"{int(now * 1000):x}"), span("tick"):
            for step in self._steps():
                if still_mine is not None and not await still_mine():
                    raise LeaseLost
                with span(getattr(step, "__name__", "step").strip("_")):
                    await step(now)

    def _steps(self) -> Sequence[Step]:
        return (
            # What was published from elsewhere is listed before any phone is shown it.
            self._sign_listing,
            self._close_rounds,
            # At once, before the long work: a phone that came now must not be charged for a round
            # that no longer takes its report.
            self.refresh,
            self._sum_rounds,
            # Counts need no model, so phones need not wait for the training to report them.
            self._open_count_rounds,
            self.refresh,
            self._roll_out,
            self._learn,
            self._look_out,
            self._open_rounds,
            self._renew_documents,
            self._sign_listing,
            self._tidy,
            self.refresh,
        )

    async def _sign_listing(self, now: float) -> None:
        await self.actors.publisher.ask("renew", now)

    async def _close_rounds(self, now: float) -> None:
        for task, _, status in await self.actors.rounds.ask("close_due", now):
            if status != "closing":
                self._count_round(task, status)

    async def _sum_rounds(self, now: float) -> None:
        if self.helper is not None:
            await sum_closing(self.actors.rounds, self.helper, now, self._count_round)

    async def _open_count_rounds(self, now: float) -> None:
        await self.actors.rounds.ask("open_due", now, COUNT_TASKS)

    async def _open_rounds(self, now: float) -> None:
        await self.actors.rounds.ask("open_due", now)

    async def _renew_documents(self, now: float) -> None:
        await self.actors.library.ask("renew", now)

    async def _tidy(self, now: float) -> None:
        await self.actors.partials.ask("expire", now)
        await self.aside(forget_old, self.database, now, self.retention, self.bits)

    async def _roll_out(self, now: float) -> None:
        """Releases on their way to everyone: a step further, or back."""
        for change in await self.learning.rollout.ask("step", now):
            self.metrics.releases.labels(model=change.model, status=change.status).inc()
            log.info("release_moved", **change._asdict())

    async def _learn(self, now: float) -> None:
        for model, trainer in self.learning.trainers.items():
            if await self.aside(never_trained, self.database, model):
                await trainer.ask("bootstrap", now)
            await self._decide(now)
            while taught := await self._taught(model):
                await trainer.ask("federated_step", taught, now)
                await self._decide(now)

    async def _taught(self, model: str) -> list[int]:
        """Aggregates to train from now: none while a candidate or release is on its way, because
        what phones teach next starts from what all of them hold. They pile up until then."""
        if await self.learning.rollout.ask("staged", model):
            return []
        pending = await self.aside(pending_candidates, self.database)
        if model in {waiting for _, waiting in pending}:
            return []
        found: list[int] = await self.aside(untrained_aggregates, self.database, model)
        return found

    async def _look_out(self, now: float) -> None:
        self.metrics.alarmed([alarm.kind for alarm in await self.learning.watch.ask("step", now)])

    async def _decide(self, now: float) -> None:
        """Evaluate every candidate and publish those that pass."""
        for candidate, model in await self.aside(pending_candidates, self.database):
            verdict = await self.learning.evaluator.ask("evaluate", candidate, now)
            version = None
            if verdict["passed"]:
                version = await self.actors.publisher.ask("publish", candidate, now)
            if verdict["passed"] and version is None:
                continue  # it waits: for an operator, or until another is through
            status = "rejected" if version is None else "published"
            self.metrics.releases.labels(model=model, status=status).inc()
            log.info("candidate_decided", model=model, status=status, version=version)

    def _count_round(self, task: str, status: str) -> None:
        self.metrics.rounds.labels(task=task, status=status).inc()
