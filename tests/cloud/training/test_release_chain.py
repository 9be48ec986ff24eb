"""Train → evaluate → publish: each step may run twice, and nothing worse is ever published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import insert, update

from cloud.actors.evaluator import Evaluator
from cloud.actors.publisher import LIFETIME, Publisher
from cloud.actors.trainers import Trainer, TrainingRefused
from cloud.storage import Database
from cloud.storage.tables import releases
from cloud.training.releases import ReleaseUnknown, Shelf
from protocol.errors import ReleaseRefused
from protocol.messages import MAX_MANIFEST
from protocol.models.spec import DEDUP, flatten_head, head_dimension
from protocol.params import Parameters, decode_full, encode_full, sha256_of
from protocol.release import check_release, open_manifest, open_release
from tests.cloud.training.conftest import House

NOW = 1_000_000.0
DIMENSION = head_dimension(DEDUP)
USAGE = {"histograms": [{"histogram": "language", "bin": "zh", "estimate": 0.9}]}


def published(house: House) -> int:
    """A house whose first dedup version is out; returns its candidate id."""
    candidate = house.trainer().bootstrap(NOW)
    assert house.evaluator().evaluate(candidate, NOW)["passed"]
    assert house.publisher().publish(candidate, NOW) == 1
    return candidate


def submit(house: House, parameters: Parameters, version: int, **values: Any) -> int:
    """A candidate made by hand."""
    shelf = house.shelf()
    row: dict[str, Any] = {
        "model": parameters.model,
        "version": version,
        "parent": version - 1,
        "status": "candidate",
        "parameters": shelf.blobs.put(encode_full(parameters)),
        "sha256": sha256_of(parameters),
        "metrics": {},
        "epsilon": 1.0,
        "delta": 1e-5,
        "created": NOW,
    }
    with shelf.database.write() as connection:
        key = connection.execute(insert(releases).values(**(row | values))).inserted_primary_key
    assert key is not None
    return int(key[0])


def nudged(shelf: Shelf, release_id: int, by: int, seed: int = 0) -> Parameters:
    """The release's parameters with every value moved at random by up to `by` grid steps."""
    base = shelf.parameters_of(shelf.get(release_id))
    rng = np.random.default_rng(seed)
    arrays = {
        name: np.clip(array + rng.integers(-by, by + 1, array.shape), -127, 127).astype(np.int8)
        for name, array in base.arrays.items()
    }
    return Parameters(base.model, 0, arrays, base.scales)


def test_bootstrap_runs_once_however_often_it_is_called(house: House) -> None:
    first = house.trainer().bootstrap(NOW)
    assert house.trainer(seed=99).bootstrap(NOW + 1) == first
    release = house.shelf().get(first)
    assert (release.version, release.parent, release.status) == (1, 0, "candidate")
    assert 0.0 < release.epsilon < 10.0
    assert release.metrics["central_steps"] == 12.0


def test_one_seed_trains_the_same_release(house: House, tmp_path: Path) -> None:
    other = House(f"sqlite:///{tmp_path / 'other.db'}", tmp_path / "other", house.key_path)
    ours = house.shelf().get(house.trainer(seed=3).bootstrap(NOW))
    theirs = other.shelf().get(other.trainer(seed=3).bootstrap(NOW))
    assert ours.sha256 == theirs.sha256
    third = House(f"sqlite:///{tmp_path / 'third.db'}", tmp_path / "third", house.key_path)
    assert third.shelf().get(third.trainer(seed=None).bootstrap(NOW)).sha256 != ours.sha256


def test_a_federated_step_moves_the_head_by_the_mean_update(house: House) -> None:
    candidate = published(house)
    mean = np.full(DIMENSION, 2.0 / 32.0)
    number = house.aggregate(mean, clip=float(np.linalg.norm(mean)))
    step = house.trainer().federated_step([number], NOW)
    assert step is not None
    assert house.trainer(seed=5).federated_step([number], NOW + 9) == step
    shelf = house.shelf()
    before, after = (shelf.parameters_of(shelf.get(key)) for key in (candidate, step))
    for name, array in before.arrays.items():
        assert (after.arrays[name] == np.minimum(array.astype(int) + 2, 127)).all()
    release = shelf.get(step)
    assert (release.version, release.parent) == (2, 1)
    assert release.metrics["federated_phones"] == 1000.0
    assert release.epsilon == shelf.get(candidate).epsilon, "the corpus was not touched again"


