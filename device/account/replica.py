"""One shared item as a state-based CRDT: merging is commutative, associative and idempotent.

| part     | kind                          | of concurrent writes                                |
|----------|-------------------------------|-----------------------------------------------------|
| content  | multi-value register          | all stay; the newest is shown, the others beside it |
| status   | register with an order        | cancelled > completed > expired > active            |
| erased   | grow-only flag                | an erase wins over everything, for good             |

A write has a *dot* (device, counter) that nothing else ever has. The *context* of a state is every
dot it has seen. A write that is in one state and covered by the other's context, but not among its
writes, was superseded there; so no list of what a write supersedes has to travel. A device's write
supersedes all that the device sees of that register, its own earlier writes included: therefore one
counter for each device says the context exactly, and it stays as small as the number of devices.

Source: Almeida, Shoker and Baquero, "Delta State Replicated Data Types", 2018 (causal CRDTs: a dot
store with a causal context); Preguiça et al., "Dotted Version Vectors", 2010.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from device.account.hlc import ZERO, Hlc
from device.memory.records import EventState

__all__ = ["Dot", "ItemRef", "Replica", "Status", "Write", "merge"]


class ItemRef(NamedTuple):
    """The name of an item on every device: who made it, and its number there."""

    device: str
    """32 hex digits."""
    number: int


class Dot(NamedTuple):
    """Names one write for ever."""

    device: str
    counter: int


class Status(NamedTuple):
    """What became of an item: not its words."""

    state: EventState
    replaced_by: ItemRef | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a register. ``value`` is the packed content, or a status."""

    dot: Dot
    at: Hlc
    value: bytes | Status

    @property
    def _newness(self) -> tuple[Hlc, Dot]:
        return self.at, self.dot


RANK = {
    EventState.ACTIVE: 0,
    EventState.EXPIRED: 1,
    EventState.COMPLETED: 2,
    EventState.CANCELLED: 3,
}
"""Of two concurrent states the one decided by a person beats the one that only time brought."""


@dataclass(frozen=True, slots=True)
class Replica:
    """What one device knows of one item."""

    content: Mapping[Dot, Write] = field(default_factory=dict)
    status: Mapping[Dot, Write] = field(default_factory=dict)
    context: Mapping[str, int] = field(default_factory=dict)
    """Device → the counter of its newest write seen here."""
    erased: bool = False
    """Once true nothing else is kept: a tombstone holds no content."""

    def written(self, dot: Dot, at: Hlc, content: bytes) -> Replica:
        """The state after a local write of the words, which replaces all versions seen."""
        return self._with(dot, content={dot: Write(dot, at, content)})

    def turned(self, dot: Dot, at: Hlc, status: Status) -> Replica:
        """The state after a local change of the status."""
        return self._with(dot, status={dot: Write(dot, at, status)})

    def buried(self) -> Replica:
        """The tombstone. Nothing can be added to it, so it needs no context either."""
        return Replica(erased=True)

    @property
    def versions(self) -> list[bytes]:
        """Every concurrent content, the newest first: that one is shown."""
        ordered = sorted(self.content.values(), key=lambda w: w._newness, reverse=True)
        return [write.value for write in ordered if isinstance(write.value, bytes)]

    @property
    def standing(self) -> Status:
        """The status that holds."""
        found = [w for w in self.status.values() if isinstance(w.value, Status)]
        best = max(found, key=lambda w: (RANK[_status(w).state], w._newness), default=None)
        return _status(best) if best is not None else Status(EventState.ACTIVE)

    @property
    def newest(self) -> Hlc:
        """The newest timestamp in it."""
        return max((write.at for write in self._writes()), default=ZERO)

    def _with(
        self,
        dot: Dot,
        content: Mapping[Dot, Write] | None = None,
        status: Mapping[Dot, Write] | None = None,
    ) -> Replica:
        if self.erased:
            return self
        if dot.counter <= self.context.get(dot.device, 0):
            raise ValueError("a write needs a counter that the device has not used yet")
        return replace(
            self,
            content=self.content if content is None else content,
            status=self.status if status is None else status,
            context={**self.context, dot.device: dot.counter},
        )

    def _writes(self) -> Iterator[Write]:
        yield from self.content.values()
        yield from self.status.values()


def merge(one: Replica, other: Replica) -> Replica:
    """The state that knows what both know."""
    if one.erased or other.erased:
        return Replica(erased=True)
    context = {
        device: max(one.context.get(device, 0), other.context.get(device, 0))
        for device in sorted({*one.context, *other.context})
    }
    return Replica(
        content=_joined(one.content, one.context, other.content, other.context),
        status=_joined(one.status, one.context, other.status, other.context),
        context=context,
    )


def _joined(
    mine: Mapping[Dot, Write],
    my_context: Mapping[str, int],
    theirs: Mapping[Dot, Write],
    their_context: Mapping[str, int],
) -> dict[Dot, Write]:
    kept = [
        *(w for w in mine.values() if w.dot in theirs or not _seen(w.dot, their_context)),
        *(w for w in theirs.values() if w.dot in mine or not _seen(w.dot, my_context)),
    ]
    return {dot: _one_of(w for w in kept if w.dot == dot) for dot in sorted({w.dot for w in kept})}


def _one_of(writes: Iterable[Write]) -> Write:
    """Two writes under one dot come only from a device put back from a copy: the newer stays, by
    an order all devices share."""
    return max(writes, key=lambda w: (w.at, repr(w.value)))


def _seen(dot: Dot, context: Mapping[str, int]) -> bool:
    return dot.counter <= context.get(dot.device, 0)


def _status(write: Write) -> Status:
    assert isinstance(write.value, Status)
    return write.value
