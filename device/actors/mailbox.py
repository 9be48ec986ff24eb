"""A bounded first-in-first-out mailbox; idle ones hold no task and cost no wake-up."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any

__all__ = ["Envelope", "Mailbox"]


@dataclass(slots=True)
class Envelope:
    """A message and, when somebody waits for the answer, where it goes."""

    message: object
    reply: asyncio.Future[Any] | None

    @property
    def abandoned(self) -> bool:
        """The asker was cancelled before its turn came: nobody wants the work done."""
        return self.reply is not None and self.reply.done()

    def answer(self, value: object) -> None:
        """Give the asker its answer, unless it has left."""
        if self.reply is not None and not self.reply.done():
            self.reply.set_result(value)

    def fail(self, error: BaseException) -> None:
        """Give the asker an error, unless it has left."""
        if self.reply is not None and not self.reply.done():
            self.reply.set_exception(error)


class Mailbox:
    """At most `capacity` envelopes; putters wait in line for room."""

    __slots__ = ("_letters", "_waiters", "capacity")

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError("a mailbox needs room for at least one message")
        self.capacity = capacity
        # Both made on first need: an empty deque takes 600 bytes, and most boxes are always empty.
        self._letters: deque[Envelope] | None = None
        self._waiters: deque[asyncio.Future[None]] | None = None

    def __len__(self) -> int:
        return 0 if self._letters is None else len(self._letters)

    @property
    def full(self) -> bool:
        """No room now, or others are already waiting for it."""
        return len(self) >= self.capacity or bool(self._waiters)

    def put(self, envelope: Envelope) -> None:
        """Add one; the caller has made sure that there is room."""
        if self._letters is None:
            self._letters = deque()
        self._letters.append(envelope)

    async def room(self) -> None:
        """Return once there is room, in order of arrival; nothing may await before `put`."""
        if not self.full:
            return
        if self._waiters is None:
            self._waiters = deque()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            self._wake()  # the room this waiter was woken for belongs to the next one
            raise
        self._waiters.remove(waiter)

    def take(self) -> Envelope:
        """The oldest envelope; IndexError when empty."""
        if self._letters is None:
            raise IndexError("the mailbox is empty")
        envelope = self._letters.popleft()
        if not self._letters:
            self._letters = None
        self._wake()
        return envelope

    def release(self) -> list[Envelope]:
        """Empty the box and let every waiter go on (they find the actor stopped)."""
        left = list(self._letters or ())
        self._letters = None
        for waiter in self._waiters or ():
            if not waiter.done():
                waiter.set_result(None)
        return left

    def _wake(self) -> None:
        """Let in as many waiters as there is room for, those already woken counted."""
        if not self._waiters:
            return
        room = self.capacity - len(self)
        for waiter in list(self._waiters)[: max(0, room)]:
            if not waiter.done():
                waiter.set_result(None)