def test_a_mean_beyond_the_clip_is_cut_back_to_it(house: House) -> None:
    candidate = published(house)
    wild = np.zeros(DIMENSION)
    wild[0] = 100.0
    step = house.trainer().federated_step([house.aggregate(wild, clip=0.5)], NOW)
    assert step is not None
    shelf = house.shelf()
    before, after = (
        flatten_head(shelf.parameters_of(shelf.get(key)).weights(), DEDUP)
        for key in (candidate, step)
    )
    assert np.linalg.norm(after - before) == pytest.approx(0.5, abs=1 / 32)


def test_a_refresh_uses_the_usage_known_before_and_is_charged(house: House) -> None:
    candidate = published(house)
    house.aggregate(np.zeros(31), task="usage", estimates=USAGE)
    step = house.trainer().federated_step([house.aggregate(np.zeros(DIMENSION))], NOW)
    assert step is not None
    shelf = house.shelf()
    assert shelf.get(step).metrics["central_steps"] == 18.0
    assert shelf.get(step).epsilon > shelf.get(candidate).epsilon


def test_a_step_that_is_all_noise_makes_no_candidate(house: House) -> None:
    published(house)
    noise = np.random.default_rng(1).normal(size=DIMENSION)
    number = house.aggregate(0.9 * noise, n=50, sigma=50.0)
    assert house.trainer().federated_step([number], NOW) is None
    assert house.trainer().federated_step([number], NOW) is None
    assert house.trainer(shrink=False).federated_step([number], NOW) is None, "already settled"


def test_a_step_needs_its_own_aggregate_and_a_published_base(house: House) -> None:
    number = house.aggregate(np.zeros(DIMENSION))
    with pytest.raises(TrainingRefused, match="publish a first"):
        house.trainer().federated_step([number], NOW)
    with pytest.raises(TrainingRefused, match="not all aggregates"):
        house.trainer("router").federated_step([number], NOW)
    with pytest.raises(TrainingRefused, match="not all aggregates"):
        house.trainer().federated_step([12345], NOW)


def test_a_worse_candidate_is_rejected_and_never_published(house: House) -> None:
    candidate = published(house)
    worse = submit(house, nudged(house.shelf(), candidate, 60), 2)
    verdict = house.evaluator().evaluate(worse, NOW)
    assert not verdict["passed"]
    assert "under the published" in verdict["reason"]
    assert house.evaluator().evaluate(worse, NOW + 5) == verdict
    assert house.publisher().publish(worse, NOW) is None
    assert len(house.publisher().history("dedup")) == 1


def test_the_same_parameters_again_are_not_a_release(house: House) -> None:
    candidate = published(house)
    shelf = house.shelf()
    again = submit(house, shelf.parameters_of(shelf.get(candidate)), 2)
    assert house.evaluator().evaluate(again, NOW)["reason"] == "the parameters did not change"


def test_a_tie_passes_only_with_a_smaller_loss(house: House) -> None:
    """Two versions that always answer the same: only how sure they are differs."""
    shelf = house.shelf()

    def constant(bias: int) -> Parameters:
        arrays = {name: np.zeros(shape, dtype=np.int8) for name, shape in DEDUP.shapes.items()}
        arrays["b3"][0] = bias
        return Parameters("dedup", 0, arrays, dict(DEDUP.scales))

    first = submit(house, constant(40), 1)
    assert house.evaluator().evaluate(first, NOW)["passed"]
    assert house.publisher().publish(first, NOW) == 1
    surer = submit(house, constant(90), 2)
    assert "ties" in house.evaluator().evaluate(surer, NOW)["reason"]
    humbler = submit(house, constant(2), 3)
    assert house.evaluator().evaluate(humbler, NOW)["passed"]
    assert shelf.get(first).metrics["accuracy"] == shelf.get(humbler).metrics["accuracy"]


def test_an_unjudged_candidate_is_not_published(house: House) -> None:
    candidate = house.trainer().bootstrap(NOW)
    assert house.publisher().publish(candidate, NOW) is None
    assert house.publisher().newest() == []


def test_versions_only_rise(house: House) -> None:
    candidate = published(house)
    shelf = house.shelf()
    passed = {"passed": 1.0, "accuracy": 1.0, "exact": 1.0}
    passed |= {"accuracy_templates": 1.0, "accuracy_written": 1.0}
    late = submit(house, nudged(shelf, candidate, 1, seed=2), 2, metrics=passed)
    newer = submit(house, nudged(shelf, candidate, 1, seed=3), 3, metrics=passed)
    publisher = house.publisher()
    assert publisher.publish(newer, NOW) == 3
    assert publisher.publish(late, NOW) is None
    assert [line["version"] for line in publisher.history("dedup")] == [1, 3]
    overtaken = submit(house, nudged(shelf, candidate, 1, seed=4), 0)
    assert house.evaluator().evaluate(overtaken, NOW)["reason"] == "overtaken by version 3"


