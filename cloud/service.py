"""The composition root: one process of a cloud from its configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from cloud.actors.helper import HelperActor
from cloud.actors.runtime import Runtime
from cloud.actors.trainers import Trainer
from cloud.composition import spawn_gateway, spawn_learning
from cloud.config import CloudConfig
from cloud.founding import found, join
from cloud.gateway.changes import Mark, mark_of
from cloud.gateway.core import GatewayCore, Sleep, Snapshot
from cloud.gateway.measured import MeasuredHelper, MeasuredRuntime
from cloud.gateway.metrics import Metrics
from cloud.helper_client import EmbeddedHelper, HelperIdentity, HelperPort, RemoteHelper
from cloud.helper_pin import trusted_helper
from cloud.helper_token import read_token
from cloud.identity import KeyFileUnusable, signing_key
from cloud.storage import Database
from cloud.storage.work import report
from cloud.ticking import Aside, StillMine, Ticker, here
from cloud.transparency import public_page

__all__ = ["TOKEN_BYTES", "Cloud"]

TOKEN_BYTES = 16


class Cloud:
    """One process of one fleet's learning service.

    Args:
        config: what the operator set.
        runtime: where the actors live; the caller stops it after `stop`.
        bits: n -> n random bytes, for keys, nonces and tokens.
        now: unix seconds of the start.
        sleep: how the gateway's group commit waits (a virtual clock's in simulation).
        binding: SHA-256 of the TLS certificate phones see, b"" without TLS.
        trainer: a replacement for the class that trains, under the same interface.
        aside: how to call what waits for the database without an actor.

    After `start`, `registry`, `intake`, `rounds`, `publisher`, `partials`, `mailbox` and `library`
    are the handles from which a further gateway can be made, `database` is a handle on the state of
    record, and `root_sha256` is the hash of the root that phones pin. A process of role "gateway"
    has neither a `helper` nor anything that learns.
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
        aside: Aside = here,
    ) -> None:
        self.config, self.metrics = config, Metrics()
        self._runtime: Runtime = MeasuredRuntime(runtime, self.metrics)
        self._bits, self._started_at = bits, now
        self._sleep, self._trainer, self._aside = sleep, trainer, aside
        self._binding = binding
        self._ticking, self._showing = asyncio.Lock(), asyncio.Lock()
        self._started = False
        self._helper: HelperPort | None = None
        self._ticker: Ticker | None = None
        self._mark: Mark | None = None
        self._page: tuple[Snapshot, bytes] | None = None

    async def start(self) -> None:
        """Make what is missing in the state folder, start the actors, show the last plan.

        Raises:
            OSError, DatabaseUnavailable, KeyFileUnusable: the state folder cannot be used.
            NotFounded: a gateway has no cloud to join yet.
            HelperUnavailable: the configured helper does not answer, and never has.
            TokenRefused, HelperChanged, HelperUnsuitable: it is not one to work with.
        """
        config = self.config
        config.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.database = Database(config.database_url)
        self.helper: HelperIdentity | None = None
        if config.role == "gateway":
            key, shown_helper = join(config, self.database)
        else:
            key = found(config, self.database, self._bits, self._started_at)
            self._helper = self._find_helper()
            shown_helper = self.helper = await self._trust()
        self.public_key = key.public
        actors = self._actors = spawn_gateway(self._runtime, config, shown_helper)
        self.registry, self.intake, self.rounds = actors.registry, actors.intakes[0], actors.rounds
        self.publisher, self.partials = actors.publisher, actors.partials
        self.mailbox, self.library = actors.mailbox, actors.library
        if config.role == "all":
            self._ticker = self._make_ticker()
        self._core = self._make_core()
        if config.role == "all":
            await self.publisher.ask("renew", self._started_at)
        self.root_sha256 = sha256(await self.publisher.ask("root")).hexdigest()
        await self._show(self._started_at)
        self._started = True
        self.metrics.started.set(self._started_at)

    def endpoint(self) -> GatewayCore:
        """Where devices connect; after `start`."""
        return self._core

    async def tick(self, now: float, still_mine: StillMine | None = None) -> None:
        """One step of the service: see `Ticker.tick`.

        Raises:
            LeaseLost: `still_mine` said so on the way.
            ValueError: this is a gateway, which only shows what others have done.
        """
        if self._ticker is None:
            raise ValueError("a process of role gateway does not tick")
        async with self._ticking:
            await self._ticker.tick(now, still_mine)

    async def refresh(self, now: float) -> bool:
        """Show phones what the database holds at `now`; True when that had changed.

        Without a change it costs three small queries.
        """
        if await self._aside(mark_of, self.database, now) == self._mark:
            return False
        await self._show(now)
        return True

    async def _show_changes(self, now: float) -> None:
        await self.refresh(now)

    async def issue_token(self, now: float) -> str:
        """A new single-use enrolment token; only its hash is kept."""
        token = self._bits(TOKEN_BYTES).hex()
        digest = sha256(token.encode()).hexdigest()
        await self.registry.ask("add_token", digest, now, self.config.token_lifetime)
        return token

    async def report(self) -> dict[str, Any]:
        """Counts, rounds, estimates, releases and events, as JSON."""
        return report(self.database)

    async def transparency(self) -> bytes:
        """What anyone may know of this fleet, as JSON; read once between two changes."""
        shown = self._core.snapshot
        if self._page is None or self._page[0] is not shown:
            page = await asyncio.to_thread(public_page, self.database)
            self._page = (shown, page)
        return self._page[1]

    async def stop(self) -> None:
        """Finish the reports already taken and let go of connections; the runtime goes on."""
        if self._started:
            self._started = False
            await self._core.close()
            self.database.close()
        if self._helper is not None:
            await self._helper.close()

    def _make_core(self) -> GatewayCore:
        actors, config = self._actors, self.config
        return GatewayCore(
            actors.registry,
            actors.intakes,
            actors.rounds,
            actors.publisher,
            self._bits,
            sign=signing_key(config.signing_key).sign,
            partials=actors.partials,
            library=actors.library,
            mailbox=actors.mailbox,
            binding=self._binding,
            sleep=self._sleep,
            metrics=self.metrics,
            revisit=config.revisit_after,
            timer=asyncio.get_running_loop().time,
        )

    def _make_ticker(self) -> Ticker:
        return Ticker(
            actors=self._actors,
            learning=spawn_learning(self._runtime, self.config, self._trainer),
            helper=self._helper,
            database=self.database,
            metrics=self.metrics,
            refresh=self._show_changes,
            retention=self.config.retention,
            bits=self._bits,
            aside=self._aside,
        )

    async def _show(self, now: float) -> None:
        """Take a new snapshot. What changes meanwhile differs from the mark and is seen by the next
        refresh."""
        # One after the other: a tick's look and a refresh's must not leave half of each.
        async with self._showing:
            self._mark = await self._aside(mark_of, self.database, now)
            await self._core.refresh(now)

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
            remote = RemoteHelper(config.helper_url, config.helper_timeout, token)
            return MeasuredHelper(remote, self.metrics)
        actor = (HelperActor, str(config.helper_state), config.seed, config.budget)
        embedded = EmbeddedHelper(self._runtime.spawn("helper", *actor))
        return MeasuredHelper(embedded, self.metrics)

    async def _trust(self) -> HelperIdentity | None:
        if self._helper is None:
            return None
        config = self.config
        return await trusted_helper(
            self.database,
            self._helper,
            config.budget,
            self._started_at,
            accept_new=config.new_helper,
        )
