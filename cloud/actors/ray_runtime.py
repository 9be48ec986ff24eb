"""The same actors on Ray: one process each, restarted for ever, state in the database.

What an operator should know of it:

- **What listens.** The local cluster (no address given) listens on loopback alone, has no
  dashboard, and asks for a token that only this process and its children know. A cluster that is
  joined by address is the operator's: its ports run any program for whoever holds its token, so
  they belong behind a network policy, and its dashboard and client server stay off.
- **Environment.** ``RAY_AUTH_TOKEN``, or ``RAY_AUTH_TOKEN_PATH``, holds the token of the cluster
  to join; ``RAY_AUTH_MODE=disabled`` joins one without (and is warned about). A head that listens
  on loopback alone was started with ``RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0``; so must we be.
- **Names.** Actors live in the namespace ``reverie`` as ``reverie-<version>-<process>/<name>`` and
  end with the process that spawned them, so versions and gateways live side by side.
- **A killed worker** is started again by Ray, and the calls it held are made again. A lost head or
  cluster fails the open calls with ActorGone; this process joins again by itself, with growing
  pauses, and spawns its actors anew: what they knew is in the database. Should Ray's own code hang
  over that, the process ends with exit code 75 and its supervisor starts it again.
- **Nodes** need the same Ray and Python to the last number, this distribution, and the paths of
  the state folder and blobs that the actors are given.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

import structlog

from cloud.actors.ray_cluster import Cluster, RayUnavailable
from cloud.actors.ray_host import Answer, Host
from cloud.actors.runtime import MAX_PENDING_CALLS, ActorBusy, ActorGone, Ref

__all__ = ["EXIT_STUCK", "RayRef", "RayRuntime", "RayUnavailable"]

log = structlog.get_logger("reverie.cloud.actors")

LOOK_SECONDS: Final = 2.0
SILENT_LOOKS: Final = 2
"""So many looks without an answer and the cluster is given up; each waits a few seconds."""
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 30.0
STUCK_SECONDS: Final = 180.0
EXIT_STUCK: Final = 75
"""Exit code of a process whose Ray hangs: EX_TEMPFAIL, start it again."""
PROCESS_BYTES: Final = 4
TRAINERS: Final = "trainer-"


@dataclass(frozen=True)
class _Recipe:
    """How to build an actor, now and on the next cluster."""

    cls: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Link:
    """One connection's calls that wait, so that all can be let go when it is lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[asyncio.Future[Any]] = set()
        self.lost = False

    def add(self, waiter: asyncio.Future[Any]) -> None:
        """Watch over a call until it is answered."""
        with self._lock:
            if self.lost:
                waiter.cancel()
                raise ActorGone("the Ray cluster is lost and being joined again")
            self._waiting.add(waiter)
        waiter.add_done_callback(self._forget)

    def lose(self) -> None:
        """Fail every call that waits; from any thread."""
        with self._lock:
            self.lost = True
            waiting, self._waiting = self._waiting, set()
        for waiter in waiting:
            loop = waiter.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(_give_up, waiter)

    def _forget(self, waiter: asyncio.Future[Any]) -> None:
        with self._lock:
            self._waiting.discard(waiter)


