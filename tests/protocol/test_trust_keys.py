"""Keys of the TUF roles: thresholds, theft, recovery and rotation (specification 1.5.2)."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Literal

import pytest

from protocol.metadata import (
    MetaFile,
    Timestamp,
    described,
    seal_role,
)
from protocol.trust import TrustedSet
from tests.protocol.tuf_repository import (
    EVIL,
    NAME,
    NOW,
    ONE,
    TWO,
    Repository,
    entry,
    key,
    refused,
    trusting,
)


@pytest.fixture
def repository() -> Repository:
    made = Repository()
    made.publish({NAME: entry(ONE)})
    return made


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
def test_a_key_of_another_role_is_below_the_threshold(repository: Repository, role: str) -> None:
    """Not even the key of a role above signs for a role below."""
    trusted = trusting(repository)
    repository.keys[role] = [key(7), key(0)]  # type: ignore[index]
    repository.publish({NAME: entry(EVIL)})
    assert refused(trusted, repository.newest(), NOW).reason == "threshold"


def test_key_compromise_below_the_threshold_changes_nothing() -> None:
    repository = Repository(root_keys=3, threshold=2)
    trusted = trusting(repository)
    stolen = repository.keys["root"][0]
    repository.keys = repository.keys | {"targets": [key(66)]}
    assert refused(trusted, [repository.publish_root([stolen])], NOW).reason == "threshold"


def test_one_signature_given_twice_counts_once() -> None:
    repository = Repository(root_keys=3, threshold=2)
    trusted = trusting(repository)
    forged = json.loads(repository.publish_root([repository.keys["root"][0]]))
    forged["signatures"] *= 2
    assert refused(trusted, [json.dumps(forged).encode()], NOW).reason == "malformed"
    forged["signatures"][1] = forged["signatures"][1] | {"keyid": "ab" * 32}
    assert refused(trusted, [json.dumps(forged).encode()], NOW).reason == "threshold"


def test_a_root_needs_the_thresholds_of_the_old_and_of_the_new_keys() -> None:
    repository = Repository(root_keys=3, threshold=2)
    trusted = trusting(repository)
    old, new = repository.keys["root"], [key(n) for n in (10, 11, 12)]
    repository.keys["root"] = new
    for signers in (new, old, [*old[:1], *new], [*old, *new[:1]]):
        repository.versions["root"] = 1
        assert refused(trusted, [repository.publish_root(signers)], NOW).reason == "threshold"
    repository.versions["root"] = 1
    trusted.update([repository.publish_root([*old[1:], *new[1:]])], NOW)
    assert trusted.versions()["root"] == 2


def test_recovery_from_key_compromise_by_root_rotation(repository: Repository) -> None:
    """A thief of the timestamp key locks phones out with a version of 2^53; a new root ends it."""
    trusted = trusting(repository)
    thief = repository.keys["timestamp"][0]
    issued, expires = repository.dates("timestamp")
    named = described(repository.files["snapshot"], 2)
    meta: dict[Literal["snapshot.json"], MetaFile] = {"snapshot.json": named}
    highest = Timestamp(version=2**53, issued=issued, expires=expires, meta=meta)
    trusted.update([seal_role(highest, [thief])], NOW)
    repository.publish({NAME: entry(TWO)})
    assert refused(trusted, repository.newest(), NOW).reason == "rollback"
    repository.keys["timestamp"] = [key(200)]
    repository.publish_root()
    repository.publish_timestamp()
    trusted.update(repository.all(1), NOW)
    assert trusted.allows(NAME, sha256(TWO).digest(), len(TWO))
    again = Timestamp(version=2**53 - 1, issued=issued, expires=expires, meta=meta)
    assert refused(trusted, [seal_role(again, [thief])], NOW).reason == "threshold"


def test_a_rotation_of_each_role_leads_on(repository: Repository) -> None:
    trusted = trusting(repository)
    for number, role in enumerate(("root", "timestamp", "snapshot", "targets"), 1):
        old = repository.keys["root"]
        repository.keys[role] = [key(300 + number)]  # type: ignore[index]
        repository.publish_root([*old, *repository.keys["root"]][-2:] if role == "root" else old)
        trusted.update([repository.roots[-1]], NOW)
        repository.publish({NAME: entry(b"%d" % number)})
        trusted.update(repository.newest(), NOW)
        assert trusted.allows(NAME, sha256(b"%d" % number).digest(), 1)
    assert trusted.versions()["root"] == 5


def test_after_a_rotation_nothing_is_allowed_until_the_new_keys_have_signed(
    repository: Repository,
) -> None:
    for role in ("timestamp", "snapshot", "targets"):
        repository.publish()
        trusted = trusting(repository)
        repository.keys[role] = [key(400)]
        root = repository.publish_root()
        trusted.update([root], NOW)
        assert not trusted.allows(NAME, sha256(ONE).digest(), len(ONE))
        trusted.update([], NOW)
        assert refused(trusted, repository.newest(), NOW).reason == "threshold"


def test_after_a_rotation_of_targets_an_older_version_is_still_a_rollback(
    repository: Repository,
) -> None:
    """The snapshot's word on targets outlives the file that it spoke of."""
    trusted = trusting(repository)
    repository.keys["targets"] = [key(401)]
    trusted.update([repository.publish_root()], NOW)
    repository.versions["targets"] = 0
    repository.publish({NAME: entry(TWO)})
    assert refused(trusted, repository.newest(), NOW).reason == "rollback"


def test_the_first_root_is_the_pinned_one(repository: Repository) -> None:
    stranger = Repository(root_keys=2)
    trusted = TrustedSet({}, repository.pin)
    assert refused(trusted, stranger.all(), NOW).reason == "threshold"
    assert refused(trusted, [], NOW).reason == "threshold"
    repository.publish_root()
    later = sha256(repository.roots[1]).hexdigest()
    trusted = TrustedSet({}, later)
    trusted.update(repository.all(), NOW)
    assert trusted.versions()["root"] == 2
    first_use = TrustedSet({})
    first_use.update(stranger.all(), NOW)
    assert first_use.versions()["root"] == 1