def test_a_phone_can_follow_every_difference(house: House) -> None:
    candidate = published(house)
    publisher, shelf = house.publisher(), house.shelf()
    versions = {1: shelf.parameters_of(shelf.get(candidate))}
    for version in range(2, 19):
        target = nudged(shelf, candidate, 1, seed=version)
        judged = {**shelf.get(candidate).metrics, "against": version - 1.0}
        row = submit(house, target, version, metrics=judged)
        assert publisher.publish(row, NOW + version) == version
        versions[version] = shelf.parameters_of(shelf.get(row))
    manifest = open_manifest(publisher.newest()[0][2], house.public)
    assert manifest.version == 18
    assert sorted(manifest.differences) == list(range(2, 18))
    assert len(publisher.newest()[0][2]) < MAX_MANIFEST
    for base in (0, *range(2, 18)):
        check_release(manifest, adopted_version=base, now=NOW + 60, spec=DEDUP)
        blob = publisher.blob("dedup", 18, base)
        assert blob is not None
        known = versions[base] if base else None
        opened = open_release(manifest, blob, known, DEDUP)
        assert sha256_of(opened) == sha256_of(versions[18])
    assert publisher.blob("dedup", 18, 1) is None
    assert publisher.blob("dedup", 99, 0) is None
    assert publisher.blob("router", 1, 0) is None
    with pytest.raises(ReleaseRefused):
        open_manifest(publisher.newest()[0][2], bytes(32))


def test_publishing_twice_writes_nothing_new(house: House) -> None:
    candidate = published(house)
    before = house.publisher().newest(), sorted(house.blobs.iterdir())
    assert house.publisher().publish(candidate, NOW + 100) == 1
    assert (house.publisher().newest(), sorted(house.blobs.iterdir())) == before


def test_a_crash_before_the_row_leaves_a_candidate_that_publishes_later(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate = house.trainer().bootstrap(NOW)
    house.evaluator().evaluate(candidate, NOW)

    def crash(*_: object) -> bool:
        raise OSError("power went out")

    with monkeypatch.context() as patch:
        patch.setattr(Publisher, "_commit", crash)
        with pytest.raises(OSError, match="power went out"):
            house.publisher().publish(candidate, NOW)
    assert house.publisher().newest() == []
    assert house.publisher().publish(candidate, NOW) == 1
    assert len(house.publisher().newest()) == 1


def test_a_manifest_is_renewed_before_it_expires(house: House) -> None:
    published(house)
    publisher = house.publisher()
    assert publisher.renew(NOW + 1) == []
    late = NOW + 0.9 * LIFETIME
    assert publisher.renew(late) == ["dedup"]
    assert publisher.renew(late) == []
    manifest = open_manifest(publisher.newest()[0][2], house.public)
    assert manifest.expires == late + LIFETIME
    check_release(manifest, adopted_version=0, now=NOW + LIFETIME + 1, spec=DEDUP)


def test_a_lost_blob_is_not_served(house: House) -> None:
    candidate = published(house)
    (house.blobs / house.shelf().get(candidate).parameters).unlink()
    assert house.publisher().blob("dedup", 1, 0) is None


def test_the_full_blob_is_the_judged_parameters(house: House) -> None:
    candidate = published(house)
    blob = house.publisher().blob("dedup", 1, 0)
    assert blob is not None
    assert sha256_of(decode_full(blob, DEDUP, 1)) == house.shelf().get(candidate).sha256


def test_an_unknown_candidate_is_named(house: House) -> None:
    with pytest.raises(ReleaseUnknown, match="no candidate 77"):
        house.evaluator().evaluate(77, NOW)


def test_a_failed_status_survives_a_late_write(house: House) -> None:
    """An evaluator that was slow must not bring a published row back to candidate."""
    candidate = published(house)
    database = Database(house.url)
    with database.write() as connection:
        metrics = {"accuracy": 0.5}
        connection.execute(
            update(releases).where(releases.c.id == candidate).values(metrics=metrics)
        )
    assert house.evaluator().evaluate(candidate, NOW)["accuracy"] == 0.5
    assert house.shelf().get(candidate).status == "published"


def test_actors_pickle_by_their_arguments(house: House) -> None:
    """Ray sends a class and its arguments: all of them must be plain values."""
    import pickle

    for cls, arguments in (
        (Trainer, ("router", house.url, house.blobs, 1, None)),
        (Evaluator, (house.url, house.blobs)),
        (Publisher, (house.url, str(house.blobs), house.key_path)),
    ):
        made = pickle.loads(pickle.dumps((cls, arguments)))
        made[0](*made[1]).close()
