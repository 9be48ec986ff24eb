"""The attacks of the TUF specification (1.5.2), by name, each refused for its own reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.metadata import (
    MAX_FILE,
    Custom,
    MetadataRefused,
)
from protocol.trust import CLOCK_SLACK, MAX_FILES, MAX_UPDATE, TrustedSet
from tests.protocol.tuf_repository import (
    DAY,
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


def test_what_the_targets_list_is_allowed_and_nothing_else(repository: Repository) -> None:
    trusted = trusting(repository)
    digest = sha256(ONE).digest()
    assert trusted.allows(NAME, digest, len(ONE))
    assert not trusted.allows("models/router/2", digest, len(ONE))
    assert not trusted.allows(NAME, digest, len(ONE) + 1)
    assert trusted.versions() == {"root": 1, "timestamp": 2, "snapshot": 2, "targets": 2}


def test_arbitrary_software_is_not_allowed(repository: Repository) -> None:
    assert not trusting(repository).allows(NAME, sha256(EVIL).digest(), len(EVIL))


def test_state_is_all_there_is_to_keep(repository: Repository) -> None:
    trusted = trusting(repository)
    again = TrustedSet(trusted.state, repository.pin)
    assert again.versions() == trusted.versions()
    again.update([], NOW)
    assert again.allows(NAME, sha256(ONE).digest(), len(ONE))


def test_only_newer_files_need_to_come(repository: Repository) -> None:
    trusted = trusting(repository)
    repository.publish_timestamp()
    trusted.update([repository.files["timestamp"]], NOW)
    repository.publish({NAME: entry(TWO)})
    trusted.update(repository.newest(), NOW)
    trusted.update(repository.all(), NOW)
    assert trusted.allows(NAME, sha256(TWO).digest(), len(TWO))
    assert not trusted.allows(NAME, sha256(ONE).digest(), len(ONE))


def test_the_order_of_the_files_does_not_matter(repository: Repository) -> None:
    trusted = TrustedSet({}, repository.pin)
    trusted.update(list(reversed(repository.all())), NOW)
    assert trusted.allows(NAME, sha256(ONE).digest(), len(ONE))


# --- rollback ---


def test_rollback_of_every_role_is_refused(repository: Repository) -> None:
    old = repository.newest()
    first_root = list(repository.roots)
    repository.publish_root()
    repository.publish({NAME: entry(TWO)})
    trusted = trusting(repository)
    assert refused(trusted, old, NOW).reason == "rollback"
    assert refused(trusted, first_root, NOW).reason == "rollback"


def test_rollback_of_the_snapshot_by_a_newer_timestamp_is_refused(repository: Repository) -> None:
    """Whoever has the timestamp key alone cannot bring an old snapshot back."""
    old_snapshot = repository.files["snapshot"]
    repository.publish({NAME: entry(TWO)})
    trusted = trusting(repository)
    repository.files["snapshot"], repository.versions["snapshot"] = old_snapshot, 2
    repository.publish_timestamp()
    assert refused(trusted, repository.newest(), NOW).reason == "rollback"


def test_rollback_of_the_targets_by_a_newer_snapshot_is_refused(repository: Repository) -> None:
    """Nor can whoever has the keys of timestamp and snapshot bring old targets back."""
    old_targets = repository.files["targets"]
    repository.publish({NAME: entry(TWO)})
    trusted = trusting(repository)
    repository.files["targets"], repository.versions["targets"] = old_targets, 2
    repository.publish_snapshot()
    repository.publish_timestamp()
    assert refused(trusted, repository.newest(), NOW).reason == "rollback"


# --- freeze ---


def test_freeze_is_noticed_when_the_timestamp_expires(repository: Repository) -> None:
    trusted = trusting(repository)
    trusted.update([], NOW + 7 * DAY - 1)
    for files in ([], repository.newest()):
        assert refused(trusted, files, NOW + 7 * DAY).reason == "freeze"
    repository.now = NOW + 8 * DAY
    repository.publish_timestamp()
    trusted.update(repository.newest(), NOW + 8 * DAY)


def test_freeze_is_noticed_though_the_clock_was_set_back(repository: Repository) -> None:
    """The newest signed time seen is the least the clock may say."""
    trusted = trusting(repository)
    repository.now = NOW + 20 * DAY
    repository.publish_root()
    trusted.update([*repository.all(1)[:1], _stamped(repository)], NOW + 20 * DAY)
    repository.now = NOW + 5 * DAY
    repository.versions["timestamp"] += 1
    repository.publish_timestamp()
    assert refused(trusted, [repository.files["timestamp"]], NOW + 5 * DAY).reason == "freeze"


def _stamped(repository: Repository) -> bytes:
    repository.publish_timestamp()
    return repository.files["timestamp"]


# --- mix-and-match ---


def test_mix_and_match_is_refused(repository: Repository) -> None:
    old = dict(repository.files)
    repository.publish({NAME: entry(TWO)})
    new = dict(repository.files)
    mixes = (
        [new["timestamp"], old["snapshot"], old["targets"]],
        [new["timestamp"], old["snapshot"], new["targets"]],
        [new["timestamp"], new["snapshot"], old["targets"]],
        [old["timestamp"], new["snapshot"], new["targets"]],
        [new["timestamp"], new["targets"]],
        [new["timestamp"], new["snapshot"]],
        [new["snapshot"], new["targets"]],
    )
    for files in mixes:
        fresh = TrustedSet({}, repository.pin)
        assert refused(fresh, [*repository.roots, *files], NOW).reason == "mix-and-match"


def test_two_files_of_one_version_are_refused(repository: Repository) -> None:
    trusted = trusting(repository)
    repository.now += 1
    repository.versions["timestamp"] -= 1
    repository.publish_timestamp()
    assert refused(trusted, [repository.files["timestamp"]], NOW).reason == "mix-and-match"


def test_a_gap_in_the_chain_of_roots_is_refused(repository: Repository) -> None:
    trusted = trusting(repository)
    repository.publish_root()
    repository.publish_root()
    assert refused(trusted, repository.roots[2:], NOW).reason == "mix-and-match"


# --- endless data, slow retrieval, wrong shape ---


def test_endless_data_is_refused_unparsed(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = trusting(repository)
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("parsed"))
    assert refused(trusted, [b"[" * (max(MAX_FILE.values()) + 1)], NOW).reason == "endless"


def test_endless_data_has_a_limit_for_every_role(repository: Repository) -> None:
    trusted = trusting(repository)
    spaces = b" " * MAX_FILE["timestamp"]
    assert refused(trusted, [repository.files["timestamp"] + spaces], NOW).reason == "endless"


def test_slow_retrieval_is_bounded_by_what_one_update_may_be(repository: Repository) -> None:
    """A server that drips may drip this much, within the session's own time; of a set that does
    not come whole nothing is kept."""
    trusted = trusting(repository)
    assert refused(trusted, [b"{}"] * (MAX_FILES + 1), NOW).reason == "endless"
    assert refused(trusted, [b" " * (MAX_UPDATE // 8 + 1)] * 8, NOW).reason == "endless"
    repository.publish({NAME: entry(TWO)})
    assert refused(trusted, repository.newest()[:-1], NOW).reason == "mix-and-match"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda fields: fields | {"signatures": "none"},
        lambda fields: fields | {"surprise": 1},
        lambda fields: {"signed": fields["signed"]},
        lambda fields: fields | {"signed": fields["signed"] | {"_type": "mirrors"}},
        lambda fields: fields | {"signed": fields["signed"] | {"version": 0}},
        lambda fields: fields | {"signed": fields["signed"] | {"version": True}},
        lambda fields: fields | {"signed": fields["signed"] | {"version": 2**53 + 1}},
        lambda fields: fields | {"signed": fields["signed"] | {"expires": "2027-02-30T00:00:00Z"}},
        lambda fields: fields | {"signed": fields["signed"] | {"expires": "soon"}},
        lambda fields: fields | {"signed": fields["signed"] | {"meta": {}}},
        lambda fields: fields | {"signed": fields["signed"] | {"meta": {"root.json": 1}}},
        lambda fields: [fields],
    ],
)
def test_wrong_shape_is_refused(
    repository: Repository, spoil: Callable[[dict[str, object]], object]
) -> None:
    trusted = trusting(repository)
    fields = json.loads(repository.files["timestamp"])
    spoilt = json.dumps(spoil(fields)).encode()
    assert refused(trusted, [spoilt], NOW).reason == "malformed"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[" * 10_000,
        b'{"signed":' * 1_500,
        b"1" * 5_000,
        b"NaN",
        b'{"signed":{},"signed":{}}',
        b'{"signed":{"version":1.0},"signatures":[]}',
        b'{"signed":{"_type":"\\ud800"},"signatures":[]}',
    ],
)
def test_what_is_no_role_file_is_refused(repository: Repository, data: bytes) -> None:
    assert refused(trusting(repository), [data], NOW).reason == "malformed"


def test_a_root_that_makes_no_sense_is_refused(repository: Repository) -> None:
    trusted = trusting(repository)
    root = json.loads(repository.publish_root())
    keys, roles = root["signed"]["keys"], root["signed"]["roles"]
    names = sorted(keys)
    wrong = (
        {"roles": {name: rule for name, rule in roles.items() if name != "targets"}},
        {"roles": roles | {"root": {"keyids": [names[0]] * 2, "threshold": 1}}},
        {"roles": roles | {"root": {"keyids": ["ab" * 32], "threshold": 1}}},
        {"roles": roles | {"root": {"keyids": [names[0]], "threshold": 2}}},
        {"keys": keys | {"ab" * 32: keys[names[0]]}},
        {"keys": dict.fromkeys(names, keys[names[0]])},
        {"consistent_snapshot": True},
    )
    for change in wrong:
        spoilt = json.dumps(root | {"signed": root["signed"] | change}).encode()
        assert refused(trusted, [spoilt], NOW).reason == "malformed"


def test_a_role_may_come_once(repository: Repository) -> None:
    trusted = trusting(repository)
    assert refused(trusted, [repository.files["targets"]] * 2, NOW).reason == "malformed"


# --- time ---


@pytest.mark.parametrize(("role", "days"), [("targets", 90), ("snapshot", 30), ("root", 365)])
def test_expired_metadata_is_refused(repository: Repository, role: str, days: int) -> None:
    repository.good_for = dict.fromkeys(repository.good_for, 1000 * DAY)
    repository.good_for[role] = days * DAY  # type: ignore[index]
    repository.publish_root()
    repository.publish()
    trusted = trusting(repository)
    trusted.update([], NOW + days * DAY - 1)
    refusal = refused(trusted, [], NOW + days * DAY)
    assert (refusal.reason, refusal.clock) == ("expired", False)


def test_an_expired_root_may_be_followed_by_one_that_is_not(repository: Repository) -> None:
    later = NOW + 400 * DAY
    trusted = trusting(repository)
    repository.now = later
    repository.publish_root()
    repository.publish()
    trusted.update(repository.all(1), later)


def test_future_dated_metadata_says_clock_not_attack(repository: Repository) -> None:
    """The phone's clock fell back to when it was made, before it ever saw a signed time."""
    fresh = TrustedSet({}, repository.pin)
    refusal = refused(fresh, repository.all(), NOW - 3 * 365 * DAY)
    assert (refusal.reason, refusal.clock) == ("future", True)
    assert "clock" in str(refusal)
    fresh.update(repository.all(), NOW - CLOCK_SLACK)


