"""How a phone's process may end by itself, and how that is told."""

from __future__ import annotations

from typing import Final

from device.actors.errors import ActorError, DomainError
from privacy.errors import PrivacyError

__all__ = ["FAILING", "may_end_with", "reason_of"]

FAILING: Final = (DomainError, ActorError, PrivacyError)
"""What a process may end with: anything else is a mistake in the code, and ends the world."""


def may_end_with(error: BaseException) -> bool:
    """Whether a phone may end so: the service manager starts it anew."""
    if isinstance(error, BaseExceptionGroup):
        return all(may_end_with(one) for one in error.exceptions)
    return isinstance(error, FAILING)


def reason_of(error: BaseException) -> str:
    """Why a process ended, in a line; of a group the first error that is none."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
