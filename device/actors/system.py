"""Spawning, supervision and stopping of actors on one event loop.

Supervision follows the actor tradition (Armstrong, 2003, "let it crash"): an unexpected error
throws the instance away and makes a fresh one from its factory, which rebuilds its state from
what is durable; too many failures within a period stop the actor for good.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from device.actors.actor import Actor, PromptActor, Request
from device.actors.clock import Clock
from device.actors.errors import ActorStopped, DomainError, Fault, MailboxFull
from device.actors.mailbox import Envelope, Mailbox
from device.logs import get_logger

__all__ = ["ActorRef", "ActorSystem"]

R = TypeVar("R")

CAPACITY = 256
"""Messages a mailbox holds before askers wait."""
MAX_RESTARTS = 3
RESTART_PERIOD = 60.0
"""Seconds within which `MAX_RESTARTS` are allowed."""
AT_ONCE = 16
"""Answers an idle `PromptActor` gives in its askers' turns before one goes through the mailbox: who
asks in a long loop must let the others run."""
STOP_GRACE = 5.0
"""Seconds an actor gets to finish its mailbox when its system stops, and again to clean up."""

_log = get_logger("reverie.actors")


def _note(level: str, event: str, **about: str) -> None:
    """Write a log line if it can be written: an actor must outlive a broken log, or its askers
    would wait for ever for an answer that supervision never got to."""
    with suppress(Exception):
        getattr(_log, level)(event, **about)


class ActorRef:
    """The only handle others hold on an actor."""

    __slots__ = ("_cell",)

    def __init__(self, cell: _Cell) -> None:
        self._cell = cell

    def __repr__(self) -> str:
        return f"ActorRef({self.name!r})"

    @property
    def name(self) -> str:
        """The name it was spawned under."""
        return self._cell.name

    def ask(self, request: Request[R]) -> Coroutine[Any, Any, R]:
        """Send `request` and wait for its answer, first for room in the mailbox if need be.

        Raises what the actor refused with (`DomainError`), `Fault` when it failed, or
        `ActorStopped`. Cancelling an ask never harms the actor: a request that has not begun is
        skipped, one that has begun is finished and its answer dropped.
        """
        return self._cell.ask(request)

    def tell(self, message: object) -> None:
        """Send without waiting; raises `MailboxFull` or `ActorStopped`."""
        self._cell.tell(message)


class ActorSystem:
    """The actors of one phone."""

    __slots__ = ("_cells", "_clock", "_stop_grace", "_stopping")

    def __init__(self, clock: Clock, *, stop_grace: float = STOP_GRACE) -> None:
        """`clock` dates restarts; `stop_grace` is in seconds of the loop's time."""
        self._clock = clock
        self._stop_grace = stop_grace
        self._cells: list[_Cell] = []
        self._stopping = False

    def spawn(
        self,
        name: str,
        factory: Callable[[], Actor],
        *,
        capacity: int = CAPACITY,
        max_restarts: int = MAX_RESTARTS,
        within: float = RESTART_PERIOD,
    ) -> ActorRef:
        """Start an actor on the running loop; `factory` also makes every restarted instance."""
        if self._stopping:
            raise ActorStopped(name)
        cell = _Cell(name, factory, self._clock, Mailbox(capacity), max_restarts, within)
        self._cells.append(cell)
        cell.wake()
        return ActorRef(cell)

    async def stop(self) -> None:
        """Let every actor finish what it was already sent, newest first, then end it.

        Never hangs: an actor that does not finish within the grace is cancelled.
        """
        self._stopping = True
        while self._cells:
            await self._cells.pop().stop(self._stop_grace)