@pytest.mark.parametrize("role", ["root", "timestamp", "snapshot", "targets"])
def test_one_future_dated_file_is_enough(repository: Repository, role: str) -> None:
    trusted = trusting(repository)
    later: dict[str, Callable[[], object]] = {
        "root": repository.publish_root,
        "targets": repository.publish_targets,
        "snapshot": repository.publish_snapshot,
        "timestamp": repository.publish_timestamp,
    }
    for name, publish in later.items():
        repository.now = NOW + (CLOCK_SLACK + 1 if name == role else 0)
        publish()
    refusal = refused(trusted, repository.all(1), NOW)
    assert (refusal.reason, refusal.clock) == ("future", True)


def test_what_a_root_says_of_the_time_counts_for_the_timestamp(repository: Repository) -> None:
    trusted = trusting(repository)
    repository.now = NOW + 7.2 * DAY
    repository.publish_root()
    assert refused(trusted, repository.all(1), NOW + 6.9 * DAY).reason == "freeze"


def test_a_clock_years_ahead_says_clock_not_attack(repository: Repository) -> None:
    refusal = refused(trusting(repository), [], NOW + 5 * 365 * DAY)
    assert refusal.clock
    assert "clock" in str(refusal)
    trusted = trusting(repository)
    trusted.update([], NOW + DAY)  # and once the clock is right again, all is well


