"""An item as the devices of one account share it, and as this one holds it.

Shared are its words, times and provenance, and what became of it; not how often it was used here,
nor whether it has faded here. Numbers of items and turns mean something on one device only, so
they travel with its id. The way there and back changes nothing: else two devices would answer each
other's echoes for ever.

| local item number           | item                                                            |
|-----------------------------|-----------------------------------------------------------------|
| below 2^57                  | made here                                                       |
| 2^57 + k·2^50 + n, k ≥ 1    | number n of the k-th other device this one has met              |
| 2^57 + hash                 | another version of an item two devices edited at once           |
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, TypeAlias

import msgpack
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from device.account.errors import EnvelopeRefused
from device.account.replica import ItemRef, Status
from device.account.unpacking import unpack
from device.agent.keeping import is_readable, renamed
from device.memory.coding import item_id, item_number, turn_id, turn_sequence
from device.memory.foreign import foreign_turn, told_on
from device.memory.records import AGENT_KINDS, Item, ItemKind

__all__ = [
    "SHARED_KINDS",
    "Device",
    "Names",
    "Number",
    "alternatives",
    "digest_of",
    "pack_item",
    "status_of",
    "unpack_item",
]

SHARED_KINDS = frozenset(ItemKind) - {ItemKind.RUN, ItemKind.PATTERN}
"""Runs are an agent's raw log, patterns are counts of one device's use: both stay home."""
DIGEST_SIZE = 8
FOREIGN = 1 << 57
SPAN_BITS = 50
SPAN = 1 << SPAN_BITS
MOST_DEVICES = 500
"""Other devices ever met; their numbers stay below 2^59, as copies of a memory want it."""
TURNLESS, HALF = 1 << 56, 1 << (SPAN_BITS - 1)
"""Numbers from TURNLESS on (items of no turn) travel as HALF + the rest."""
MEANING = (0, 1, 5, 6, 7, 8, 9, 10, 11, 12)
"""Places of the fields whose difference makes two versions different for a reader."""


class Names:
    """What items and turns are called here and everywhere. `met` lists the other devices in the
    order this one met them; it only ever grows."""

    def __init__(self, own: str, met: list[str]) -> None:
        self.own = own
        self.met = met

    def ref(self, identifier: str) -> ItemRef | None:
        """The name everywhere of a local item id; None for what is not shared."""
        number = item_number(identifier)
        if number is None:
            return None
        if number < FOREIGN:
            return _shared(self.own, number)
        place, rest = divmod(number - FOREIGN, SPAN)
        return ItemRef(self.met[place - 1], rest) if 1 <= place <= len(self.met) else None

    def local(self, ref: ItemRef) -> str:
        """The item id here.

        Raises:
            EnvelopeRefused: more devices than numbers.
        """
        if ref.device == self.own:
            return item_id(ref.number if ref.number < HALF else TURNLESS + ref.number - HALF)
        if ref.device not in self.met:
            if len(self.met) >= MOST_DEVICES:
                raise EnvelopeRefused("the account has seen too many devices")
            self.met.append(ref.device)
        return item_id(FOREIGN + (self.met.index(ref.device) + 1) * SPAN + ref.number)

    def version(self, ref: ItemRef, content: bytes) -> str:
        """The id here of another version of an item."""
        digest = hashlib.sha256(msgpack.packb([*ref]) + content).digest()
        return item_id(FOREIGN + int.from_bytes(digest[:6], "big"))

    def shared_turn(self, identifier: str) -> list[Any] | str:
        """A turn's name everywhere: [device, sequence]; other provenance stays as it is."""
        sequence = turn_sequence(identifier)
        if sequence is not None:
            return [self.own, sequence]
        found = told_on(identifier)
        return [*found] if found else identifier

    def local_turn(self, turn: tuple[str, int] | str) -> str:
        """Inverse of `shared_turn`."""
        if isinstance(turn, str):
            return turn
        device, sequence = turn
        return turn_id(sequence) if device == self.own else foreign_turn(device, sequence)


def pack_item(item: Item, names: Names) -> bytes:
    """The shared content of an item; equal for equal content."""
    subject = names.ref(item.subject) if item.kind is ItemKind.CHANGE else None
    fields = [
        item.kind.value,
        item.text,
        float(item.created),
        float(item.updated),
        [names.shared_turn(turn) for turn in item.turns],
        [*subject] if subject else item.subject,
        item.action,
        item.object,
        item.place,
        list(item.people),
        None if item.starts is None else float(item.starts),
        None if item.ends is None else float(item.ends),
        item.time_text,
        float(item.sentiment),
        float(item.confidence),
        renamed(item, _Everywhere(names)),
    ]
    return bytes(msgpack.packb(fields))


