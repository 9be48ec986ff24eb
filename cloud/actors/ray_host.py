"""What runs inside a Ray worker: one actor, built when it can be, and what it raises."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable
from typing import Any, Final

import structlog

from cloud.actors.runtime import ActorBusy
from cloud.logs import configure_logs

__all__ = ["Answer", "Host"]

log = structlog.get_logger("reverie.cloud.actors")

FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 30.0

Answer = tuple[bool, Any]
"""(True, what the method returned) or (False, the exception it raised)."""


class Host:
    """Owns the real actor.

    Ray never builds an actor again whose constructor raised, and a database that is away for a
    moment must not end one for good. So this constructor cannot fail: the actor is built here if
    that works, else by a later call, with growing pauses during which callers hear ActorBusy.

    Args:
        name: the actor's name, for its log lines.
        cls, args, kwargs: how to build it.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        name: str,
        cls: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        configure_logs()
        self._name, self._clock = name, clock
        self._build: Callable[[], Any] = lambda: cls(*args, **kwargs)
        self._actor: Any | None = None
        self._untold: Exception | None = None
        self._pause, self._again = FIRST_PAUSE_SECONDS, 0.0
        self._try_to_build()

    def call(self, method: str, args: tuple[Any, ...]) -> Answer:
        """Run a method of the actor."""
        try:
            return True, getattr(self._ready(), method)(*args)
        except Exception as error:
            return False, _portable(error)

    def tell(self, method: str, args: tuple[Any, ...]) -> None:
        """Run a method for a caller that does not wait."""
        try:
            getattr(self._ready(), method)(*args)
        except Exception:
            log.exception("tell_failed", actor=self._name, method=method)

    def _ready(self) -> Any:
        if self._actor is None and self._untold is None:
            if self._clock() < self._again:
                raise ActorBusy(f"the actor {self._name} cannot be built just now")
            self._try_to_build()
        if self._untold is not None:
            told, self._untold = self._untold, None
            raise told
        return self._actor

    def _try_to_build(self) -> None:
        try:
            self._actor = self._build()
        except Exception as error:
            log.warning("actor_not_built", actor=self._name, error=type(error).__name__)
            self._untold = error
            self._again = self._clock() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)


def _portable(error: Exception) -> Exception:
    """The exception as it can travel: some cannot be put together again on the other side."""
    try:
        pickle.dumps(error)
        copy.copy(error)  # built again the same way
    except Exception:
        return RuntimeError(f"the actor raised {type(error).__name__}")
    return error.with_traceback(None)
