"""A phone takes what the trusted targets list, at its stage, and can go back."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import pytest

from device.recall import Score
from device.sync.adoption import Outcome, Shelf
from device.sync.trusting import Trust
from device.vault import SealedLog
from protocol.errors import ReleaseRefused
from protocol.identity import SigningKey
from protocol.metadata import Custom, MetadataRefused
from protocol.params import Parameters, encode_full, sha256_of
from protocol.release import in_cohort
from tests.device.sync.conftest import NOW, Vault
from tests.device.sync.test_adoption import manifest, parameters
from tests.protocol.tuf_repository import DAY, Repository, entry, key

PHONE = "phone-1"


class Cloud:
    """Signs manifests and lists them; what a phone would be sent over a channel."""

    def __init__(self, signing_key: SigningKey) -> None:
        self.key = signing_key
        self.repository = Repository(NOW)
        self.manifests: dict[int, bytes] = {}
        self.withdrawn: tuple[int, ...] = ()

    def release(self, *versions: int, percent: int = 100) -> None:
        """List these versions; the last may be staged."""
        listed = {}
        for version in versions:
            blob = manifest(parameters(version), self.key, expires=NOW + 90 * DAY)
            self.manifests[version] = blob
            last = version == versions[-1]
            custom = Custom(percent=percent if last else 100, withdrawn=self.withdrawn)
            listed[f"models/dedup/{version}"] = entry(blob, custom)
        self.repository.publish(listed)

    def files(self, shelf: Shelf) -> list[bytes]:
        held = shelf.trusted()
        if held.get("timestamp") == self.repository.versions["timestamp"]:
            return []
        return self.repository.all(held.get("root", 0))

    async def sync(
        self, shelf: Shelf, version: int, *, now: float = NOW, proven: bool = True
    ) -> Outcome | None:
        """One session: role files, then the manifest of `version`, then its blob."""
        shelf.trust(self.files(shelf), now=now, proven=proven)
        offer = shelf.offer(
            self.manifests[version], cloud_key=self.key.public, now=now, device_id=PHONE
        )
        if offer is None:
            return None
        return await shelf.consider(
            offer, encode_full(parameters(version)), probe=lambda model, weights: Score(1.0, 0.0)
        )


@pytest.fixture
def cloud(cloud_key: SigningKey) -> Cloud:
    made = Cloud(cloud_key)
    made.release(1)
    return made


OpenShelf = Callable[..., Shelf]


@pytest.fixture
def open_shelf(vault: Vault, cloud: Cloud) -> OpenShelf:
    """A shelf, as after a restart each time; with the cloud's root pinned unless told."""

    def made(pin: str | None = None) -> Shelf:
        return Shelf(vault.log("releases"), cloud.repository.pin if pin is None else pin)

    return made


