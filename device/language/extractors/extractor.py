"""The protocol every extractor keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Protocol

from device.language.events import Draft

__all__ = ["Extractor", "Said"]


class Said(Protocol):
    """One turn of dialogue; `device.memory.Turn` is one."""

    @property
    def text(self) -> str:
        """The words."""
        ...

    @property
    def speaker(self) -> str:
        """Who said them."""
        ...

    @property
    def at(self) -> float:
        """When, unix seconds UTC."""
        ...

    @property
    def kind(self) -> str:
        """`dialogue`, `system`, …"""
        ...


class Extractor(Protocol):
    """Reads turns and says what is worth remembering of them."""

    name: str
    """`builtin` or `endpoint`."""

    @property
    def notice(self) -> str:
        """One line for `status`; empty when nothing leaves the phone."""
        ...

    async def extract(self, turns: Sequence[Said], tz: tzinfo) -> list[list[Draft]]:
        """The drafts of each turn, in order: as many lists as turns. Times are read in `tz`.

        Never raises over what it reads or what a service answers; cancelling it is safe.
        """
        ...
