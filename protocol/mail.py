"""What the cloud may read of account mail: where it goes and who numbered it; the rest is sealed.

A letter is a head, then bytes that only the devices of the account can open. Three kinds share one
mailbox, so that the wire needs one message for each direction:

| kind | name    | address              | rest                                                    |
|------|--------|----------------------|---------------------------------------------------------|
| 0    | sealed  | account id           | ciphertext and the sender's signature                   |
| 1    | roster  | account id           | device ids that are in, and that are out, of the account |
| 2    | pairing | slot named by a code | one side's sealed half of a pairing                     |

| bytes | field                                                        |
|-------|--------------------------------------------------------------|
| 4     | ``RVM1``                                                     |
| 1     | kind                                                         |
| 16    | address                                                      |
| 16    | sender: the device id                                        |
| 8     | counter, big-endian: the sender's number for it, never twice |

`(address, sender, counter)` names a letter: posted again it is the same letter.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from protocol.errors import FrameTooLarge, MalformedFrame
from protocol.packing import KIB

__all__ = [
    "ADDRESS_SIZE",
    "DEVICE_SIZE",
    "HEAD_SIZE",
    "MAX_LETTER",
    "MAX_MEMBERS",
    "Letter",
    "LetterKind",
    "RosterEntry",
    "pack_roster",
    "read_letter",
    "read_roster",
]

MAX_LETTER = 64 * KIB
"""Bytes of one letter, its head included."""
MAX_PAIRING = 4 * KIB
MAX_MEMBERS = 64
"""Devices an account ever has, removed ones included."""
ADDRESS_SIZE = 16
DEVICE_SIZE = 16
MAX_COUNTER = (1 << 63) - 1
_MAGIC = b"RVM1"
_HEAD = struct.Struct(">4sB16s16sQ")
HEAD_SIZE = _HEAD.size
_ENTRY = struct.Struct(">16sIB")


class LetterKind(IntEnum):
    """What a letter is."""

    SEALED = 0
    ROSTER = 1
    PAIRING = 2


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter as the cloud sees it."""

    kind: LetterKind
    address: bytes
    """16 bytes: the account, or the slot of a pairing."""
    sender: bytes
    """16 bytes."""
    counter: int
    rest: bytes

    @property
    def head(self) -> bytes:
        """The bytes before ``rest``: authenticated with it where it is sealed."""
        return _HEAD.pack(_MAGIC, self.kind, self.address, self.sender, self.counter)

    def pack(self) -> bytes:
        """The letter as it travels."""
        return self.head + self.rest


def read_letter(data: bytes) -> Letter:
    """A letter's head.

    Raises FrameTooLarge over 64 KiB (a pairing: 4 KiB), MalformedFrame for what is no letter.
    """
    if len(data) > MAX_LETTER:
        raise FrameTooLarge(f"{len(data)} bytes, at most {MAX_LETTER} are allowed")
    if len(data) < HEAD_SIZE:
        raise MalformedFrame("too short for a letter")
    magic, kind, address, sender, counter = _HEAD.unpack_from(data)
    if magic != _MAGIC or kind not in (0, 1, 2) or not 0 < counter <= MAX_COUNTER:
        raise MalformedFrame("not a letter")
    if kind == LetterKind.PAIRING and len(data) > MAX_PAIRING:
        raise FrameTooLarge(f"{len(data)} bytes, at most {MAX_PAIRING} are allowed in a pairing")
    return Letter(LetterKind(kind), address, sender, counter, data[HEAD_SIZE:])


@dataclass(frozen=True, slots=True)
class RosterEntry:
    """Whether a device is in the account: the higher `generation` holds, then *removed*."""

    device: bytes
    """16 bytes."""
    generation: int
    removed: bool


def pack_roster(entries: list[RosterEntry]) -> bytes:
    """What the cloud is told of an account's devices: ids only."""
    return b"".join(_ENTRY.pack(e.device, e.generation, e.removed) for e in entries)


def read_roster(data: bytes) -> list[RosterEntry]:
    """Inverse of `pack_roster`.

    Raises MalformedFrame for anything else, or more than 64 entries.
    """
    count, left = divmod(len(data), _ENTRY.size)
    if left or not 1 <= count <= MAX_MEMBERS:
        raise MalformedFrame("not a roster")
    rows = list(_ENTRY.iter_unpack(data))
    if any(flag > 1 for _, _, flag in rows) or len({device for device, _, _ in rows}) != count:
        raise MalformedFrame("not a roster")
    return [RosterEntry(device, generation, bool(flag)) for device, generation, flag in rows]