async def test_a_listed_manifest_is_adopted_and_trust_survives_a_restart(
    cloud: Cloud, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf()
    outcome = await cloud.sync(shelf, 1)
    assert outcome is not None
    assert outcome.adopted
    assert shelf.trusted() == {"root": 1, "timestamp": 2, "snapshot": 2, "targets": 2}
    again = open_shelf()
    assert again.trusted() == shelf.trusted()
    assert cloud.files(again) == []
    cloud.release(2)
    outcome = await cloud.sync(again, 2)
    assert outcome is not None
    assert outcome.adopted


async def test_a_signed_manifest_that_is_not_listed_is_refused(
    cloud: Cloud, open_shelf: OpenShelf
) -> None:
    """Whoever has the cloud's signing key alone cannot make phones install anything."""
    shelf = open_shelf()
    await cloud.sync(shelf, 1)
    cloud.manifests[2] = manifest(parameters(2), cloud.key)
    with pytest.raises(ReleaseRefused) as refused:
        await cloud.sync(shelf, 2)
    assert refused.value.reason == "unlisted"
    assert shelf.version("dedup") == 1


async def test_a_pinned_phone_takes_nothing_from_a_cloud_without_role_files(
    cloud: Cloud, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf()
    assert shelf.trust([], now=NOW, proven=True) == []
    with pytest.raises(ReleaseRefused, match="unlisted"):
        shelf.offer(cloud.manifests[1], cloud_key=cloud.key.public, now=NOW)
    assert shelf.allows is not None
    assert not shelf.allows("models/dedup/1", bytes(32), 1)


async def test_the_first_root_is_trusted_on_first_use_from_a_proven_server_only(
    cloud: Cloud, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf("")
    assert shelf.allows is None
    shelf.trust(cloud.files(shelf), now=NOW, proven=False)
    assert shelf.trusted() == {}
    outcome = await cloud.sync(shelf, 1, proven=True)
    assert outcome is not None
    assert shelf.trusted()["root"] == 1
    cloud.manifests[2] = manifest(parameters(2), cloud.key)
    again = open_shelf("")
    with pytest.raises(ReleaseRefused, match="unlisted"):
        again.offer(cloud.manifests[2], cloud_key=cloud.key.public, now=NOW)
    stranger = Cloud(cloud.key)
    stranger.repository = Repository(NOW, root_keys=2)
    stranger.release(2)
    with pytest.raises(MetadataRefused):
        again.trust(stranger.repository.all(1), now=NOW, proven=True)


async def test_without_role_files_and_pin_the_signature_is_all_there_is(
    cloud: Cloud, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf("")
    shelf.trust([], now=NOW, proven=False)
    offer = shelf.offer(cloud.manifests[1], cloud_key=cloud.key.public, now=NOW)
    assert offer is not None


async def test_another_pin_begins_anew(cloud: Cloud, open_shelf: OpenShelf) -> None:
    await cloud.sync(open_shelf(), 1)
    other = Repository(NOW, root_keys=2)
    moved = open_shelf(other.pin)
    assert moved.trusted() == {}
    moved.trust(other.all(), now=NOW, proven=True)
    assert open_shelf(other.pin).trusted()["root"] == 1


async def test_refused_role_files_leave_all_as_it_was(cloud: Cloud, open_shelf: OpenShelf) -> None:
    shelf = open_shelf()
    await cloud.sync(shelf, 1)
    before = shelf.trusted()
    cloud.repository.keys["targets"] = [key(666)]
    cloud.release(2)
    with pytest.raises(MetadataRefused) as refused:
        shelf.trust(cloud.files(shelf), now=NOW, proven=True)
    assert refused.value.reason == "threshold"
    assert (shelf.trusted(), open_shelf().trusted()) == (before, before)


async def test_a_frozen_phone_takes_nothing(cloud: Cloud, open_shelf: OpenShelf) -> None:
    shelf = open_shelf()
    await cloud.sync(shelf, 1)
    with pytest.raises(MetadataRefused) as refused:
        shelf.trust([], now=NOW + 8 * DAY, proven=True)
    assert refused.value.reason == "freeze"


async def test_the_clock_of_a_manifest_is_the_newest_signed_time(
    cloud: Cloud, open_shelf: OpenShelf
) -> None:
    """A clock set back by a year still takes what the cloud made today."""
    shelf = open_shelf()
    await cloud.sync(shelf, 1)
    cloud.release(2)
    outcome = await cloud.sync(shelf, 2, now=NOW - 365 * DAY)
    assert outcome is not None
    assert outcome.adopted


async def test_a_phone_waits_for_its_stage(cloud: Cloud, open_shelf: OpenShelf) -> None:
    shelf = open_shelf()
    await cloud.sync(shelf, 1)
    version = next(n for n in range(2, 99) if not in_cohort(PHONE, "dedup", n, 10))
    cloud.release(1, version, percent=10)
    assert await cloud.sync(shelf, version) is None
    assert shelf.last_outcome("dedup") == Outcome("dedup", 1, True, "", 1.0)
    cloud.release(1, version, percent=100)
    outcome = await cloud.sync(shelf, version)
    assert outcome is not None
    assert outcome.adopted


def same(shelf: Shelf, version: int) -> bool:
    adopted = shelf.adopted("dedup")
    wanted: Parameters = parameters(version)
    return adopted is not None and sha256_of(adopted) == sha256_of(wanted)


async def test_a_withdrawn_release_is_left_for_the_one_before(
    cloud: Cloud, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf()
    await cloud.sync(shelf, 1)
    cloud.release(1, 2)
    await cloud.sync(shelf, 2)
    assert shelf.version("dedup") == 2
    cloud.withdrawn = (2,)
    cloud.release(1)
    (left,) = shelf.trust(cloud.files(shelf), now=NOW, proven=True)
    assert left == Outcome("dedup", 2, False, "withdrawn by the cloud", 1.0, tried=False)
    assert same(shelf, 1)
    assert shelf.trust([], now=NOW, proven=True) == []
    reopened = open_shelf()
    assert same(reopened, 1)
    assert reopened.last_outcome("dedup") == left
    cloud.release(1, 3)
    assert await cloud.sync(reopened, 1) is None
    outcome = await cloud.sync(reopened, 3)
    assert outcome is not None
    assert same(open_shelf(), 3)


async def test_a_withdrawn_first_release_leaves_none_and_an_older_one_is_taken(
    cloud: Cloud, open_shelf: OpenShelf
) -> None:
    cloud.release(1, 2)
    shelf = open_shelf()
    await cloud.sync(shelf, 2)
    cloud.withdrawn = (2,)
    cloud.release(1)
    shelf.trust(cloud.files(shelf), now=NOW, proven=True)
    for shelf_now in (shelf, open_shelf()):
        assert shelf_now.adopted("dedup") is None
        assert shelf_now.weights("dedup") is None
        assert shelf_now.have() == {"router": 0, "dedup": 0}
    outcome = await cloud.sync(shelf, 1)
    assert outcome is not None
    assert same(shelf, 1)


async def test_the_owner_reverts_once_and_is_not_offered_the_same_again(
    cloud: Cloud, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf()
    assert shelf.revert("dedup") is None
    await cloud.sync(shelf, 1)
    assert shelf.revert("dedup") is None
    for version in (2, 3):
        cloud.release(version)
        await cloud.sync(shelf, version)
    reverted = shelf.revert("dedup")
    assert reverted == Outcome(
        "dedup", 3, False, "put back by this phone's owner", 1.0, tried=False
    )
    for shelf_now in (shelf, open_shelf()):
        assert same(shelf_now, 2)
        assert shelf_now.revert("dedup") is None, "one version is kept, no more"
        assert await cloud.sync(shelf_now, 3) is None


async def test_a_death_before_the_erasure_leaves_the_older_ones_in_use(
    cloud: Cloud, open_shelf: OpenShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = open_shelf()
    await cloud.sync(shelf, 1)
    cloud.release(2)
    await cloud.sync(shelf, 2)

    def die(*_: object) -> int:
        raise OSError("power went out")

    with monkeypatch.context() as patch:
        patch.setattr(SealedLog, "erase", die)
        with pytest.raises(OSError, match="power went out"):
            shelf.revert("dedup")
    assert same(open_shelf(), 1)


async def test_only_two_versions_are_kept(
    cloud: Cloud, open_shelf: OpenShelf, vault: Vault
) -> None:
    shelf = open_shelf()
    sizes = []
    for version in range(1, 7):
        cloud.release(version)
        await cloud.sync(shelf, version)
        sizes.append(len(vault.bytes_stored()))
    assert sizes[-1] < 1.2 * sizes[1]


def test_trust_asks_nothing_before_it_has_a_root() -> None:
    trust = Trust()
    assert not trust.required
    assert trust.versions() == {}
    assert trust.time(5.0) == 5.0
    assert trust.check("models/dedup/1", b"any") is None
    assert trust.withdrawn("dedup") == frozenset()
    assert not trust.allows("models/dedup/1", sha256(b"any").digest(), 3)
