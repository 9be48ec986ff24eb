"""What can go wrong between an asker and an actor."""

from __future__ import annotations

__all__ = ["ActorError", "ActorStopped", "DomainError", "Fault", "MailboxFull"]


class DomainError(Exception):
    """An expected refusal (unknown id, budget spent, disk full): told to the asker, no restart."""


class ActorError(Exception):
    """Base of the errors the actor system itself raises."""


class Fault(ActorError):
    """An actor failed unexpectedly and was restarted; the original error is ``__cause__``.

    The message names types only, so that no text of a user's memory reaches a log line.
    """

    def __init__(self, actor: str, message: object, error: BaseException) -> None:
        super().__init__(f"{actor} failed on {type(message).__name__}: {type(error).__name__}")
        self.actor = actor


class ActorStopped(ActorError):
    """The actor no longer serves: its system was stopped, or it failed too often."""

    def __init__(self, actor: str) -> None:
        super().__init__(f"actor {actor} is stopped; open the phone again")
        self.actor = actor


class MailboxFull(ActorError):
    """A `tell` found no room; use `ask`, which waits for room, or tell less often."""

    def __init__(self, actor: str, capacity: int) -> None:
        super().__init__(f"mailbox of {actor} is full ({capacity} messages); use ask to wait")
        self.actor = actor
