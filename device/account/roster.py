"""Who is in the account: devices added and removed, merged without a referee.

A device stands under its id with a generation: adding it again after a removal takes the next one.
Of two entries the higher generation holds, and within one generation *removed* does; so devices
that add and remove at once come to the same list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from device.account.errors import UnknownDevice
from protocol.mail import DEVICE_SIZE, MAX_MEMBERS, RosterEntry

__all__ = ["MAX_NAME", "Member", "Roster", "device_id_of"]

MAX_NAME = 32
"""Characters of a device's name."""


@dataclass(frozen=True, slots=True)
class Member:
    """One device of the account, in it or removed from it."""

    device: str
    """32 hex digits, from its signing key."""
    sign_key: bytes
    """Ed25519: what it sends is signed with it."""
    box_key: bytes
    """X25519: new account keys are sealed to it."""
    name: str
    generation: int = 1
    removed: bool = False

    @property
    def _standing(self) -> tuple[int, bool, bytes, str]:
        # Keys and name last: a device that changed them within a generation still merges one way.
        return (self.generation, self.removed, self.box_key, self.name)


class Roster:
    """The devices of an account, immutable."""

    def __init__(self, members: Iterable[Member] = ()) -> None:
        self._members: dict[str, Member] = {}
        for member in members:
            held = self._members.get(member.device)
            if held is None or member._standing > held._standing:
                self._members[member.device] = member

    def __iter__(self) -> Iterator[Member]:
        """Every member, removed ones included, by id."""
        return iter(self._members[device] for device in sorted(self._members))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Roster) and self._members == other._members

    def __hash__(self) -> int:
        return hash(tuple(self))

    @property
    def active(self) -> Mapping[str, Member]:
        """The members that are in the account, by id."""
        return {member.device: member for member in self if not member.removed}

    @property
    def removed(self) -> frozenset[str]:
        """Ids of the members that are out."""
        return frozenset(member.device for member in self if member.removed)

    def merged(self, other: Roster) -> Roster:
        """The roster that both agree on; never more than the cloud allows."""
        both = Roster((*self, *other))
        return both if len(both._members) <= MAX_MEMBERS else self

    def with_member(self, member: Member) -> Roster:
        """The roster with a device added, or added again."""
        held = self._members.get(member.device)
        if held is not None:
            again = held.generation + 1 if held.removed else held.generation
            member = replace(member, generation=again, removed=False)
        return Roster([*(m for m in self if m.device != member.device), member])

    def without(self, device: str) -> Roster:
        """The roster with a device removed.

        Raises:
            UnknownDevice: it is not in the account.
        """
        if device not in self.active:
            raise UnknownDevice
        return self.merged(Roster([replace(self._members[device], removed=True)]))

    def entries(self) -> list[RosterEntry]:
        """What the cloud is told: ids only."""
        return [RosterEntry(bytes.fromhex(m.device), m.generation, m.removed) for m in self]


def device_id_of(sign_key: bytes) -> str:
    """A device's id follows from its key, as the cloud derives it."""
    return hashlib.sha256(sign_key).digest()[:DEVICE_SIZE].hex()