class RayRuntime:
    """Actors on a Ray cluster.

    Args:
        address: an existing cluster ("auto" or host:port); None starts one here, which `stop` ends.
        namespace: where its actor names are.
        blocking: wait for answers inside the coroutine, so that a virtual clock stands still.
        bits: n -> n random bytes, for the local cluster's token and this process's name.
        trainer_cpus: CPUs a trainer asks of the cluster; every other actor asks for none, or two
            of them would fill a small machine.
        look_seconds: between two looks at the cluster.
        timer: seconds from anywhere, to say how long the cluster was away.

    Raises:
        RayUnavailable: no ray package, or no cluster at `address` that takes this process.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        namespace: str = "reverie",
        blocking: bool = False,
        bits: Callable[[int], bytes] = os.urandom,
        trainer_cpus: float = 0.0,
        look_seconds: float = LOOK_SECONDS,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.namespace = namespace
        self.prefix = f"reverie-{version('reverie')}-{bits(PROCESS_BYTES).hex()}"
        self._blocking, self._trainer_cpus = blocking, trainer_cpus
        self._look_seconds, self._timer = look_seconds, timer
        self._recipes: dict[str, _Recipe] = {}
        self._handles: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._cluster = Cluster(address, namespace, bits)
        self._ray = self._cluster.ray
        self._link = _Link()
        self._watch = threading.Thread(target=self._look_on, name="ray-watch", daemon=True)
        if not self._cluster.guest:
            self._watch.start()

    def actor_name(self, name: str) -> str:
        """What the actor `name` is called on the cluster."""
        return f"{self.prefix}/{name}"

    def healthy(self) -> bool:
        """Whether the cluster answered when it was last looked at."""
        return not self._link.lost and not self._stopping.is_set()

    def spawn(self, name: str, cls: Callable[..., Any], *args: Any, **kwargs: Any) -> Ref:
        """Start a named actor; a failing constructor is raised by the first `ask`."""
        with self._lock:
            if name in self._recipes:
                raise ValueError(f"an actor named {name!r} is already running")
            self._recipes[name] = _Recipe(cls, args, kwargs)
            if self.healthy():
                self._start(name)
        return RayRef(self, name)

    async def stop(self) -> None:
        """Kill this runtime's actors; leave the cluster, or end it if it was started here."""
        self._stopping.set()
        if self._watch.ident is not None:
            await asyncio.to_thread(self._watch.join, STUCK_SECONDS)
        with self._lock:
            self._recipes.clear()
            handles, self._handles = self._handles, {}
        if not self._link.lost:
            for handle in reversed(handles.values()):
                self._ray.kill(handle, no_restart=True)
        self._link.lose()
        if not self._cluster.guest:
            await asyncio.to_thread(self._cluster.leave)

    def _start(self, name: str) -> None:
        recipe = self._recipes[name]
        cpus = self._trainer_cpus if name.startswith(TRAINERS) else 0
        self._handles[name] = (
            self._ray.remote(Host)
            .options(
                name=self.actor_name(name),
                namespace=self.namespace,
                num_cpus=cpus,
                max_restarts=-1,
                max_task_retries=-1,
                max_pending_calls=MAX_PENDING_CALLS,
            )
            .remote(name, recipe.cls, recipe.args, recipe.kwargs)
        )

    def _reach(self, name: str) -> tuple[Any, _Link]:
        """The actor's handle of now and the connection it belongs to."""
        with self._lock:
            handle, link = self._handles.get(name), self._link
        if handle is None or link.lost:
            state = "has stopped" if self._stopping.is_set() else "is out of reach: Ray is lost"
            raise ActorGone(f"the actor {name} {state}")
        return handle, link

    def _look_on(self) -> None:
        silent = 0
        while not self._stopping.wait(self._look_seconds):
            seen = self._cluster.look()
            silent = silent + 1 if seen == "silent" else 0
            if seen == "gone" or silent >= SILENT_LOOKS:
                self._join_again(seen)
                silent = 0

    def _join_again(self, seen: str) -> None:
        """Let every open call go, then join and spawn anew, however long that takes."""
        log.error("ray_lost", seen=seen)
        begun, pause = self._timer(), FIRST_PAUSE_SECONDS
        with self._lock:
            self._link.lose()
            self._handles = {}
        while not self._stopping.is_set():
            try:
                self._unless_stuck(self._cluster.leave)
                self._unless_stuck(self._cluster.join)
                self._start_all()
            except Exception as error:  # whatever it is, this thread is the way back
                reason = str(error) if isinstance(error, RayUnavailable) else type(error).__name__
                log.warning("ray_not_joined", reason=reason, again_seconds=pause)
            else:
                log.warning("ray_joined_again", seconds=round(self._timer() - begun, 1))
                return
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _start_all(self) -> None:
        with self._lock:
            for name in self._recipes:
                self._start(name)
            self._link = _Link()

    def _unless_stuck(self, step: Callable[[], None]) -> None:
        """Run a step of Ray's; a process that hangs in native code can only end."""
        guard = threading.Timer(STUCK_SECONDS, _end_stuck)
        guard.daemon = True
        guard.start()
        try:
            step()
        finally:
            guard.cancel()


