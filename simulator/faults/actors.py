"""Actors that begin anew from the database in the middle of a world, and whole clouds that do.

What stands in an actor's place is built from the same recipe and forgets as a process does that is
started again. It is itself an actor, so this works wherever actors live, and a handle that a host
holds goes on serving: only what stands behind it is another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cloud.actors.runtime import ActorGone, Ref, Runtime
from cloud.helper_client import HelperUnavailable

__all__ = ["HELPER", "Recipe", "Renewable", "RenewingRuntime"]

HELPER: Final = "helper"
"""What a cloud calls the actor of its own helper."""


class Recipe(NamedTuple):
    """How an actor is built."""

    cls: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Renewable:
    """An actor that can be built again, and be away."""

    def __init__(self, name: str, recipe: Recipe) -> None:
        self._name, self._recipe = name, recipe
        self._absent, self._refused = False, 0
        self._actor: Any = None
        self._build()

    def __getattr__(self, method: str) -> Any:
        """A method of the actor. Raises ActorGone, or for the helper HelperUnavailable, while it is
        away."""
        if method.startswith("_"):
            raise AttributeError(method)
        if not self._absent:
            return getattr(self._actor, method)
        self._refused += 1
        if self._name == HELPER:
            raise HelperUnavailable("the helper does not answer")
        raise ActorGone(f"the actor {self._name} is down")

    def begin_anew(self, recipe: Recipe | None = None) -> None:
        """Forget everything and build the actor again, here and now."""
        self._recipe = recipe or self._recipe
        self._build()
        self._absent = False

    def be_absent(self, absent: bool) -> int:
        """Answer nobody, or answer again; how many were turned away until now."""
        self._absent = absent
        return self._refused

    def close(self) -> None:
        """Give back what the actor holds."""
        close = getattr(self._actor, "close", None)
        if close is not None:
            close()

    def _build(self) -> None:
        self.close()
        self._actor = None
        cls, args, kwargs = self._recipe
        self._actor = cls(*args, **kwargs)


class RenewingRuntime:
    """A runtime whose actors are `Renewable`. An actor that is spawned under a name that is taken
    begins anew in its place, as when a whole cloud is composed again."""

    def __init__(self, inner: Runtime) -> None:
        self._inner = inner
        self._refs: dict[str, Ref] = {}

    def spawn(self, name: str, cls: Callable[..., Any], *args: Any, **kwargs: Any) -> Ref:
        """See `Runtime.spawn`."""
        recipe, known = Recipe(cls, args, kwargs), self._refs.get(name)
        if known is not None:
            known.tell("begin_anew", recipe)
            return known
        ref = self._refs[name] = self._inner.spawn(name, Renewable, name, recipe)
        return ref

    async def stop(self) -> None:
        """See `Runtime.stop`."""
        await self._inner.stop()

    async def renew(self) -> None:
        """Have every actor of the cloud begin anew; the helper is another's."""
        for name, ref in self._refs.items():
            if name != HELPER:
                await ref.ask("begin_anew")

    async def go_down(self) -> None:
        """Nobody answers until he is spawned again."""
        for ref in self._refs.values():
            await ref.ask("be_absent", True)

    async def helper_away(self, away: bool) -> int:
        """Have the helper answer nobody, or answer again; how often it was asked in vain so far.
        A cloud without a helper of its own has none that could be away."""
        helper = self._refs.get(HELPER)
        return 0 if helper is None else int(await helper.ask("be_absent", away))
