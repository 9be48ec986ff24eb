"""The composition root: one cloud from its configuration, and its one deterministic step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import structlog

from cloud.actors.evaluator import Evaluator
from cloud.actors.helper import HelperActor
from cloud.actors.intake import Intake
from cloud.actors.mailbox import Mailbox
from cloud.actors.partials import Partials
from cloud.actors.publisher import Publisher
from cloud.actors.registry import Registry
from cloud.actors.rollout import Rollout
from cloud.actors.rounds import COUNT_TASKS, Rounds
from cloud.actors.runtime import Ref, Runtime
from cloud.actors.trainers import Trainer
from cloud.config import CloudConfig
from cloud.documents.library import Library
from cloud.gateway.core import GatewayCore, Sleep, Snapshot
from cloud.gateway.metrics import Metrics
from cloud.helper_client import EmbeddedHelper, HelperIdentity, HelperPort, RemoteHelper
from cloud.helper_pin import trusted_helper
from cloud.helper_token import read_token
from cloud.identity import KeyFileUnusable, ensure_key, signing_key
from cloud.leading import sum_closing
from cloud.releases.keys import RoleKeys
from cloud.releases.repository import Repository
from cloud.storage import Database
from cloud.storage.pins import pin
from cloud.storage.retention import forget_old
from cloud.storage.work import (
    never_trained,
    pending_candidates,
    report,
    untrained_aggregates,
)
from cloud.transparency import public_page
from protocol.models.spec import SPECS

__all__ = ["Cloud"]

log = structlog.get_logger("reverie.cloud")

TOKEN_BYTES = 16


class Cloud:
    """One fleet's learning service.

    Args:
        config: what the operator set.
        runtime: where the actors live; the caller stops it after `stop`.
        bits: n -> n random bytes, for keys, nonces and tokens.
        now: unix seconds of the start.
        sleep: how the gateway's group commit waits (a virtual clock's in simulation).
        binding: SHA-256 of the TLS certificate phones see, b"" without TLS.
        trainer: a replacement for the class that trains, under the same interface.

    After `start`, `registry`, `intake`, `rounds` and `publisher` are the handles from which a
    further gateway can be made, and `root_sha256` is the hash of the root that phones pin.
    """

    def __init__(
        self,
        config: CloudConfig,
        runtime: Runtime,
        *,
        bits: Callable[[int], bytes],
        now: float,
        sleep: Sleep = asyncio.sleep,
        binding: bytes = b"",
        trainer: Callable[..., Any] = Trainer,
    ) -> None:
        self.config, self.metrics = config, Metrics()
        self._runtime, self._bits, self._started_at = runtime, bits, now
        self._sleep, self._trainer = sleep, trainer
        self._binding = binding
        self._ticking = asyncio.Lock()
        self._started = False
        self._helper: HelperPort | None = None
        self._page: tuple[Snapshot, bytes] | None = None

    async def start(self) -> None:
        """Make what is missing in the state folder, start the actors, show the last plan.

        Raises:
            OSError, DatabaseUnavailable, KeyFileUnusable: the state folder cannot be used.
            HelperUnavailable: the configured helper does not answer, and never has.
            TokenRefused, HelperChanged, HelperUnsuitable: it is not one to work with.
        """
        config = self.config
        config.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        ensure_key(config.signing_key, self._bits)
        self.public_key = signing_key(config.signing_key).public
        url, blobs, key = config.database_url, config.blobs_url, str(config.signing_key)
        self._database = Database(url)
        with self._database.write() as connection:
            pin(connection, "cloud", self.public_key, self._started_at)
            pin(connection, "budget", config.budget.encode(), self._started_at)
            roles = RoleKeys(config.keys)
            if Repository(roles).root(connection) is None:
                roles.ensure(self._bits)
        self._helper = self._find_helper()
        self.helper = await self._trust()
        spawn = self._runtime.spawn
        self.registry = spawn("registry", Registry, url, config.open_enrolment)
        self.intake = spawn("intake", Intake, url, key)
        self.rounds = spawn("rounds", Rounds, url, key, self.helper, config.budget)
        self.evaluator = spawn("evaluator", Evaluator, url, blobs)
        self.publisher = spawn("publisher", Publisher, url, blobs, key, str(config.keys))
        self._rollout = spawn("rollout", Rollout, url, str(config.keys), config.budget)
        self._trainers: dict[str, Ref] = {
            model: spawn(f"trainer-{model}", self._trainer, model, url, blobs, config.seed, None)
            for model in sorted(SPECS)
        }
        self.partials = spawn("partials", Partials, url)
        self.mailbox = spawn("mailbox", Mailbox, url)
        self.library = spawn("library", Library, url, blobs, key)
        self._core = GatewayCore(
            self.registry,
            self.intake,
            self.rounds,
            self.publisher,
            self._bits,
            sign=signing_key(config.signing_key).sign,
            partials=self.partials,
            library=self.library,
            mailbox=self.mailbox,
            binding=self._binding,
            sleep=self._sleep,
            metrics=self.metrics,
            revisit=config.revisit_after,
        )
        await self.publisher.ask("renew", self._started_at)
        self.root_sha256 = sha256(await self.publisher.ask("root")).hexdigest()
        await self._core.refresh()
        self._started = True
        self.metrics.started.set(self._started_at)

    def endpoint(self) -> GatewayCore:
        """Where devices connect; after `start`."""
        return self._core

    async def tick(self, now: float) -> None:
        """One step: close and sum rounds, move releases on, train, evaluate, publish, open rounds,
        show the plan.

        Everything it has done is in the database, so a tick that died is finished by the next.
        """
        async with self._ticking:
            # What was published from elsewhere is listed before any phone is shown it.
            await self.publisher.ask("renew", now)
            await self._close_rounds(now)
            # Counts need no model, so phones need not wait for the training to report them.
            await self.rounds.ask("open_due", now, COUNT_TASKS)
            await self._core.refresh()
            await self._roll_out(now)
            await self._learn(now)
            await self.rounds.ask("open_due", now)
            await self.library.ask("renew", now)
            await self.publisher.ask("renew", now)
            await self.partials.ask("expire", now)
            forget_old(self._database, now, self.config.retention, self._bits)
            await self._core.refresh()

    async def issue_token(self, now: float) -> str:
        """A new single-use enrolment token; only its hash is kept."""
        token = self._bits(TOKEN_BYTES).hex()
        digest = sha256(token.encode()).hexdigest()
        await self.registry.ask("add_token", digest, now, self.config.token_lifetime)
        return token

    async def report(self) -> dict[str, Any]:
        """Counts, rounds, estimates, releases and events, as JSON."""
        return report(self._database)

    async def transparency(self) -> bytes:
        """What anyone may know of this fleet, as JSON; read once between two changes."""
        shown = self._core.snapshot
        if self._page is None or self._page[0] is not shown:
            page = await asyncio.to_thread(public_page, self._database)
            self._page = (shown, page)
        return self._page[1]

    async def stop(self) -> None:
        """Finish the reports already taken and let go of connections; the runtime goes on."""
        if self._started:
            self._started = False
            await self._core.close()
            self._database.close()
        if self._helper is not None:
            await self._helper.close()

    def _find_helper(self) -> HelperPort | None:
        config = self.config
        if config.aggregation == "local":
            return None
        if config.helper_url is not None:
            if config.helper_token_file is None:
                raise KeyFileUnusable(
                    "a helper at a URL needs the token its operator handed over: "
                    "give the file with --helper-token-file"
                )
            token = read_token(config.helper_token_file)
            return RemoteHelper(config.helper_url, config.helper_timeout, token)
        actor = (HelperActor, str(config.helper_state), config.seed, config.budget)
        return EmbeddedHelper(self._runtime.spawn("helper", *actor))

    async def _trust(self) -> HelperIdentity | None:
        if self._helper is None:
            return None
        config = self.config
        return await trusted_helper(
            self._database,
            self._helper,
            config.budget,
            self._started_at,
            accept_new=config.new_helper,
        )

    async def _close_rounds(self, now: float) -> None:
        for task, _, status in await self.rounds.ask("close_due", now):
            if status != "closing":
                self._count_round(task, status)
        # At once, before the long work: a phone that came now must not be charged for a round
        # that no longer takes its report.
        await self._core.refresh()
        if self._helper is not None:
            await sum_closing(self.rounds, self._helper, now, self._count_round)

    def _count_round(self, task: str, status: str) -> None:
        self.metrics.rounds.labels(task=task, status=status).inc()

    async def _roll_out(self, now: float) -> None:
        """Releases on their way to everyone: a step further, or back."""
        for change in await self._rollout.ask("step", now):
            self.metrics.releases.labels(model=change.model, status=change.status).inc()
            log.info("release_moved", **change._asdict())

    async def _learn(self, now: float) -> None:
        for model, trainer in self._trainers.items():
            if never_trained(self._database, model):
                await trainer.ask("bootstrap", now)
            await self._decide(now)
            for aggregate in untrained_aggregates(self._database, model):
                # One at a time: what phones teach next starts from what all of them hold.
                if await self._rollout.ask("staged", model):
                    break
                await trainer.ask("federated_step", aggregate, now)
                await self._decide(now)

    async def _decide(self, now: float) -> None:
        """Evaluate every candidate and publish those that pass."""
        for candidate, model in pending_candidates(self._database):
            verdict = await self.evaluator.ask("evaluate", candidate, now)
            version = None
            if verdict["passed"]:
                version = await self.publisher.ask("publish", candidate, now)
            status = "rejected" if version is None else "published"
            self.metrics.releases.labels(model=model, status=status).inc()
            log.info("candidate_decided", model=model, status=status, version=version)
