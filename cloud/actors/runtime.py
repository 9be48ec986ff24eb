"""One interface over two ways of running an actor: in this process, or on Ray (ray_runtime.py).

An actor is a plain synchronous class with picklable constructor arguments. Its state of record is
the database: every method may run twice, and an instance may vanish and be built again between two
calls. A runtime gives each actor a mailbox, so that no two of its methods run at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Protocol

import structlog

__all__ = ["MAX_PENDING_CALLS", "ActorBusy", "ActorGone", "InProcessRuntime", "Ref", "Runtime"]

log = structlog.get_logger("reverie.cloud.actors")

MAX_PENDING_CALLS: Final = 1024
"""Calls one caller may have waiting in one mailbox; a batch is one call."""


class ActorGone(Exception):
    """The actor cannot be reached; the call's outcome is unknown and it may be repeated."""


class ActorBusy(ActorGone):
    """The call was not taken: the mailbox is full, or the actor cannot be built just now."""


class Ref(Protocol):
    """A handle on one actor."""

    async def ask(self, method: str, *args: Any) -> Any:
        """Call `method` and wait for its result or its exception.

        Raises:
            ActorBusy: the call was not taken.
            ActorGone: nobody knows whether it was carried out.
        """
        ...

    def tell(self, method: str, *args: Any) -> None:
        """Call `method` and forget it; a failure is logged. Raises as `ask` does."""
        ...


class Runtime(Protocol):
    """Where actors live."""

    def spawn(self, name: str, cls: Callable[..., Any], *args: Any, **kwargs: Any) -> Ref:
        """Start an actor; names are unique within a runtime."""
        ...

    async def stop(self) -> None:
        """End every actor after the calls already in its mailbox."""
        ...


class InProcessRuntime:
    """Actors in this process.

    Args:
        inline: call the actor directly in the caller's coroutine. Time stands still during the
            call, so a virtual clock sees it as instant. Otherwise each actor owns one worker
            thread, whose queue is its mailbox, and the event loop keeps turning.
    """

    def __init__(self, *, inline: bool) -> None:
        self._inline = inline
        self._refs: dict[str, _InlineRef | _ThreadRef] = {}

    def spawn(self, name: str, cls: Callable[..., Any], *args: Any, **kwargs: Any) -> Ref:
        """Build the actor now; its constructor's exception is raised here."""
        if name in self._refs:
            raise ValueError(f"an actor named {name!r} is already running")
        ref: _InlineRef | _ThreadRef
        if self._inline:
            ref = _InlineRef(name, cls(*args, **kwargs))
        else:
            ref = _ThreadRef(name, lambda: cls(*args, **kwargs))
        self._refs[name] = ref
        return ref

    async def stop(self) -> None:
        """Drain the mailboxes, newest actor first."""
        for name in reversed(list(self._refs)):
            await self._refs.pop(name).stop()


class _InlineRef:
    def __init__(self, name: str, actor: Any) -> None:
        self._name = name
        self._actor: Any | None = actor

    async def ask(self, method: str, *args: Any) -> Any:
        return self._method(method)(*args)

    def tell(self, method: str, *args: Any) -> None:
        try:
            self._method(method)(*args)
        except Exception:
            log.exception("tell_failed", actor=self._name, method=method)

    async def stop(self) -> None:
        actor, self._actor = self._actor, None
        _close(actor)

    def _method(self, method: str) -> Callable[..., Any]:
        if self._actor is None:
            raise ActorGone(f"the actor {self._name} has stopped")
        return getattr(self._actor, method)  # type: ignore[no-any-return]


class _ThreadRef:
    def __init__(self, name: str, build: Callable[[], Any]) -> None:
        self._name = name
        self._room = threading.BoundedSemaphore(MAX_PENDING_CALLS)
        self._mailbox = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"actor-{name}")
        try:
            self._actor = self._mailbox.submit(build).result()
        except BaseException:
            self._mailbox.shutdown(wait=False)
            raise

    async def ask(self, method: str, *args: Any) -> Any:
        return await asyncio.wrap_future(self._submit(method, args))

    def tell(self, method: str, *args: Any) -> None:
        self._submit(method, args).add_done_callback(lambda done: self._report(method, done))

    async def stop(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._mailbox.submit(_close, self._actor)
        await asyncio.to_thread(self._mailbox.shutdown)

    def _submit(self, method: str, args: tuple[Any, ...]) -> Future[Any]:
        call = getattr(self._actor, method)
        if not self._room.acquire(blocking=False):
            raise ActorBusy(f"the actor {self._name} has {MAX_PENDING_CALLS} calls waiting")
        try:
            submitted = self._mailbox.submit(call, *args)
        except RuntimeError:
            self._room.release()
            raise ActorGone(f"the actor {self._name} has stopped") from None
        submitted.add_done_callback(lambda _: self._room.release())
        return submitted

    def _report(self, method: str, done: Future[Any]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            log.error("tell_failed", actor=self._name, method=method, exc_info=error)


def _close(actor: Any) -> None:
    """Actors that hold file handles offer `close`."""
    close = getattr(actor, "close", None)
    if close is not None:
        close()