def test_a_lagging_clock_is_led_by_the_newest_signed_time(repository: Repository) -> None:
    trusted = trusting(repository)
    for step in range(1, 5):
        repository.now = NOW + step * 0.9 * DAY
        repository.publish_timestamp()
        trusted.update([repository.files["timestamp"]], 0.0)
    assert trusted.time(0.0) == pytest.approx(NOW + 3.6 * DAY, abs=1)


# --- never back, whatever comes in whatever order ---


@dataclass(frozen=True)
class Offered:
    """Files of one moment of the repository's history, some of them missing or swapped."""

    timestamp: int
    snapshot: int
    targets: int
    roots_after: int
    missing: int


def history() -> tuple[Repository, list[dict[str, bytes]], list[int]]:
    """Six versions; keys of each role change on the way."""
    repository = Repository()
    moments, roots = [], []
    for number, role in enumerate(("", "timestamp", "", "targets", "snapshot", ""), 1):
        if role:
            repository.keys[role] = [key(500 + number)]  # type: ignore[index]
            repository.publish_root()
        repository.publish({NAME: entry(b"%d" % number, Custom(percent=number))})
        moments.append({str(name): data for name, data in repository.files.items()})
        roots.append(len(repository.roots))
    return repository, moments, roots


REPOSITORY, MOMENTS, ROOTS = history()
moment = st.integers(0, len(MOMENTS) - 1)
honest = st.builds(lambda at, r: Offered(at, at, at, r, -1), moment, st.integers(0, 4))
offered = st.one_of(
    honest, st.builds(Offered, moment, moment, moment, st.integers(0, 4), st.integers(-1, 3))
)


