"""What happens in a dialogue, one step after the other."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = [
    "Chatter",
    "Dream",
    "Forget",
    "ForgetWords",
    "Part",
    "Restart",
    "Say",
    "Step",
    "Task",
    "TaskEnded",
    "Use",
]


class Part(BaseModel):
    """Everything in a file of probes: what does not fit is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _Timed(Part):
    at: datetime | None = None
    """Local time; none: 30 s after the step before."""


class Say(_Timed):
    """A turn is recorded."""

    say: str
    by: str = "user"
    session: str = ""
    source: str = ""
    kind: Literal["dialogue", "operation", "system"] = "dialogue"


class Chatter(_Timed):
    """So many turns of talk about nothing; they have no number."""

    chatter: int = Field(ge=1)


class Dream(_Timed):
    """The phone dreams: consolidates, expires, forgets."""

    dream: Literal[True]


class Forget(_Timed):
    """The user erases these turns and all that was drawn from them."""

    forget: tuple[int, ...]


class ForgetWords(_Timed):
    """The user erases everything that holds these words."""

    forget_words: str


class Use(_Timed):
    """The user asks `use`, and what came of turn `helped` helped."""

    use: str
    helped: int


class Task(_Timed):
    """The agent notes the state of a task in the working layer."""

    task: str
    state: str


class TaskEnded(_Timed):
    """The task is over."""

    ended: str


class Restart(_Timed):
    """The phone is closed and opened again."""

    restart: Literal[True]


def _as_say(step: object) -> object:
    """A bare string is a turn of the user."""
    return {"say": step} if isinstance(step, str) else step


Step = Annotated[
    Say | Chatter | Dream | Forget | ForgetWords | Use | Task | TaskEnded | Restart,
    BeforeValidator(_as_say),
]