def unpack_item(content: bytes, ref: ItemRef, status: Status, names: Names) -> Item:
    """The item as it stands here, not used yet.

    Raises:
        EnvelopeRefused: not the content of an item.
    """
    (
        kind, text, created, updated, turns, subject, action, object_, place, people, starts, ends,
        time_text, sentiment, confidence, detail,
    ) = _fields(content)  # fmt: skip
    item = Item(
        id=names.local(ref),
        kind=ItemKind(kind),
        text=text,
        created=created,
        updated=updated,
        turns=tuple(names.local_turn(turn) for turn in turns),
        subject=subject if isinstance(subject, str) else names.local(ItemRef(*subject)),
        action=action,
        object=object_,
        place=place,
        people=people,
        starts=starts,
        ends=ends,
        time_text=time_text,
        sentiment=sentiment,
        confidence=confidence,
        state=status.state,
        replaced_by=names.local(status.replaced_by) if status.replaced_by else "",
        detail=detail,
    )
    if item.kind in AGENT_KINDS and not is_readable(item):
        raise EnvelopeRefused("an envelope holds what no device of this version shares")
    return replace(item, detail=renamed(item, _Here(names)))


def status_of(item: Item, names: Names) -> Status:
    """What became of the item."""
    return Status(item.state, names.ref(item.replaced_by) if item.replaced_by else None)


def _meaning(content: bytes) -> tuple[object, ...]:
    """What a reader would tell two versions apart by.

    Raises:
        EnvelopeRefused: not the content of an item.
    """
    fields = _fields(content)
    return tuple(fields[place] for place in MEANING)


def alternatives(versions: list[bytes]) -> list[bytes]:
    """The versions beside the first that say something else, each once."""
    told = {_meaning(version): version for version in reversed(versions)}
    shown = _meaning(versions[0]) if versions else ()
    return [version for meaning, version in told.items() if meaning != shown][::-1]


def _shared(device: str, number: int) -> ItemRef | None:
    if number >= TURNLESS:
        number = number - TURNLESS + HALF
        return ItemRef(device, number) if number < SPAN else None
    return ItemRef(device, number) if number < HALF else None


class _Renaming(Mapping[str, str]):
    """A mapping of ids that is computed, for `renamed`."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def _find(self, key: str) -> str | None:
        raise NotImplementedError

    def __getitem__(self, key: str) -> str:
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._find(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Everywhere(_Renaming):
    def _find(self, key: str) -> str | None:
        ref = self._names.ref(key)
        return f"{ref.device}/{ref.number}" if ref else None


class _Here(_Renaming):
    def _find(self, key: str) -> str | None:
        device, _, number = key.partition("/")
        if len(device) != 32 or not number.isdecimal() or int(number) >= SPAN:
            return None
        return self._names.local(ItemRef(device, int(number)))


Device: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Number: TypeAlias = Annotated[int, Field(ge=0, lt=SPAN)]
_Kind: TypeAlias = Annotated[str, Field(pattern=f"^({'|'.join(sorted(SHARED_KINDS))})$")]
_Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
_Turn: TypeAlias = tuple[Device, Number] | str
Fields: TypeAlias = tuple[
    _Kind, str, _Finite, _Finite, tuple[_Turn, ...], tuple[Device, Number] | str, str, str, str,
    tuple[str, ...], _Finite | None, _Finite | None, str, _Finite, _Finite, bytes,
]  # fmt: skip


@cache
def _reader() -> Callable[[object], Fields]:
    # Built when first needed: a phone in no account never pays for it.
    return TypeAdapter(Fields, config=ConfigDict(strict=True)).validate_python


def _fields(content: bytes) -> Fields:
    try:
        return _reader()(unpack(content))
    except (ValidationError, ValueError, TypeError, msgpack.UnpackException):
        raise EnvelopeRefused("an envelope holds what is no item") from None


def digest_of(content: bytes, status: Status) -> bytes:
    """What tells whether an item is still as it was: 8 bytes."""
    told = [content, status.state.value, list(status.replaced_by) if status.replaced_by else None]
    return hashlib.sha256(msgpack.packb(told)).digest()[:DIGEST_SIZE]
