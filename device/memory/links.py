"""Which older forms and which change records belong to an item, archived ones included."""

from __future__ import annotations

from collections.abc import Iterable

from device.memory.records import Item, ItemKind

__all__ = ["Links"]


class Links:
    """Edges from an item to what came before it and what was noted about it.

    Holds ids only, so that the archive need not be read to know what hangs together.
    """

    __slots__ = ("_edges", "_notes", "_older")

    def __init__(self) -> None:
        self._older: dict[str, list[str]] = {}
        self._notes: dict[str, list[str]] = {}
        self._edges: dict[str, tuple[str, str]] = {}

    def put(self, item: Item) -> None:
        """Take in an item's present form."""
        self.drop(item.id)
        subject = item.subject if item.kind is ItemKind.CHANGE else ""
        if item.replaced_by:
            self._older.setdefault(item.replaced_by, []).append(item.id)
        if subject:
            self._notes.setdefault(subject, []).append(item.id)
        if item.replaced_by or subject:
            self._edges[item.id] = (item.replaced_by, subject)

    def drop(self, identifier: str) -> None:
        """Forget an item's edges."""
        newer, subject = self._edges.pop(identifier, ("", ""))
        for table, key in ((self._older, newer), (self._notes, subject)):
            if key and key in table:
                table[key].remove(identifier)
                if not table[key]:
                    del table[key]

    def older(self, identifier: str) -> list[str]:
        """The forms an item had before, nearest first; each once."""
        found: list[str] = []
        frontier = [identifier]
        while frontier:
            frontier = [
                old
                for newer in frontier
                for old in self._older.get(newer, ())
                if old not in found and old != identifier
            ]
            found += dict.fromkeys(frontier)
        return found

    def notes(self, identifier: str) -> list[str]:
        """The change records about an item and about its older forms."""
        about = (identifier, *self.older(identifier))
        return [note for subject in about for note in self._notes.get(subject, ())]

    def together(self, ids: Iterable[str]) -> set[str]:
        """These items with all their older forms and change records."""
        whole: set[str] = set()
        for identifier in ids:
            whole.update((identifier, *self.older(identifier), *self.notes(identifier)))
        return whole
