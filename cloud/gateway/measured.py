"""Actors and the helper, measured from where they are asked: how long, and how many wait.

The time is the event loop's, so that a simulated world measures its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from cloud.actors.runtime import Ref, Runtime
from cloud.gateway.metrics import Metrics
from cloud.helper_client import HelperIdentity, HelperPort
from privacy.secagg import Batch, MaskSum

__all__ = ["MeasuredHelper", "MeasuredRuntime"]


class MeasuredRuntime:
    """A runtime whose actors' calls are timed. Labels are actors' and methods' names: ours."""

    def __init__(self, runtime: Runtime, metrics: Metrics) -> None:
        self._runtime, self._metrics = runtime, metrics

    def spawn(self, name: str, cls: Callable[..., Any], *args: Any, **kwargs: Any) -> Ref:
        """See `Runtime.spawn`."""
        return _MeasuredRef(self._runtime.spawn(name, cls, *args, **kwargs), name, self._metrics)

    async def stop(self) -> None:
        """See `Runtime.stop`."""
        await self._runtime.stop()


class _MeasuredRef:
    def __init__(self, ref: Ref, name: str, metrics: Metrics) -> None:
        self._ref, self._name, self._metrics = ref, name, metrics
        self._waiting = metrics.waiting.labels(actor=name)
        self._observe: dict[str, Callable[[float], None]] = {}

    async def ask(self, method: str, *args: Any) -> Any:
        observe = self._observe.get(method)
        if observe is None:
            child = self._metrics.calls.labels(actor=self._name, method=method)
            observe = self._observe[method] = child.observe
        time = asyncio.get_running_loop().time
        began = time()
        self._waiting.inc()
        try:
            return await self._ref.ask(method, *args)
        finally:
            self._waiting.dec()
            observe(time() - began)

    def tell(self, method: str, *args: Any) -> None:
        self._ref.tell(method, *args)

    def __reduce__(self) -> tuple[Callable[[Ref], Ref], tuple[Ref]]:
        # In another process nobody reads these metrics: the plain handle travels there.
        return _unmeasured, (self._ref,)


def _unmeasured(ref: Ref) -> Ref:
    return ref


class MeasuredHelper:
    """A helper whose answers to batches are timed."""

    def __init__(self, helper: HelperPort, metrics: Metrics) -> None:
        self._helper, self._metrics = helper, metrics

    async def identity(self) -> HelperIdentity:
        """See `HelperPort`."""
        return await self._helper.identity()

    async def query_key(self, task: str, number: int) -> bytes:
        """See `HelperPort`."""
        return await self._helper.query_key(task, number)

    async def sum_masks(self, batch: Batch) -> MaskSum:
        """See `HelperPort`."""
        time = asyncio.get_running_loop().time
        began = time()
        try:
            return await self._helper.sum_masks(batch)
        finally:
            self._metrics.helper_seconds.observe(time() - began)

    async def close(self) -> None:
        """See `HelperPort`."""
        await self._helper.close()
