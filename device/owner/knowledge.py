"""A phone's methods for the public documents on it: see them, drop one, take it again."""

from __future__ import annotations

from dataclasses import dataclass

from device.actors import DomainError
from device.recall.public_store import PublicStore

__all__ = ["KnowledgeCalls", "KnownDocument", "UnknownDocument"]


class UnknownDocument(DomainError):
    """No public document of that name is here."""


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """One public document, at hand or dropped; times are unix seconds."""

    name: str
    dropped: bool = False
    """Its owner does not want it; the fields below are then 0."""
    version: int = 0
    records: int = 0
    size: int = 0
    """Bytes of its content."""
    created: float = 0.0
    """When it was published."""
    taken: float = 0.0
    """When this phone took it."""


class KnowledgeCalls:
    """Mixed into `Phone`, which opens what is named here."""

    _public: PublicStore

    async def knowledge(self) -> list[KnownDocument]:
        """The public documents here by name, then those that were dropped."""
        held = [
            KnownDocument(
                name=each.name,
                version=each.version,
                records=each.records,
                size=each.size,
                created=each.created,
                taken=each.taken,
            )
            for each in self._public.held
        ]
        return held + [KnownDocument(name, dropped=True) for name in self._public.unwanted]

    async def drop_knowledge(self, name: str) -> None:
        """Shred a document and take no other version of it.

        Raises:
            UnknownDocument: none of that name is here.
        """
        if self._public.get(name) is None:
            raise UnknownDocument(
                f"no public document is called {name!r}: see `reverie-device knowledge list`"
            )
        self._public.drop(name)

    async def want_knowledge(self, name: str) -> None:
        """Take a dropped document again, with the next sync.

        Raises:
            UnknownDocument: none of that name was dropped.
        """
        if not self._public.want(name):
            raise UnknownDocument(
                f"no document called {name!r} was dropped: see `reverie-device knowledge list`"
            )
