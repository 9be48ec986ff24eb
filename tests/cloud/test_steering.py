"""Operators' orders: each does one thing or nothing, says so, and is noted with who gave it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import insert, select, update

from cloud.actors.publisher import Publisher
from cloud.actors.rollout import Change
from cloud.actors.runtime import Runtime
from cloud.identity import KeyFileUnusable
from cloud.releases.lines import reasons, release_lines
from cloud.releases.steering import Order, Steering
from cloud.service import Cloud
from cloud.storage import BlobMissing
from cloud.storage.tables import releases
from cloud.training.releases import Shelf
from device.recall import Score
from protocol.models.spec import DEDUP, flatten_head, head_dimension
from protocol.params import Parameters, encode_full, sha256_of
from tests.cloud.conftest import running
from tests.cloud.test_rollout import STAGE, Service
from tests.cloud.training.conftest import House
from tests.cloud.world import START
from tests.laws.world import world

ORDERS: tuple[Order, ...] = ("halt", "rollback", "approve", "advance")


@pytest.fixture
def service(each_database: str, tmp_path: Path) -> Iterator[Service]:
    """20,000 phones, of which all may take dedup 1."""
    made = Service(tmp_path, 20_000)
    assert made.publish(1, START) == 1
    yield made
    made.close()


def order(service: Service, what: Order, at: float = START + 1, **options: Any) -> Change | None:
    change: Change | None = getattr(service.steering, what)("dedup", at, "ada", **options)
    return change


def steered(service: Service) -> list[tuple[str, int, str]]:
    return [(one["what"], one["version"], one["by"]) for one in service.events("steered")]


def status(service: Service, version: int) -> str:
    query = select(releases.c.status).where(releases.c.version == version)
    with service.database.read() as connection:
        return str(connection.scalar(query))


def test_a_rollback_while_one_is_staged_takes_that_one_and_then_the_one_before(
    service: Service,
) -> None:
    for version in (2, 3):
        service.publish(version, START)
        if version == 2:
            assert order(service, "advance") == Change("dedup", 2, "published", 100)
    assert service.listed() == {"models/dedup/2": 100, "models/dedup/3": 1}
    assert order(service, "rollback") == Change("dedup", 3, "withdrawn", 0)
    assert service.listed() == {"models/dedup/2": 100}
    assert order(service, "rollback") == Change("dedup", 2, "withdrawn", 0)
    assert service.listed() == {"models/dedup/1": 100}
    assert list(service.withdrawn("models/dedup/1")) == [2, 3]
    assert order(service, "rollback") is None
    assert (
        service.steering.refusal("rollback", "dedup") == "there is no earlier dedup to go back to"
    )
    assert steered(service) == [
        ("advance", 2, "ada"),
        ("rollback", 3, "ada"),
        ("rollback", 2, "ada"),
    ]
    lines = release_lines(service.database)
    assert reasons(lines)[0] == "dedup 2 withdrawn: withdrawn by ada"


def test_advance_lets_everyone_have_it_and_there_must_be_one(service: Service) -> None:
    assert order(service, "advance") is None
    assert "on its way" in service.steering.refusal("advance", "dedup")
    service.publish(2, START)
    assert order(service, "advance") == Change("dedup", 2, "published", 100)
    assert service.listed() == {"models/dedup/2": 100}
    assert order(service, "advance") is None
    assert service.rollout.step(START + STAGE) == [], "it has no stage left"
    assert steered(service) == [("advance", 2, "ada")]


def by_hand(service: Service) -> Publisher:
    key = Path(str(service.blobs)).parent / "signing.key"
    return Publisher(service.url, service.blobs, key, by_hand=True)


def test_by_hand_a_candidate_waits_until_it_is_approved(service: Service) -> None:
    candidate, publisher = service.candidate(2), by_hand(service)
    assert publisher.publish(candidate, START) is None
    assert service.rollout.staged("dedup"), "no training goes on from what may not come"
    (line,) = [line for line in release_lines(service.database) if line["waiting"]]
    assert (line["version"], line["waiting"]) == (2, "approval")
    assert order(service, "approve") == Change("dedup", 2, "approved", 0)
    assert release_lines(service.database)[-1]["waiting"] == "the tick"
    assert order(service, "approve") is None
    assert "approved already" in service.steering.refusal("approve", "dedup")
    assert publisher.publish(candidate, START + 2) == 2
    assert service.listed() == {"models/dedup/1": 100, "models/dedup/2": 1}
    assert steered(service) == [("approve", 2, "ada")]
    publisher.close()


def test_what_is_rejected_is_not_approved(service: Service) -> None:
    assert "1 is published" in service.steering.refusal("approve", "dedup")
    assert service.steering.refusal("approve", "router") == "there is no router candidate"
    candidate, publisher = service.candidate(2), by_hand(service)
    assert order(service, "halt") == Change("dedup", 2, "rejected", 0)
    assert order(service, "approve") is None
    assert service.steering.refusal("approve", "dedup").endswith("2 was rejected, rejected by ada")
    assert publisher.publish(candidate, START) is None
    assert not service.rollout.staged("dedup"), "training goes on"
    unjudged = service.candidate(3)
    with service.database.write() as connection:
        connection.execute(update(releases).where(releases.c.id == unjudged).values(metrics={}))
    assert order(service, "approve") is None
    assert "not judged yet" in service.steering.refusal("approve", "dedup")
    publisher.close()


def test_approved_and_then_halted_it_does_not_go_out(service: Service) -> None:
    candidate, publisher = service.candidate(2), by_hand(service)
    order(service, "approve")
    assert order(service, "halt") == Change("dedup", 2, "rejected", 0)
    assert publisher.publish(candidate, START) is None
    publisher.close()


def test_what_could_not_be_published_is_not_approved(service: Service, tmp_path: Path) -> None:
    service.candidate(2)
    (tmp_path / "signing.key").rename(tmp_path / "away.key")
    with pytest.raises(KeyFileUnusable):
        order(service, "approve")
    (tmp_path / "away.key").rename(tmp_path / "signing.key")
    for blob in service.blobs.iterdir():
        blob.unlink()
    with pytest.raises(BlobMissing):
        order(service, "approve")
    assert steered(service) == []


def test_an_order_for_one_version_is_not_carried_out_on_another(service: Service) -> None:
    service.publish(2, START)
    for what in ORDERS:
        assert order(service, what, version=7) is None
    assert service.steering.refusal("halt", "dedup", 7) == (
        "dedup 7 is not the one to halt any more: 2 is"
    )
    assert order(service, "advance", version=2) is not None


@pytest.mark.parametrize("what", ORDERS)
def test_two_operators_at_once_do_it_once(service: Service, tmp_path: Path, what: Order) -> None:
    """Both see version 3 and order the same; versions 1 and 2 are none of their business."""
    service.publish(2, START)
    order(service, "advance")
    service.candidate(3) if what == "approve" else service.publish(3, START)
    barrier, done = threading.Barrier(2), []

    def operator(name: str) -> None:
        steering = Steering(service.url, service.blobs, tmp_path / "keys", tmp_path / "signing.key")
        barrier.wait()
        done.append(getattr(steering, what)("dedup", START + 5, name, version=3))
        steering.close()

    threads = [threading.Thread(target=operator, args=(name,)) for name in ("ada", "bo")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (change,) = [one for one in done if one is not None]
    assert change.version == 3
    assert [one[:2] for one in steered(service)] == [("advance", 2), (what, 3)]
    assert status(service, 2) == "published"


def test_a_crash_in_the_middle_leaves_it_undone(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.publish(2, START)

    def crash(*_: object) -> None:
        raise OSError("power went out")

    with monkeypatch.context() as patch:
        patch.setattr("cloud.releases.repository.Repository.sign", crash)
        with pytest.raises(OSError, match="power went out"):
            order(service, "rollback")
    assert status(service, 2) == "staged"
    assert steered(service) == []
    assert order(service, "rollback") == Change("dedup", 2, "withdrawn", 0)


def test_a_line_says_how_far_each_has_come_and_what_it_waits_for(service: Service) -> None:
    service.publish(2, START)
    order(service, "advance")
    service.publish(3, START)
    service.candidate(4)
    lines = release_lines(service.database)
    assert [(line["version"], line["percent"]) for line in lines] == [
        (1, 100),
        (2, 100),
        (3, 1),
        (4, 0),
    ]
    assert lines[-1]["waiting"] == "its turn"


# --- the service ---


def bumped(shelf: Shelf, model: str) -> dict[str, Any]:
    """The values of a second version of a model that differs from the first by one step."""
    first = shelf.published(model)[0]
    known = shelf.parameters_of(first)
    arrays = {name: array.copy() for name, array in known.arrays.items()}
    arrays["b1"][0] += 1 if arrays["b1"][0] < 127 else -1
    made = Parameters(model, 0, arrays, known.scales)
    return {
        "model": model,
        "version": 2,
        "parent": 1,
        "status": "candidate",
        "metrics": {**first.metrics, "against": 1.0},
        "parameters": shelf.blobs.put(encode_full(made)),
        "sha256": sha256_of(made),
        "epsilon": 1.0,
        "delta": 1e-6,
        "created": START,
    }


def submitted(cloud: Cloud, model: str) -> int:
    config = cloud.config
    shelf = Shelf(config.database_url, config.blobs_url)
    with shelf.database.write() as connection:
        done = connection.execute(insert(releases).values(**bumped(shelf, model)))
    shelf.close()
    assert done.inserted_primary_key is not None
    return int(done.inserted_primary_key[0])


async def test_a_cloud_served_by_hand_publishes_only_what_was_approved(
    state: Path, inline: Runtime
) -> None:
    async with running(state, inline, publish="by-hand") as cloud:
        submitted(cloud, "dedup")
        await cloud.tick(START + 1)
        await cloud.tick(START + 2)
        database, config = cloud.database, cloud.config
        assert [line["waiting"] for line in release_lines(database)] == [None, "approval", None]
        assert ("dedup", 1) in [one[:2] for one in cloud.endpoint().snapshot.releases]
        steering = Steering(config.database_url, config.blobs_url, config.keys, config.signing_key)
        assert steering.approve("dedup", START + 3, "ada") == Change("dedup", 2, "approved", 0)
        await cloud.tick(START + 4)
        assert ("dedup", 2) in [one[:2] for one in cloud.endpoint().snapshot.releases]
        steering.close()


async def test_a_phone_that_holds_what_is_rolled_back_goes_back(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(state) as w:
        w.clock.at = START + 60.0
        await w.cloud.tick(w.clock.at)
        phone = await w.phone()
        monkeypatch.setattr(type(phone), "_probe", lambda self, model, weights: Score(1.0, 0.0))
        await phone.sync_now()
        assert phone.shelf.version("router") == 1
        first = sha256_of(phone.shelf.adopted("router"))  # type: ignore[arg-type]
        assert await w.cloud.publisher.ask("publish", submitted(w.cloud, "router"), START) == 2
        await w.next_day()
        await phone.sync_now()
        assert phone.shelf.version("router") == 2
        config = w.cloud.config
        steering = Steering(config.database_url, config.blobs_url, config.keys, config.signing_key)
        assert steering.rollback("router", w.clock.now(), "ada") is not None
        steering.close()
        await w.next_day()
        await phone.sync_now()
        assert phone.shelf.version("router") == 1
        assert sha256_of(phone.shelf.adopted("router")) == first  # type: ignore[arg-type]


def test_after_a_rollback_training_starts_from_what_is_current(tmp_path: Path) -> None:
    (tmp_path / "signing.key").write_bytes(os.urandom(32))
    house = House(
        f"sqlite:///{tmp_path / 'cloud.db'}", tmp_path / "blobs", tmp_path / "signing.key"
    )
    first = house.trainer().bootstrap(START)
    house.evaluator().evaluate(first, START)
    publisher, shelf = house.publisher(), house.shelf()
    assert publisher.publish(first, START) == 1
    with shelf.database.write() as connection:
        connection.execute(insert(releases).values(**bumped(shelf, "dedup")))
    assert publisher.publish(2, START) == 2
    steering = Steering(house.url, house.blobs, tmp_path / "keys", house.key_path)
    assert steering.rollback("dedup", START, "ada") == Change("dedup", 2, "withdrawn", 0)
    mean = np.full(head_dimension(DEDUP), 2.0 / 32.0)
    clip = float(np.linalg.norm(mean))
    step = house.trainer().federated_step([house.aggregate(mean, clip=clip, base_version=1)], START)
    assert step is not None
    made = shelf.get(step)
    assert (made.version, made.parent) == (3, 1)
    before = flatten_head(shelf.parameters_of(shelf.get(first)).weights(), DEDUP)
    after = flatten_head(shelf.parameters_of(made).weights(), DEDUP)
    assert np.abs(after - before).max() <= 2.0 / 32.0 + 1e-6
    house.evaluator().evaluate(step, START)
    assert shelf.get(step).metrics["against"] == 1.0
