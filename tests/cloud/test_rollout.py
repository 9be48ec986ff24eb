"""Staged releases: step by step to everyone, or back as soon as phones are seen to refuse them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import insert, select

from cloud.actors.publisher import Publisher
from cloud.actors.rollout import REFUSED_BOUND, Change, Rollout, refusals
from cloud.releases.steering import Steering
from cloud.storage import Database
from cloud.storage.tables import aggregates, devices, events, releases, rounds
from cloud.training.releases import Shelf
from privacy import BUDGETS
from privacy.estimation import estimate_histograms, total_noise
from privacy.streams import USAGE_DIMENSION, USAGE_HISTOGRAMS
from protocol.metadata import Targets, open_role
from protocol.models import DEDUP, initial_weights
from protocol.params import Parameters, encode_full, sha256_of
from protocol.release import FIRST_DIFFERENCE_BASES, open_manifest
from tests.cloud.world import DAY, START, database_in

STAGE = 7 * DAY
PASSED = {"passed": 1.0, "accuracy": 0.9, "exact": 0.9}
PASSED |= {"accuracy_templates": 0.9, "accuracy_written": 0.9}
USAGE = BUDGETS["production"].terms("usage")


class Service:
    """Publisher and rollout of one cloud, with a fleet and what it says of its releases."""

    def __init__(self, folder: Path, phones: int) -> None:
        (folder / "signing.key").write_bytes(os.urandom(32))
        self.url, self.blobs = database_in(folder), folder / "blobs"
        self.publisher = Publisher(self.url, self.blobs, folder / "signing.key")
        self.rollout = Rollout(self.url, folder / "keys", stage_seconds=STAGE)
        self.steering = Steering(self.url, self.blobs, folder / "keys", folder / "signing.key")
        self.database = Database(self.url)
        self.phones, self.round = phones, 0
        rows = [
            {"device_id": f"{n:032x}", "public_key": bytes(32), "enrolled": START}
            for n in range(phones)
        ]
        with self.database.write() as connection:
            connection.execute(insert(devices), rows)

    def close(self) -> None:
        for part in (self.publisher, self.rollout, self.steering, self.database):
            part.close()

    def candidate(self, version: int) -> int:
        rng = np.random.Generator(np.random.Philox(key=version))
        parameters = Parameters.of(initial_weights(DEDUP, rng), DEDUP, version)
        row = {"model": "dedup", "version": version, "parent": version - 1, "metrics": PASSED}
        row |= {"parameters": Shelf(self.url, self.blobs).blobs.put(encode_full(parameters))}
        row |= {"status": "candidate", "sha256": sha256_of(parameters), "epsilon": 1.0}
        with self.database.write() as connection:
            done = connection.execute(insert(releases).values(delta=1e-6, created=START, **row))
            assert done.inserted_primary_key is not None
            return int(done.inserted_primary_key[0])

    def publish(self, version: int, now: float) -> int | None:
        return self.publisher.publish(self.candidate(version), now)

    def hear(self, adopted: float, refused: float, opens: float, reports: int = 0) -> None:
        """A usage round of the whole fleet in which so many (shares) adopted and refused."""
        n = reports or self.phones
        total = np.zeros(USAGE_DIMENSION)
        names = [(h.name, b) for h in USAGE_HISTOGRAMS for b in h.bins]
        total[names.index(("dedup_adoption", "adopted"))] = adopted * n
        total[names.index(("dedup_adoption", "refused"))] = refused * n
        total[names.index(("dedup_adoption", "none"))] = (1 - adopted - refused) * n
        sigma = total_noise(USAGE.sigma, n, max(USAGE.n_min, int(0.75 * n)))
        units = np.rint(total * USAGE.scale).astype(np.int64)
        found = estimate_histograms(units, n, USAGE.scale, sigma)
        self.round += 1
        common = {"task": "usage", "round": self.round, "scale": USAGE.scale, "clip": USAGE.clip}
        common |= {"sigma": sigma, "base_version": 0}
        with self.database.write() as connection:
            connection.execute(
                insert(rounds).values(
                    status="closed",
                    dimension=USAGE_DIMENSION,
                    n_min=USAGE.n_min,
                    opens=opens,
                    closes=opens + DAY,
                    budget="production",
                    descriptor=b"",
                    **common,
                )
            )
            estimates = {"histograms": [one._asdict() for one in found]}
            connection.execute(
                insert(aggregates).values(
                    n=n, total=b"", estimates=estimates, created=opens + DAY, **common
                )
            )

    def listed(self) -> dict[str, int]:
        """Target → percent, as the newest targets file says."""
        data = next(data for role, _, data in self.publisher.showing().files if role == "targets")
        targets = open_role(data).signed
        assert isinstance(targets, Targets)
        return {name: one.custom.percent for name, one in targets.targets.items()}

    def withdrawn(self, name: str) -> Sequence[int]:
        data = next(data for role, _, data in self.publisher.showing().files if role == "targets")
        targets = open_role(data).signed
        assert isinstance(targets, Targets)
        return targets.targets[name].custom.withdrawn

    def events(self, kind: str) -> list[dict[str, Any]]:
        query = select(events.c.detail).where(events.c.kind == kind).order_by(events.c.id)
        with self.database.read() as connection:
            return list(connection.scalars(query))


@pytest.fixture
def service(each_database: str, tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path, 20_000)
    assert made.publish(1, START) == 1
    yield made
    made.close()


@pytest.fixture
def small(each_database: str, tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path, 50)
    assert made.publish(1, START) == 1
    yield made
    made.close()


def test_the_first_release_of_a_model_goes_to_everyone(service: Service) -> None:
    assert service.listed() == {"models/dedup/1": 100}
    assert service.rollout.step(START + DAY) == []


def test_one_percent_then_ten_then_all(service: Service) -> None:
    assert service.publish(2, START) == 2
    assert service.listed() == {"models/dedup/1": 100, "models/dedup/2": 1}
    assert service.publisher.newest()[0][1] == 1, "rounds and training go on from what all hold"
    assert [one.version for one in service.publisher.showing().staged] == [2]
    assert service.publisher.blob("dedup", 2, 1) is not None
    assert service.rollout.step(START + STAGE - 1) == []
    assert service.rollout.step(START + STAGE) == [Change("dedup", 2, "staged", 10)]
    assert service.rollout.step(START + STAGE) == []
    assert service.listed()["models/dedup/2"] == 10
    assert service.rollout.step(START + 2 * STAGE) == [Change("dedup", 2, "published", 100)]
    assert service.listed() == {"models/dedup/2": 100}
    assert service.publisher.newest()[0][1] == 2
    assert [one["percent"] for one in service.events("release_stage")] == [10, 100]


def test_one_release_of_a_model_is_staged_at_a_time(service: Service) -> None:
    assert service.publish(2, START) == 2
    later = service.candidate(3)
    assert service.publisher.publish(later, START + DAY) is None
    assert service.rollout.staged("dedup")
    for step in (1, 2):
        service.rollout.step(START + step * STAGE)
    assert service.rollout.staged("dedup"), "the next one waits its turn"
    assert service.publisher.publish(later, START + 3 * STAGE) == 3
    for step in (4, 5):
        service.rollout.step(START + step * STAGE)
    assert not service.rollout.staged("dedup")


def test_a_fleet_of_fifty_has_no_stages(small: Service) -> None:
    assert small.publish(2, START + DAY) == 2
    assert small.listed() == {"models/dedup/2": 100}
    assert small.publish(3, START + 2 * DAY) == 3


def test_refusals_seen_with_confidence_halt_a_rollout(service: Service) -> None:
    service.publish(2, START)
    service.hear(0.001, 0.009, START + 1)
    (change,) = service.rollout.step(START + DAY)
    assert change == Change("dedup", 2, "withdrawn", 0)
    assert service.listed() == {"models/dedup/1": 100}
    assert list(service.withdrawn("models/dedup/1")) == [2]
    assert service.publisher.blob("dedup", 2, 0) is None
    (event,) = service.events("release_withdrawn")
    assert event == {"model": "dedup", "version": 2, "reason": event["reason"]}
    assert "90% of the phones that tried it refused it" in event["reason"]
    assert service.rollout.step(START + 2 * DAY) == []
    assert service.publish(3, START + 3 * DAY) == 3, "the number is not used again"


def test_noise_alone_halts_nothing(service: Service) -> None:
    """Of 1,000 phones ten tried it and all refused: less than the noise of the histogram."""
    service.publish(2, START)
    service.hear(0.0, 0.01, START + 1, reports=1_000)
    assert service.rollout.step(START + DAY) == []
    assert service.rollout.step(START + STAGE) == [Change("dedup", 2, "staged", 10)]
    service.hear(0.0, 0.1, START + STAGE + 1, reports=1_200)
    (change,) = service.rollout.step(START + STAGE + DAY)
    assert change.status == "withdrawn"


def test_some_refusals_are_no_fault(service: Service) -> None:
    service.publish(2, START)
    service.hear(0.006, 0.004, START + 1)
    assert service.rollout.step(START + DAY) == []


def test_what_was_said_before_the_release_does_not_count(service: Service) -> None:
    service.hear(0.0, 0.9, START - 10 * DAY)
    service.publish(2, START)
    assert service.rollout.step(START + DAY) == []


def test_a_release_that_all_may_take_can_still_be_withdrawn(small: Service) -> None:
    small.publish(2, START + DAY)
    small.hear(0.1, 0.9, START + 2 * DAY, reports=2_000)
    (change,) = small.rollout.step(START + 3 * DAY)
    assert change.status == "withdrawn"
    assert small.listed() == {"models/dedup/1": 100}


def test_a_withdrawal_does_not_pull_down_the_version_before(small: Service) -> None:
    small.phones = 20_000  # in reports: the verdicts are beyond doubt, the fleet has no stages
    for version in (2, 3):
        assert small.publish(version, START + version * DAY) == version
    small.hear(adopted=0.02, refused=0.9, opens=START + 4 * DAY)
    assert [change.version for change in small.rollout.step(START + 5 * DAY)] == [3]
    assert small.rollout.step(START + 6 * DAY) == []
    assert small.rollout.step(START + 60 * DAY) == []


def test_the_only_release_is_never_withdrawn(service: Service) -> None:
    service.hear(0.0, 1.0, START + 1)
    assert service.rollout.step(START + DAY) == []
    assert service.steering.rollback("dedup", START, "ada") is None
    assert service.steering.halt("dedup", START, "ada") is None
    assert service.steering.rollback("router", START, "ada") is None


def test_the_operator_halts_and_rolls_back(service: Service) -> None:
    service.publish(2, START)
    assert service.steering.halt("dedup", START + 1, "ada") == Change("dedup", 2, "withdrawn", 0)
    assert service.steering.halt("dedup", START + 1, "ada") is None
    service.publish(3, START + 2)
    for step in (1, 2):
        service.rollout.step(START + 2 + step * STAGE)
    assert service.listed() == {"models/dedup/3": 100}
    assert service.steering.halt("dedup", START + 3 * STAGE, "ada") is None, (
        "it is not on its way any more"
    )
    assert service.steering.rollback("dedup", START + 3 * STAGE, "ada") is not None
    assert service.listed() == {"models/dedup/1": 100}
    assert list(service.withdrawn("models/dedup/1")) == [2, 3]


def test_a_local_rounds_histogram_serves_as_well() -> None:
    answers = [
        {"histogram": "dedup_adoption", "bin": "adopted", "estimate": 0.1, "low": 0.0, "high": 0.2},
        {"histogram": "dedup_adoption", "bin": "refused", "estimate": 0.9, "low": 0.8, "high": 1.0},
    ]
    other = {"histograms": [{"histogram": "language", "bin": "zh", "estimate": 1.0}]}
    found = refusals([other, {"histograms": answers}], "dedup_adoption")
    assert found is not None
    assert found.low == pytest.approx(0.8)
    assert found.low > REFUSED_BOUND
    assert refusals([other], "dedup_adoption") is None
    nobody = [one | {"estimate": -0.01, "low": 0.0, "high": 0.0} for one in answers]
    assert refusals([{"histograms": nobody}], "dedup_adoption") == (0.0, 0.0)


@pytest.mark.parametrize("broken", ["put", "sign"])
def test_a_crash_while_publishing_is_made_good_by_the_next_try(
    service: Service, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Blobs, manifest, targets, snapshot, timestamp: whatever was the last to be done."""
    candidate = service.candidate(2)
    before = service.publisher.showing()

    def crash(*_: object, **__: object) -> None:
        raise OSError("power went out")

    with monkeypatch.context() as patch:
        patch.setattr(f"cloud.releases.repository.Repository.{broken}", crash)
        with pytest.raises(OSError, match="power went out"):
            service.publisher.publish(candidate, START)
    assert service.publisher.showing() == before
    assert service.publisher.publish(candidate, START) == 2
    assert service.publisher.publish(candidate, START) == 2
    assert service.listed() == {"models/dedup/1": 100, "models/dedup/2": 1}


def test_phones_of_the_first_protocol_get_a_manifest_they_can_read(small: Service) -> None:
    for version in range(2, 9):
        small.publish(version, START + version)
    showing = small.publisher.showing()
    public = small.publisher._key.public

    whole = open_manifest(showing.newest[0][2], public)
    fewer = open_manifest(showing.first[0][2], public)
    assert sorted(whole.differences) == [1, 2, 3, 4, 5, 6, 7]
    assert sorted(fewer.differences) == [4, 5, 6, 7]
    assert len(fewer.differences) == FIRST_DIFFERENCE_BASES
    assert fewer.model_copy(update={"differences": whole.differences}) == whole