class _Cell:
    """What stands behind a reference: the mailbox and the instance of the moment."""

    __slots__ = (
        "_actor",
        "_at_once",
        "_clock",
        "_closed",
        "_factory",
        "_mailbox",
        "_max_restarts",
        "_prompt",
        "_pump",
        "_restarts",
        "_within",
        "name",
    )

    def __init__(
        self,
        name: str,
        factory: Callable[[], Actor],
        clock: Clock,
        mailbox: Mailbox,
        max_restarts: int,
        within: float,
    ) -> None:
        self.name = name
        self._factory = factory
        self._clock = clock
        self._mailbox = mailbox
        self._max_restarts = max_restarts
        self._within = within
        self._actor: Actor | None = None
        self._prompt: PromptActor | None = None
        self._at_once = 0
        self._pump: asyncio.Task[None] | None = None
        self._restarts: deque[float] | None = None
        self._closed = False

    # -- the sending side

    async def ask(self, message: object) -> Any:
        prompt, idle = self._prompt, self._pump is None and not self._closed
        if prompt is not None and idle and self._at_once < AT_ONCE:
            self._at_once += 1
            try:
                return prompt.answer(message)
            except DomainError:
                raise
            except Exception as error:
                return await self._repair(message, error)
        if self._pump is not None and asyncio.current_task() is self._pump:
            raise RuntimeError(f"actor {self.name} asks itself and would wait for ever")
        self._check_open()
        if self._mailbox.full:
            await self._mailbox.room()
            self._check_open()
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._mailbox.put(Envelope(message, reply))
        self.wake()
        return await reply

    def _repair(self, message: object, error: Exception) -> asyncio.Future[Any]:
        """Have a pump do what follows a failed answer, whatever becomes of its asker."""
        envelope = Envelope(message, asyncio.get_running_loop().create_future())
        self._pump = asyncio.get_running_loop().create_task(
            self._run(failed=(envelope, error)), name=self.name
        )
        assert envelope.reply is not None
        return envelope.reply

    def tell(self, message: object) -> None:
        self._check_open()
        if self._mailbox.full:
            raise MailboxFull(self.name, self._mailbox.capacity)
        self._mailbox.put(Envelope(message, None))
        self.wake()

    def wake(self) -> None:
        """Have a pump run; an idle actor has none."""
        if self._pump is None:
            self._pump = asyncio.get_running_loop().create_task(self._run(), name=self.name)

    def _check_open(self) -> None:
        if self._closed:
            raise ActorStopped(self.name)

    # -- the working side

    async def _run(self, failed: tuple[Envelope, Exception] | None = None) -> None:
        """Serve until the mailbox is empty, first of all what has already `failed`."""
        envelope: Envelope | None = None
        self._at_once = 0
        try:
            if failed is not None:
                envelope = failed[0]
                await self._fail(*failed)
            elif self._actor is None:
                await self._start()
            while self._mailbox and self._actor is not None:
                envelope = self._mailbox.take()
                if not envelope.abandoned:
                    await self._serve(self._actor, envelope)
        finally:
            self._pump = None
            if envelope is not None and not envelope.abandoned:  # it was cut short
                envelope.fail(ActorStopped(self.name))
            if self._actor is None:
                self._refuse_all()

    async def _serve(self, actor: Actor, envelope: Envelope) -> None:
        try:
            answer = await actor.receive(envelope.message)
        except DomainError as error:
            envelope.fail(error)
        except Exception as error:
            await self._fail(envelope, error)
        else:
            envelope.answer(answer)

    async def _fail(self, envelope: Envelope, error: Exception) -> None:
        fault = Fault(self.name, envelope.message, error)
        fault.__cause__ = error
        envelope.fail(fault)
        _note("warning", "actor failed", actor=self.name, error=type(error).__name__)
        await self._restart()

    async def _start(self) -> None:
        """Make an instance and start it, restarting as often as supervision allows."""
        while True:
            try:
                actor = self._factory()
                await actor.started()
            except DomainError as error:
                # Trying again does not make a wrong key right.
                _note("warning", "actor cannot start", actor=self.name, error=type(error).__name__)
                return
            except Exception as error:
                _note("warning", "actor cannot start", actor=self.name, error=type(error).__name__)
                if not self._may_restart():
                    return
            else:
                self._actor = actor
                self._prompt = actor if isinstance(actor, PromptActor) else None
                return

    async def _restart(self) -> None:
        await self._give_up_instance()
        if self._may_restart():
            await self._start()

    async def _give_up_instance(self) -> None:
        actor, self._actor, self._prompt = self._actor, None, None
        if actor is None:
            return
        try:
            await actor.stopped()
        except Exception as error:
            _note("warning", "actor cleanup failed", actor=self.name, error=type(error).__name__)

    def _may_restart(self) -> bool:
        now = self._clock.now()
        recent = self._restarts if self._restarts is not None else deque()
        while recent and recent[0] <= now - self._within:
            recent.popleft()
        self._restarts = recent
        if len(recent) >= self._max_restarts:
            _note("error", "actor stopped: it failed too often", actor=self.name)
            return False
        recent.append(now)
        return True

    def _refuse_all(self) -> None:
        self._closed = True
        for envelope in self._mailbox.release():
            envelope.fail(ActorStopped(self.name))

    # -- the end

    async def stop(self, grace: float) -> None:
        self._closed = True
        pump = self._pump
        if pump is not None and pump is not asyncio.current_task():
            await _within(pump, grace)
        self._refuse_all()
        if self._actor is not None:
            await _within(asyncio.ensure_future(self._give_up_instance()), grace)


async def _within(work: asyncio.Future[None], grace: float) -> None:
    """Wait for `work` at most `grace` seconds, cancel it, and wait once more; then leave it."""
    done, _ = await asyncio.wait([work], timeout=grace)
    if not done:
        work.cancel()
        await asyncio.wait([work], timeout=grace)
