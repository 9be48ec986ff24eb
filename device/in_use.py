"""The router and the judge of duplicates that a phone answers with now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from device.recall import Judge, Router, judge_with
from device.recall.floors import Floors
from device.recall.latest import Latest
from device.sync.adoption import Shelf

__all__ = ["InUse"]


class InUse:
    """Made of what is on the shelf, and made anew only when something else is."""

    __slots__ = ("_floors", "_judge", "_router", "_shelf", "_zone")

    def __init__(self, shelf: Shelf, zone: tzinfo, floors: Callable[[], Floors]) -> None:
        """`floors`: those in force, which follow from the owner's choice and the adopted policy."""
        self._shelf, self._zone, self._floors = shelf, zone, floors
        self._router: Latest[Router] = Latest()
        self._judge: Latest[Judge] = Latest()

    def router(self) -> Router:
        """The adopted one, or that of the rules; never a second one of the same parameters."""
        held, policy = self._shelf.adopted("router"), self._shelf.policy("router")
        return self._router.of((held, policy), self._make_router)

    def _make_router(self) -> Router:
        held, weights = self._shelf.adopted("router"), self._shelf.weights("router")
        return Router(held, self._zone, floors=self._floors(), weights=weights)

    def judge(self) -> Judge:
        """What says whether two texts say the same."""
        weights = self._shelf.weights("dedup")
        return self._judge.of((weights,), lambda: judge_with(weights))
