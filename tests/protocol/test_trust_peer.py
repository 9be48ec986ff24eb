"""python-tuf reads what we write, and its own client takes and refuses what ours does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tuf.api.exceptions import EqualVersionNumberError, RepositoryError
from tuf.api.metadata import Metadata, Root, Targets  # type: ignore[attr-defined]
from tuf.api.serialization.json import CanonicalJSONSerializer
from tuf.ngclient._internal.trusted_metadata_set import TrustedMetadataSet
from tuf.ngclient.config import EnvelopeType

from protocol.metadata import Custom, MetadataRefused, open_role
from protocol.trust import TrustedSet
from tests.protocol.tuf_repository import DAY, NOW, Repository, entry, key

NAME = "models/router/1"


def peer_takes(state: dict[str, bytes], roots: list[bytes], files: list[bytes], at: float) -> bool:
    """Whether python-tuf's client, holding `state`, accepts the files as a full refresh."""
    peer = TrustedMetadataSet(state.get("root") or roots[0], EnvelopeType.METADATA)
    peer.reference_time = datetime.fromtimestamp(at, UTC)
    try:
        for root in roots if "root" in state else roots[1:]:
            peer.update_root(root)
        for data in ([state["timestamp"]] if "timestamp" in state else []) + files[:1]:
            _leniently(peer.update_timestamp, data, last=data is files[0])
        for data in ([state["snapshot"]] if "snapshot" in state else []) + files[1:2]:
            _leniently(peer.update_snapshot, data, last=data is files[1])
        peer.update_targets(files[2])
    except RepositoryError:
        return False
    return True


def _leniently(take: Callable[[bytes], object], data: bytes, *, last: bool) -> None:
    """What was held may be expired or superseded; as its updater does, the peer goes on."""
    try:
        take(data)
    except EqualVersionNumberError:
        pass
    except RepositoryError:
        if last:
            raise


def test_every_file_is_read_and_verified_by_python_tuf() -> None:
    repository = Repository(root_keys=3, threshold=2)
    repository.publish({NAME: entry(b"one", Custom(percent=10, withdrawn=(3,)))})
    root = Metadata[Root].from_bytes(repository.roots[0])
    root.signed.verify_delegate("root", root.signed_bytes, root.signatures)
    for role, data in repository.files.items():
        read = Metadata.from_bytes(data)
        root.signed.verify_delegate(role, read.signed_bytes, read.signatures)
        assert CanonicalJSONSerializer().serialize(read.signed) == open_role(data).message
    targets = Metadata[Targets].from_bytes(repository.files["targets"]).signed.targets
    targets[NAME].verify_length_and_hashes(b"one")
    assert targets[NAME].custom == {"percent": 10, "withdrawn": [3]}


def history() -> tuple[Repository, list[dict[str, bytes]]]:
    repository = Repository()
    moments = []
    for number in range(1, 5):
        repository.now = NOW + number * DAY
        repository.publish({NAME: entry(b"%d" % number)})
        moments.append({str(role): data for role, data in repository.files.items()})
    thief = Repository()
    thief.now = repository.now
    thief.keys = thief.keys | {"snapshot": [key(9)]}
    thief.versions = dict(repository.versions)
    thief.publish({NAME: entry(b"evil")})
    return repository, [*moments, {str(role): data for role, data in thief.files.items()}]


REPOSITORY, MOMENTS = history()
moment = st.integers(0, len(MOMENTS) - 1)
together = moment.map(lambda at: (at, at, at))


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(together | st.tuples(moment, moment, moment), st.integers(0, 12)), max_size=5
    )
)
def test_the_peers_client_takes_and_refuses_the_same(
    offers: list[tuple[tuple[int, int, int], int]],
) -> None:
    trusted = TrustedSet({}, REPOSITORY.pin)
    for (timestamp, snapshot, targets), days in offers:
        files = [
            MOMENTS[timestamp]["timestamp"],
            MOMENTS[snapshot]["snapshot"],
            MOMENTS[targets]["targets"],
        ]
        at = NOW + (4 + days) * DAY
        roots = [] if trusted.state else REPOSITORY.roots
        expected = peer_takes(trusted.state, roots, files, trusted.time(at))
        try:
            trusted.update([*roots, *files], at)
            taken = True
        except MetadataRefused:
            taken = False
        assert taken == expected


@pytest.mark.parametrize("stolen", [1, 2])
def test_the_peer_agrees_on_who_may_change_root(stolen: int) -> None:
    repository = Repository(root_keys=3, threshold=2)
    peer = TrustedMetadataSet(repository.roots[0], EnvelopeType.METADATA)
    trusted = TrustedSet({}, sha256(repository.roots[0]).hexdigest())
    peer.reference_time = datetime.fromtimestamp(NOW, UTC)
    trusted.update(repository.all(), NOW)
    forged = repository.publish_root(repository.keys["root"][:stolen])
    if stolen == 2:
        peer.update_root(forged)
        trusted.update([forged], NOW)
        return
    with pytest.raises(RepositoryError):
        peer.update_root(forged)
    with pytest.raises(MetadataRefused):
        trusted.update([forged], NOW)
