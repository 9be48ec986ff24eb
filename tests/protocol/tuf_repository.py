"""A repository of role files, signed as a test wants them: after python-tuf's RepositorySimulator,
so that an attack is a few lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

import pytest

from protocol.identity import SigningKey
from protocol.metadata import (
    ROLES,
    Custom,
    MetadataRefused,
    Role,
    RoleRule,
    Root,
    Snapshot,
    Target,
    Targets,
    Timestamp,
    described,
    key_id,
    public_keys,
    seal_role,
    target,
    utc_text,
)
from protocol.trust import TrustedSet

DAY = 86_400.0
NOW = 1_800_000_000.0
ONE, TWO, EVIL = b"the manifest of version 1", b"the manifest of version 2", b"not the cloud's"
NAME = "models/router/1"


def key(number: int) -> SigningKey:
    """The same key for the same number."""
    return SigningKey(sha256(f"key {number}".encode()).digest())


def entry(data: bytes, custom: Custom | None = None) -> Target:
    """A target that is this file."""
    return target(len(data), sha256(data).digest(), custom)


class Repository:
    """Publishes versions one after the other; the newest file of each role is in ``files``."""

    def __init__(self, now: float = NOW, root_keys: int = 1, threshold: int = 1) -> None:
        self.now = now
        self.keys: dict[Role, list[SigningKey]] = {
            "root": [key(n) for n in range(root_keys)],
            "timestamp": [key(101)],
            "snapshot": [key(102)],
            "targets": [key(103)],
        }
        self.thresholds: dict[Role, int] = dict.fromkeys(ROLES, 1) | {"root": threshold}
        self.versions: dict[Role, int] = dict.fromkeys(ROLES, 0)
        self.good_for: dict[Role, float] = {
            "root": 365 * DAY,
            "timestamp": 7 * DAY,
            "snapshot": 30 * DAY,
            "targets": 90 * DAY,
        }
        self.listed: dict[str, Target] = {}
        self.roots: list[bytes] = []
        self.files: dict[Role, bytes] = {}
        self.publish_root()
        self.publish()

    def publish_root(self, signers: Sequence[SigningKey] | None = None) -> bytes:
        """The next root, signed by the keys it names and by those of the one before."""
        rules = {
            role: RoleRule(
                keyids=tuple(key_id(one.public) for one in self.keys[role]),
                threshold=self.thresholds[role],
            )
            for role in ROLES
        }
        everyone = {one.public for keys in self.keys.values() for one in keys}
        self.versions["root"] += 1
        root = Root(
            version=self.versions["root"],
            issued=utc_text(self.now),
            expires=utc_text(self.now + self.good_for["root"]),
            keys=public_keys(everyone),
            roles=rules,
        )
        data = seal_role(root, self.keys["root"] if signers is None else signers)
        self.roots.append(data)
        return data

    def publish(self, listed: Mapping[str, Target] | None = None) -> None:
        """New targets, snapshot and timestamp."""
        if listed is not None:
            self.listed = dict(listed)
        self.publish_targets()
        self.publish_snapshot()
        self.publish_timestamp()

    def publish_targets(self) -> None:
        self.versions["targets"] += 1
        issued, expires = self.dates("targets")
        signed = Targets(
            version=self.versions["targets"], issued=issued, expires=expires, targets=self.listed
        )
        self.files["targets"] = seal_role(signed, self.keys["targets"])

    def publish_snapshot(self) -> None:
        self.versions["snapshot"] += 1
        issued, expires = self.dates("snapshot")
        meta = described(self.files["targets"], self.versions["targets"])
        signed = Snapshot(
            version=self.versions["snapshot"],
            issued=issued,
            expires=expires,
            meta={"targets.json": meta},
        )
        self.files["snapshot"] = seal_role(signed, self.keys["snapshot"])

    def publish_timestamp(self) -> None:
        self.versions["timestamp"] += 1
        issued, expires = self.dates("timestamp")
        meta = described(self.files["snapshot"], self.versions["snapshot"])
        signed = Timestamp(
            version=self.versions["timestamp"],
            issued=issued,
            expires=expires,
            meta={"snapshot.json": meta},
        )
        self.files["timestamp"] = seal_role(signed, self.keys["timestamp"])

    def dates(self, role: Role) -> tuple[str, str]:
        """When a file of this role is issued, and when it expires."""
        return utc_text(self.now), utc_text(self.now + self.good_for[role])

    def all(self, roots_after: int = 0) -> list[bytes]:
        """What a client with this root version is sent."""
        return [*self.roots[roots_after:], *self.newest()]

    def newest(self) -> list[bytes]:
        """The newest timestamp, snapshot and targets."""
        return [self.files["timestamp"], self.files["snapshot"], self.files["targets"]]

    @property
    def pin(self) -> str:
        """Hash of the first root."""
        return sha256(self.roots[0]).hexdigest()


def trusting(repository: Repository, now: float = NOW) -> TrustedSet:
    """A client that has taken everything there is."""
    trusted = TrustedSet({}, repository.pin)
    trusted.update(repository.all(), now)
    return trusted


def refused(trusted: TrustedSet, files: Sequence[bytes], now: float) -> MetadataRefused:
    """Why the files are refused; the set must be what it was."""
    before = trusted.state
    with pytest.raises(MetadataRefused) as caught:
        trusted.update(files, now)
    assert trusted.state == before
    return caught.value