class RayRef:
    """A handle on a Ray actor that answers as the in-process handles do.

    Pickled, it is a handle of the receiver's own, which serves as long as the actor does.
    """

    def __init__(self, runtime: RayRuntime, name: str) -> None:
        self._runtime, self._name = runtime, name

    def __reduce__(self) -> tuple[Any, ...]:
        """What another actor gets."""
        handle, _ = self._runtime._reach(self._name)
        return _HandedOn, (self._name, handle, self._runtime._blocking)

    async def ask(self, method: str, *args: Any) -> Any:
        """Call and wait; the actor's own exception arrives as it was raised."""
        handle, link = self._runtime._reach(self._name)
        if self._runtime._blocking:
            return _await_still(self._name, handle, link, method, args)
        return await _ask(self._name, handle, link, method, args)

    def tell(self, method: str, *args: Any) -> None:
        """Call and forget; the actor logs a failure."""
        handle, _ = self._runtime._reach(self._name)
        _send(self._name, handle.tell, method, args)


class _HandedOn:
    """A handle that travelled to another actor."""

    def __init__(self, name: str, handle: Any, blocking: bool) -> None:
        self._name, self._handle, self._blocking = name, handle, blocking

    async def ask(self, method: str, *args: Any) -> Any:
        if self._blocking:
            return _await_still(self._name, self._handle, None, method, args)
        return await _ask(self._name, self._handle, None, method, args)

    def tell(self, method: str, *args: Any) -> None:
        _send(self._name, self._handle.tell, method, args)


async def _ask(
    name: str, handle: Any, link: _Link | None, method: str, args: tuple[Any, ...]
) -> Any:
    from ray.exceptions import RayError

    waiter = asyncio.wrap_future(_send(name, handle.call, method, args).future())
    if link is not None:
        link.add(waiter)
    try:
        answer: Answer = await waiter
    except RayError as error:
        raise _gone(name, error) from error
    return _opened(answer)


def _await_still(
    name: str, handle: Any, link: _Link | None, method: str, args: tuple[Any, ...]
) -> Any:
    """Call and wait without giving the event loop a turn: virtual time must not move."""
    import ray

    answer = _send(name, handle.call, method, args)
    while True:
        try:
            found: Answer = ray.get(answer, timeout=LOOK_SECONDS)
        except ray.exceptions.GetTimeoutError:
            if link is not None and link.lost:
                raise ActorGone(f"the actor {name} is lost with its cluster") from None
        except ray.exceptions.RayError as error:
            raise _gone(name, error) from error
        else:
            return _opened(found)


def _send(name: str, remote: Any, method: str, args: tuple[Any, ...]) -> Any:
    from ray.exceptions import PendingCallsLimitExceeded

    try:
        return remote.remote(method, args)
    except PendingCallsLimitExceeded:
        raise ActorBusy(f"the actor {name} has {MAX_PENDING_CALLS} calls waiting") from None


def _opened(answer: Answer) -> Any:
    done, value = answer
    if not done:
        raise value
    return value


def _gone(name: str, error: Exception) -> ActorGone:
    # The last line names the cause, such as a module that a node lacks; a traceback is above it.
    reason = str(error).strip().rpartition("\n")[2].strip()
    return ActorGone(f"the actor {name} does not answer: {reason}")


def _give_up(waiter: asyncio.Future[Any]) -> None:
    if not waiter.done():
        waiter.set_exception(ActorGone("the Ray cluster was lost during the call"))


def _end_stuck() -> None:
    log.critical("ray_stuck", exit_code=EXIT_STUCK, advice="start this process again")
    os._exit(EXIT_STUCK)
