"""Adoption across kills: whatever write is the last, the phone opens with one version, whole.

Every write of adopting a release and of going back is made the last one in turn, cut off before it
or in the middle of it; then power is cut at random, where what was not synced may vanish or tear.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

import numpy as np
import pytest

from device.recall import Score
from device.sync.adoption import Offer, Outcome, Shelf
from device.vault import Keyring, SealedLog, StaticProtector, Storage
from protocol.identity import SigningKey
from protocol.models import DEDUP, SPECS, initial_weights
from protocol.params import Parameters, encode_full, sha256_of
from protocol.release import BlobInfo, Manifest, seal_manifest
from tests.device.vault.power_loss import PowerLossError, PowerLossStorage
from tests.protocol.delivery import Killed, WatchedStorage

NOW = 1_780_000_000.0
KEY = SigningKey(bytes(range(32)))
TRIALS = 30
LONGEST_FUSE = 14
"""Writes; adopting three versions makes about ten."""


def _version(number: int) -> Parameters:
    rng = np.random.Generator(np.random.Philox(key=number))
    return Parameters.of(initial_weights(DEDUP, rng), DEDUP, number)


VERSIONS = {number: _version(number) for number in range(1, 5)}
HASHES = {number: sha256_of(parameters) for number, parameters in VERSIONS.items()}


def _manifest(number: int) -> bytes:
    blob = encode_full(VERSIONS[number])
    return seal_manifest(
        Manifest(
            model=DEDUP.name, version=number, parent=number - 1, sha256=HASHES[number],
            full=BlobInfo(size=len(blob), sha256=sha256(blob).digest()), differences={},
            metrics={}, epsilon=1.0, delta=1e-6, created=NOW, expires=NOW + 86_400.0,
        ),
        KEY,
    )  # fmt: skip


def _open(storage: Storage) -> Shelf:
    keyring = Keyring.open(storage, StaticProtector(b"k" * 32), os.urandom)
    return Shelf(SealedLog.open(storage, "releases", keyring, clock_now=lambda: NOW))


def _offer(shelf: Shelf, number: int) -> Offer | None:
    return shelf.offer(_manifest(number), cloud_key=KEY.public, now=NOW)


def _adopt(shelf: Shelf, number: int) -> Outcome:
    offer = _offer(shelf, number)
    assert offer is not None
    blob = encode_full(VERSIONS[number])
    return asyncio.run(shelf.consider(offer, blob, probe=lambda model, weights: Score(1.0, 0.0)))


def _whole(shelf: Shelf) -> int:
    """The version in use; it is that version in every weight."""
    parameters = shelf.adopted(DEDUP.name)
    if parameters is None:
        assert shelf.version(DEDUP.name) == 0
        assert shelf.weights(DEDUP.name) is None
        return 0
    assert sha256_of(parameters) == HASHES[parameters.version]
    weights = shelf.weights(DEDUP.name)
    assert weights is not None
    for name, array in parameters.weights().items():
        assert np.array_equal(weights[name], array)
    assert shelf.version(DEDUP.name) == parameters.version
    others = set(SPECS) - {DEDUP.name}
    assert all(shelf.version(model) == 0 for model in others)
    return parameters.version


def _with(*numbers: int) -> WatchedStorage:
    storage = WatchedStorage()
    shelf = _open(storage)
    for number in numbers:
        assert _adopt(shelf, number).adopted
    return storage


def _killed_at(
    storage: WatchedStorage, write: int, act: Callable[[Shelf], object]
) -> tuple[Shelf, bool]:
    """The shelf that the next process opens, and whether this one was killed at that write."""
    shelf = _open(storage)
    left = [write]

    def watch(what: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    storage.before_write = watch
    killed = False
    try:
        act(shelf)
    except Killed:
        killed = True
    storage.before_write = None
    return _open(storage), killed


@pytest.mark.parametrize("before", [(), (1,), (1, 2), (1, 2, 3)])
def test_a_kill_at_any_write_of_an_adoption_leaves_the_old_or_the_new(
    before: tuple[int, ...],
) -> None:
    old, new = (before[-1] if before else 0), 4
    beginning = _with(*before)
    seen: set[int] = set()
    write, killed = 0, True
    while killed:
        storage = beginning.copy()
        shelf, killed = _killed_at(storage, write, lambda shelf: _adopt(shelf, new))
        version = _whole(shelf)
        seen.add(version)
        assert version in (old, new)
        if version == old:
            assert _adopt(shelf, new).adopted, "after the kill the same release is taken"
        assert _offer(shelf, new) is None
        assert _whole(_open(storage)) == new
        write += 1
    assert write > 2
    assert seen == {old, new}, "a kill was tried on one side of the turning point only"


def test_a_kill_at_any_write_of_going_back_leaves_the_one_or_the_other() -> None:
    beginning = _with(1, 2, 3)
    seen: set[int] = set()
    write, killed = 0, True
    while killed:
        storage = beginning.copy()
        shelf, killed = _killed_at(storage, write, lambda shelf: shelf.revert(DEDUP.name))
        version = _whole(shelf)
        seen.add(version)
        assert version in (3, 2)
        if version == 3:
            assert shelf.revert(DEDUP.name) is not None
        assert _whole(shelf) == 2
        reopened = _open(storage)
        assert _whole(reopened) == 2
        assert _offer(reopened, 3) is None, "what was left is not taken again"
        assert _adopt(reopened, 4).adopted
        assert _whole(_open(storage)) == 4
        write += 1
    assert seen == {3, 2}


def test_power_losses_at_random_never_mix_versions() -> None:
    deaths = 0
    for trial in range(TRIALS):
        storage = PowerLossStorage(random.Random(trial))
        told = 0
        """The version that a call last said was adopted: it must be there after a death."""
        for _ in range(6):
            storage.fuse = storage.rng.randint(1, LONGEST_FUSE)
            with suppress(PowerLossError):
                shelf = _open(storage)
                here = _whole(shelf)
                assert here in (told, told + 1)
                told = here
                for number in range(here + 1, max(VERSIONS) + 1):
                    assert _adopt(shelf, number).adopted
                    told = number
            deaths += storage.fuse <= 0
            storage = storage.after_death()
        assert _whole(_open(storage)) >= told
    assert deaths > TRIALS
