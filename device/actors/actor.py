"""Actors as their authors see them: typed requests, and three methods to override."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Actor", "PromptActor", "Request"]

R_co = TypeVar("R_co", covariant=True)


class Request(Generic[R_co]):
    """Base of a message that is answered with an `R_co`; subclass it as a frozen dataclass.

    >>> @dataclass(frozen=True, slots=True)
    ... class Count(Request[int]):
    ...     word: str
    """

    __slots__ = ()


class Actor:
    """One owner of some state. Its methods run one at a time, in the order messages came.

    An actor keeps no lock: nothing else touches its state. It must not `ask` itself.
    """

    async def started(self) -> None:
        """Called once before the first message, and again on the fresh actor after a restart."""

    async def receive(self, message: object) -> object:
        """Answer one message. Raise `DomainError` to refuse; any other error restarts the actor."""
        raise TypeError(f"{type(self).__name__} does not understand {type(message).__name__}")

    async def stopped(self) -> None:
        """Called once when this instance is given up: on stop, and before a restart."""


class PromptActor(Actor):
    """An actor that never waits while it answers: its core is synchronous.

    Because nothing can come in between, an idle one answers in the asker's own turn of the
    loop; the mailbox is for when it is not idle. What its asker sees is the same.
    """

    def answer(self, message: object) -> object:
        """Answer one message, as `receive` would."""
        raise TypeError(f"{type(self).__name__} does not understand {type(message).__name__}")

    async def receive(self, message: object) -> object:
        """Answer one message from the mailbox."""
        return self.answer(message)
