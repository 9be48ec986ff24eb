"""What a device knows of its account besides the items: keys, members, numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgpack
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from device.account.counting import Received
from device.account.hlc import ZERO, Hlc
from device.account.roster import Member, Roster
from device.account.sealing import Epoch

__all__ = ["Profile", "pack_profile", "unpack_profile"]

KEPT_EPOCHS = 4
"""Keys kept to open what was sealed before a rotation and is still on its way."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Immutable; changed with `dataclasses.replace` and kept by the store."""

    account: bytes
    """16 bytes."""
    device: str
    """This device, 32 hex digits."""
    box_seed: bytes
    """The X25519 key new account keys are sealed to."""
    roster: Roster
    epochs: tuple[Epoch, ...]
    """The key in use first, then those before it."""
    met: tuple[str, ...] = ()
    """Other devices whose items are here, in the order met: it numbers their items."""
    clock: Hlc = ZERO
    dots: int = 0
    """Counter of this device's newest write."""
    letters: int = 0
    """Number of its newest letter."""
    news: int = 0
    """Number of its newest letter that carried items."""
    cursor: int = 0
    """Mailbox sequence collected so far."""
    received: Mapping[str, Received] = field(default_factory=dict)
    """What has come of each other device."""
    arrived: Mapping[str, Received] = field(default_factory=dict)
    """What each other device has of this one, by its own word."""
    keyed: frozenset[str] = frozenset()
    """Devices that have shown they hold the key in use."""
    posted_at: float = 0.0
    """When the newest letter was made, unix seconds."""
    owed: bool = False
    """Whether the others wait for word: members or keys changed, or news came unconfirmed."""
    urgent: bool = False
    """…and are not to wait for the next interval."""

    @property
    def epoch(self) -> Epoch:
        """The key in use."""
        return self.epochs[0]

    @property
    def box_key(self) -> X25519PrivateKey:
        """The secret half of this device's box key."""
        return X25519PrivateKey.from_private_bytes(self.box_seed)

    @property
    def peers(self) -> Mapping[str, Member]:
        """The other devices of the account."""
        return {d: m for d, m in self.roster.active.items() if d != self.device}

    def with_epoch(self, epoch: Epoch) -> Profile:
        """With a key that was given to this device; the greatest is used."""
        same = next((e for e in self.epochs if e.order == epoch.order), None)
        if same is not None:
            epoch = replace(same, holders=same.holders | epoch.holders)
        others = [e for e in self.epochs if e.order != epoch.order]
        epochs = sorted([*others, epoch], key=lambda e: e.order, reverse=True)[:KEPT_EPOCHS]
        keyed = self.keyed if epochs[0].order == self.epoch.order else frozenset[str]()
        return replace(self, epochs=tuple(epochs), keyed=keyed)


def pack_profile(profile: Profile) -> bytes:
    """The profile as it lies in the sealed log."""
    return bytes(
        msgpack.packb(
            [
                profile.account,
                profile.device,
                profile.box_seed,
                [[m.device, m.sign_key, m.box_key, m.name, m.generation, m.removed]
                 for m in profile.roster],
                [[e.number, e.key, sorted(e.holders)] for e in profile.epochs],
                profile.met,
                profile.clock,
                profile.dots,
                profile.letters,
                profile.news,
                profile.cursor,
                _rows(profile.received),
                _rows(profile.arrived),
                sorted(profile.keyed),
                profile.posted_at,
                profile.owed,
                profile.urgent,
            ]
        )
    )  # fmt: skip


def unpack_profile(packed: bytes) -> Profile:
    """Inverse of `pack_profile`."""
    values: list[Any] = list(msgpack.unpackb(packed, use_list=False))
    values[3] = Roster(Member(*row) for row in values[3])
    values[4] = tuple(Epoch(number, key, frozenset(to)) for number, key, to in values[4])
    values[6] = Hlc(*values[6])
    values[11], values[12] = _received(values[11]), _received(values[12])
    values[13] = frozenset(values[13])
    return Profile(*values)


def _rows(received: Mapping[str, Received]) -> list[Any]:
    return [[device, one.floor, one.runs] for device, one in received.items()]


def _received(rows: Any) -> dict[str, Received]:
    return {device: Received(floor, runs) for device, floor, runs in rows}
