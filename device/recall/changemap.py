"""Which change records concern which turns, so that an answer can bring them along."""

from __future__ import annotations

from collections.abc import Iterable

from device.memory.records import Item, ItemKind

__all__ = ["ChangeMap"]

OUTDATING = frozenset({"cancelled", "moved", "corrected", "replaced"})
"""Changes after which what was said before holds no longer."""


class ChangeMap:
    """Which change records concern which turns: numbers only."""

    __slots__ = ("_by_turn", "_outdated", "_turns")

    def __init__(self) -> None:
        self._by_turn: dict[str, list[str]] = {}
        self._turns: dict[str, tuple[str, ...]] = {}
        self._outdated: dict[str, tuple[str, ...]] = {}

    def put(self, items: Iterable[Item]) -> None:
        """Take in what is new; anything but change records is passed over."""
        for item in items:
            if item.kind is ItemKind.CHANGE:
                self._turns[item.id] = item.turns
                if item.action in OUTDATING:
                    # The last turn is the one that changed it.
                    self._outdated[item.id] = item.turns[:-1]
                for turn in item.turns:
                    self._by_turn.setdefault(turn, []).append(item.id)

    def drop(self, ids: Iterable[str]) -> None:
        """Forget these records."""
        for identifier in ids:
            self._outdated.pop(identifier, None)
            for turn in self._turns.pop(identifier, ()):
                self._by_turn[turn].remove(identifier)
                if not self._by_turn[turn]:
                    del self._by_turn[turn]

    @property
    def any_outdated(self) -> bool:
        """Whether any record takes back what was said."""
        return bool(self._outdated)

    def outdated(self, turn: str) -> bool:
        """Whether a record takes back what this turn says."""
        if turn not in self._by_turn:
            return False
        return any(turn in self._outdated.get(i, ()) for i in self._by_turn[turn])

    def about(self, turns: Iterable[str]) -> list[str]:
        """Ids of the records about these turns, each once, in the order of the turns."""
        held = self._by_turn
        return list(dict.fromkeys([i for turn in turns if turn in held for i in held[turn]]))
