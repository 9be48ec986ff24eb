"""What the phones of one host ask the cloud's actors, asked together.

A gateway of a deployed cloud serves many phones and sends what they ask at one time as one batch. A
world gives every phone a gateway of its own, lest it see what others do; here their batches become
one again, before they reach the actor.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, NamedTuple

from cloud.actors.runtime import Ref
from cloud.gateway.batcher import BATCH_ITEMS
from simulator.lanes import LaneLoop

__all__ = ["BATCHED", "AskAll", "Call", "LaneRef", "Outcome", "ask_each", "joined"]

BATCHED: Final = frozenset(
    {"append", "commit", "drop", "enrolments", "held", "known", "lookups", "newest"}
)
"""Methods that take a list and give an outcome for each of its items, as a `Batcher` asks them."""

Outcome = tuple[Any, BaseException | None]
"""(what an actor answered, None) or (None, what it raised)."""


class Call(NamedTuple):
    """A method of an actor, and what it is given."""

    ref: Ref
    method: str
    args: tuple[Any, ...]


AskAll = Callable[[Sequence[Call]], Sequence[Outcome]]


class LaneRef:
    """A handle on an actor for phones that live in lanes: a `Ref`."""

    def __init__(self, loop: LaneLoop, ref: Ref) -> None:
        self._loop, self._ref = loop, ref

    async def ask(self, method: str, *args: Any) -> Any:
        """As the actor's, at the moment at which it was asked."""
        return await self._loop.ask_outside(Call(self._ref, method, args))

    def tell(self, method: str, *args: Any) -> None:
        """As the actor's."""
        self._ref.tell(method, *args)


def joined(calls: Sequence[Call], ask_all: AskAll) -> list[Outcome]:
    """The outcomes of `calls`, those of one method of one actor asked as one batch (256 items)."""
    batches: dict[Any, list[list[int]]] = {}
    for number, call in enumerate(calls):
        if call.method not in BATCHED:
            batches[number] = [[number]]
            continue
        of_this = batches.setdefault((id(call.ref), call.method), [[]])
        if sum(len(calls[n].args[0]) for n in of_this[-1]) + len(call.args[0]) > BATCH_ITEMS:
            of_this.append([])
        of_this[-1].append(number)
    groups = [group for some in batches.values() for group in some if group]
    outcomes: list[Outcome] = [(None, None)] * len(calls)
    asked = ask_all([_batch([calls[number] for number in group]) for group in groups])
    for group, (value, error) in zip(groups, asked, strict=True):
        if error is not None or len(group) == 1:
            for number in group:
                outcomes[number] = value, error
            continue
        rest = iter(value)
        for number in group:
            outcomes[number] = [next(rest) for _ in calls[number].args[0]], None
    return outcomes


def ask_each(calls: Sequence[Call]) -> list[Outcome]:
    """Ask one after the other; the handles are of actors that answer at once."""
    return [_at_once(call.ref.ask(call.method, *call.args)) for call in calls]


def _batch(calls: Sequence[Call]) -> Call:
    first = calls[0]
    if len(calls) == 1:
        return first
    return Call(first.ref, first.method, ([item for call in calls for item in call.args[0]],))


def _at_once(work: Coroutine[Any, Any, Any]) -> Outcome:
    try:
        work.send(None)
    except StopIteration as done:
        return done.value, None
    except Exception as error:
        return None, error
    work.close()
    raise RuntimeError("an actor of a world answers at once")
