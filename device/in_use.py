"""The router and the judge of duplicates that a phone answers with now."""

from __future__ import annotations

from device.recall import Judge, Router, judge_with
from device.recall.floors import Floors
from device.recall.latest import Latest
from device.settings import Settings
from device.sync.adoption import Shelf

__all__ = ["InUse"]


class InUse:
    """Made of what is on the shelf, and made anew only when something else is."""

    __slots__ = ("_judge", "_router", "_settings", "_shelf")

    def __init__(self, shelf: Shelf, settings: Settings) -> None:
        self._shelf, self._settings = shelf, settings
        self._router: Latest[Router] = Latest()
        self._judge: Latest[Judge] = Latest()

    def router(self) -> Router:
        """The adopted one, or that of the rules; never a second one of the same parameters."""
        held, policy = self._shelf.adopted("router"), self._shelf.policy("router")
        return self._router.of((held, policy), self._make_router)

    def _make_router(self) -> Router:
        shelf, settings = self._shelf, self._settings
        return Router(
            shelf.adopted("router"),
            settings.zone,
            floors=Floors.in_force(settings.layer_floor, shelf.policy("router")),
            weights=shelf.weights("router"),
        )

    def judge(self) -> Judge:
        """What says whether two texts say the same."""
        weights = self._shelf.weights("dedup")
        return self._judge.of((weights,), lambda: judge_with(weights))
