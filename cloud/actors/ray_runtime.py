"""The same actors on Ray: one process each, restarted for ever, state in the database.

Facts behind the choices (measured in the project's research notes): authentication mode is cached
when ray is imported, so the environment is set first; task events make the control store grow
without bound; service actors must ask for no CPU or two of them fill a small machine.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import structlog

from cloud.actors.runtime import ActorGone, Ref

__all__ = ["RayRuntime", "RayUnavailable"]

log = structlog.get_logger("reverie.cloud.actors")

OBJECT_STORE_BYTES = 96 << 20  # messages here are small; Ray refuses less than 75 MiB
TOKEN_BYTES = 32
LOOPBACK = "127.0.0.1"


class RayUnavailable(Exception):
    """Ray is not installed or the cluster does not answer; the message says what to do."""


class RayRuntime:
    """Actors on a Ray cluster.

    Args:
        address: an existing cluster ("auto" or host:port); None starts one here, which `stop` ends.
        namespace: keeps this service's actor names apart from others on the cluster.
        blocking: wait for answers inside the coroutine, so that a virtual clock stands still.
        bits: n -> n random bytes, for the local cluster's authentication token.

    Raises:
        RayUnavailable: no ray package, or no cluster at `address`.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        namespace: str = "reverie",
        blocking: bool = False,
        bits: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.namespace = namespace
        self._blocking = blocking
        self._actors: dict[str, Any] = {}
        self._ray, self._owns_cluster = _connect(address, namespace, bits)

    def spawn(self, name: str, cls: Callable[..., Any], *args: Any, **kwargs: Any) -> Ref:
        """Start a named actor; a failing constructor is raised by the first `ask`."""
        if name in self._actors:
            raise ValueError(f"an actor named {name!r} is already running")
        handle = (
            self._ray.remote(_Host)
            .options(
                name=name,
                namespace=self.namespace,
                num_cpus=0,
                max_restarts=-1,
                max_task_retries=-1,
            )
            .remote(cls, args, kwargs)
        )
        self._actors[name] = handle
        return RayRef(name, handle, blocking=self._blocking)

    async def stop(self) -> None:
        """Kill this runtime's actors; end the cluster when this runtime started it."""
        for name in reversed(list(self._actors)):
            self._ray.kill(self._actors.pop(name), no_restart=True)
        if self._owns_cluster:
            self._owns_cluster = False
            await asyncio.to_thread(self._ray.shutdown)


class RayRef:
    """A handle on a Ray actor that answers as the in-process handles do; it can be pickled."""

    def __init__(self, name: str, handle: Any, *, blocking: bool) -> None:
        self._name, self._handle, self._blocking = name, handle, blocking

    async def ask(self, method: str, *args: Any) -> Any:
        """Call and wait; the actor's own exception arrives as it was raised."""
        ray: Any = importlib.import_module("ray")
        answer = self._handle.call.remote(method, args)
        try:
            if self._blocking:
                return ray.get(answer)  # virtual time must not move
            return await answer
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayActorError as error:
            raise ActorGone(f"the actor {self._name} does not answer") from error

    def tell(self, method: str, *args: Any) -> None:
        """Call and forget; the actor logs a failure."""
        self._handle.tell.remote(method, args)


class _Host:
    """Runs inside the Ray worker and owns the real actor."""

    def __init__(self, cls: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self._actor = cls(*args, **kwargs)

    def call(self, method: str, args: tuple[Any, ...]) -> Any:
        return getattr(self._actor, method)(*args)

    def tell(self, method: str, args: tuple[Any, ...]) -> None:
        try:
            getattr(self._actor, method)(*args)
        except Exception:
            log.exception("tell_failed", method=method)


def _connect(address: str | None, namespace: str, bits: Callable[[int], bytes]) -> tuple[Any, bool]:
    if "ray" not in sys.modules:
        _quiet_environment(local=address is None, bits=bits)
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise RayUnavailable("Ray is not installed; run: pip install 'reverie[ray]'") from None
    if ray.is_initialized():
        return ray, False
    options: dict[str, Any] = {"namespace": namespace, "log_to_driver": False}
    options |= {"logging_level": "ERROR", "configure_logging": False}
    if address is None:
        options |= {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
        options |= {"_node_ip_address": LOOPBACK, "num_cpus": os.cpu_count() or 1}
    else:
        options["address"] = address
    try:
        ray.init(**options)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        where = address or "on this machine"
        raise RayUnavailable(f"no Ray cluster {where}: {error}".splitlines()[0]) from error
    return ray, True


def _quiet_environment(*, local: bool, bits: Callable[[int], bytes]) -> None:
    environment = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        "RAY_task_events_report_interval_ms": "0",
        "OMP_NUM_THREADS": "1",
    }
    if local:
        environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": bits(TOKEN_BYTES).hex()}
    for name, value in environment.items():
        os.environ.setdefault(name, value)