@settings(max_examples=120)
@given(st.lists(st.tuples(offered, st.floats(-3.0, 9.0)), max_size=8))
def test_no_sequence_of_updates_leads_back(offers: list[tuple[Offered, float]]) -> None:
    trusted = TrustedSet({}, REPOSITORY.pin)
    reached, root = -1, 0
    for one, days in offers:
        files = [
            *REPOSITORY.roots[one.roots_after : ROOTS[one.timestamp]],
            MOMENTS[one.timestamp]["timestamp"],
            MOMENTS[one.snapshot]["snapshot"],
            MOMENTS[one.targets]["targets"],
        ]
        if one.missing >= 0:
            del files[one.missing % len(files)]
        before = trusted.state
        try:
            trusted.update(files, NOW + days * DAY)
        except MetadataRefused:
            assert trusted.state == before
            continue
        assert trusted.versions().get("root", 0) >= root
        root = trusted.versions()["root"]
        if (listed := trusted.targets().get(NAME)) is not None:
            now_at = listed.custom.percent - 1
            # All of one moment, never a mixture, and never an earlier one.
            assert trusted.state["snapshot"] == MOMENTS[now_at]["snapshot"]
            assert now_at >= reached
            reached = now_at
    files = [*REPOSITORY.roots[root:], *REPOSITORY.newest()]
    trusted.update(files, NOW)
    assert trusted.targets()[NAME].custom.percent == len(MOMENTS), "the newest is always to be had"


@settings(max_examples=60)
@given(st.integers(0, 3), st.integers(0, 10_000), st.integers(1, 127))
def test_a_changed_byte_is_refused(which: int, place: int, change: int) -> None:
    repository = REPOSITORY
    data = [repository.roots[-1], *repository.newest()][which]
    spoilt = bytearray(data)
    spoilt[place % len(data)] ^= change
    trusted = TrustedSet({}, sha256(repository.roots[0]).hexdigest())
    files = [bytes(spoilt) if one == data else one for one in repository.all()]
    with pytest.raises(MetadataRefused):
        trusted.update(files, NOW)
    assert trusted.state == {}
