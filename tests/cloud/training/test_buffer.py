"""Rounds that piled up: one candidate of all of them, each taken once, whatever dies on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, insert, select

from cloud.actors.rollout import Rollout
from cloud.service import Cloud
from cloud.storage.tables import aggregates, events, releases
from cloud.storage.work import untrained_aggregates
from cloud.training.buffer import RoundBuffer
from cloud.training.optimiser_state import decode_state
from protocol.models.spec import DEDUP, flatten_head, head_dimension
from tests.cloud.training.conftest import SCALE, House
from tests.cloud.world import START

NOW = 1_000_000.0
DIMENSION = head_dimension(DEDUP)
STEP = DEDUP.scales["w1"]
WIDE = 1e3
"""A clip that cuts nothing off."""


class PowerCut(Exception):
    """Stands for a process that dies."""


def published(house: House) -> int:
    candidate = house.trainer().bootstrap(NOW)
    assert house.evaluator().evaluate(candidate, NOW)["passed"]
    assert house.publisher().publish(candidate, NOW) is not None
    return candidate


def release(house: House, candidate: int) -> None:
    """Make it the published one whatever the gate thinks of it."""
    shelf = house.shelf()
    with shelf.database.write() as connection:
        connection.execute(
            releases.update().where(releases.c.id == candidate).values(status="published")
        )


def head(house: House, candidate: int) -> np.ndarray[Any, Any]:
    shelf = house.shelf()
    return flatten_head(shelf.parameters_of(shelf.get(candidate)).weights(), DEDUP)


def rounds_in(house: House, steps: list[float], **values: Any) -> list[int]:
    return [
        house.aggregate(np.full(DIMENSION, step * STEP), number=place, clip=WIDE, **values)
        for place, step in enumerate(steps, 1)
    ]


def test_several_rounds_make_one_candidate(house: House) -> None:
    first = published(house)
    ids = rounds_in(house, [1.0, 3.0, 5.0])
    candidate = house.trainer().federated_step(ids, NOW)
    assert candidate is not None
    inner = np.abs(head(house, first)) < 3.5
    moved = head(house, candidate) - head(house, first)
    assert moved[inner] == pytest.approx(np.full(inner.sum(), 3.0 * STEP))
    metrics = house.shelf().get(candidate).metrics
    assert (metrics["federated_rounds"], metrics["federated_phones"]) == (3.0, 3000.0)
    assert untrained_aggregates(house.shelf().database, "dedup") == []
    for some in (ids, ids[:1], ids[1:], ids[::-1]):
        assert house.trainer(seed=5).federated_step(some, NOW + 9) == candidate


def test_only_so_many_rounds_at_once_and_the_oldest_first(house: House) -> None:
    published(house)
    ids = rounds_in(house, [2.0] * 5)
    trainer = house.trainer(buffer_most=3)
    first = trainer.federated_step(ids, NOW)
    assert untrained_aggregates(house.shelf().database, "dedup") == ids[3:]
    second = trainer.federated_step(ids[3:], NOW)
    assert untrained_aggregates(house.shelf().database, "dedup") == []
    assert first is not None
    assert second is not None
    assert first != second
    assert house.shelf().get(second).metrics["federated_rounds"] == 2.0


def test_each_round_is_damped_by_its_own_staleness(house: House) -> None:
    published(house)
    release(house, house.trainer().federated_step(rounds_in(house, [1.0]), NOW) or 0)
    old = house.aggregate(np.full(DIMENSION, 2 * STEP), number=8, clip=WIDE, base_version=1)
    new = house.aggregate(np.full(DIMENSION, 2 * STEP), number=9, clip=WIDE, base_version=2)
    trainer = house.trainer(carry_rounding=False)
    before = house.shelf().published("dedup")[0].id
    candidate = trainer.federated_step([old, new], NOW)
    assert candidate is not None
    expected = np.rint(2 * (0.5 + 0.5 / np.sqrt(2.0))) * STEP
    inner = np.abs(head(house, before)) < 3.5
    moved = head(house, candidate) - head(house, before)
    assert moved[inner] == pytest.approx(np.full(inner.sum(), expected))
    assert house.shelf().get(candidate).metrics["federated_staleness"] == 1.0


@pytest.mark.parametrize("after", [False, True], ids=["before the commit", "after it"])
def test_a_trainer_killed_at_the_write_takes_no_round_twice(
    house: House, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    published(house)
    ids = rounds_in(house, [1.0, 2.0])
    real = RoundBuffer.store

    def dying(self: RoundBuffer, *args: Any) -> int | None:
        if after:
            real(self, *args)
        raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr(RoundBuffer, "store", dying)
        with pytest.raises(PowerCut):
            house.trainer().federated_step(ids, NOW)
    left = untrained_aggregates(house.shelf().database, "dedup")
    assert left == ([] if after else ids)
    candidate = house.trainer().federated_step(ids, NOW)
    assert candidate is not None
    assert len(_candidates(house)) == 2
    assert untrained_aggregates(house.shelf().database, "dedup") == []


def test_a_write_that_stops_halfway_leaves_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(house)
    ids = rounds_in(house, [1.0, 2.0, 3.0])

    def torn(*_: Any) -> None:
        raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr("cloud.training.buffer.note", torn)
        with pytest.raises(PowerCut):
            house.trainer().federated_step(ids, NOW)
    assert len(_candidates(house)) == 1
    assert untrained_aggregates(house.shelf().database, "dedup") == ids


def test_a_slow_twin_takes_no_round_that_the_other_has(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two trainers at once: one sees a round more, and is the later one to write."""
    published(house)
    ids = rounds_in(house, [1.0, 2.0, 4.0])
    slow, real = house.trainer(), RoundBuffer.store
    won: list[int | None] = []

    def overtaken(self: RoundBuffer, *args: Any) -> int | None:
        if not won:
            won.append(None)
            won[0] = house.trainer().federated_step(ids[:2], NOW)
        return real(self, *args)

    monkeypatch.setattr(RoundBuffer, "store", overtaken)
    assert slow.federated_step(ids, NOW) == won[0]
    assert len(_candidates(house)) == 2
    assert untrained_aggregates(house.shelf().database, "dedup") == ids[2:]


def test_what_taught_nothing_is_done_and_what_it_rounded_off_stays(house: House) -> None:
    """Updates of a third of a grid step: the first changes nothing, the second arrives."""
    first = published(house)
    ids = rounds_in(house, [0.34, 0.34])
    assert house.trainer().federated_step(ids[:1], NOW) is None
    assert house.trainer().federated_step(ids[:1], NOW + 1) is None
    candidate = house.trainer().federated_step(ids[1:], NOW)
    assert candidate is not None
    inner = np.abs(head(house, first)) < 3.5
    moved = head(house, candidate) - head(house, first)
    assert moved[inner] == pytest.approx(np.full(inner.sum(), STEP))


def test_a_rejected_candidate_leaves_no_state_behind(house: House) -> None:
    published(house)
    momentum: dict[str, Any] = {"optimiser": "fedavgm", "server_momentum": 0.5}
    ids = rounds_in(house, [2.0, -2.0, 6.0])
    trainer = house.trainer(**momentum)
    rejected = trainer.federated_step(ids[:1], NOW)
    assert rejected is not None
    again = trainer.federated_step(ids[1:2], NOW)
    assert again is not None
    assert _state(house, again).steps == 1
    assert _state(house, again).first == pytest.approx(np.full(DIMENSION, -2 * STEP))
    release(house, again)
    third = trainer.federated_step(ids[2:], NOW)
    assert third is not None
    # Stale by one release, so damped; then half of the velocity before it.
    expected = -STEP + 6 * STEP / np.sqrt(2.0)
    assert _state(house, third).steps == 2
    assert _state(house, third).first == pytest.approx(np.full(DIMENSION, expected))


def test_a_lost_state_is_a_fresh_start(house: House) -> None:
    published(house)
    momentum: dict[str, Any] = {"optimiser": "fedavgm", "server_momentum": 0.5}
    trainer, ids = house.trainer(**momentum), rounds_in(house, [2.0, 2.0])
    first = trainer.federated_step(ids[:1], NOW)
    assert first is not None
    release(house, first)
    (house.blobs / str(house.shelf().get(first).optimiser)).unlink()
    second = trainer.federated_step(ids[1:], NOW)
    assert second is not None
    assert _state(house, second).steps == 1


def test_the_journal_names_each_further_round_once(house: House) -> None:
    published(house)
    ids = rounds_in(house, [1.0, 2.0])
    house.trainer().federated_step(ids, NOW)
    house.trainer().federated_step(ids, NOW)
    with house.shelf().database.read() as connection:
        lines = connection.execute(select(events).where(events.c.kind == "buffered")).all()
    assert [line.detail for line in lines] == [
        {"model": "dedup", "aggregate": ids[0], "with": ids[1]}
    ]


def _candidates(house: House) -> list[int]:
    with house.shelf().database.read() as connection:
        return list(connection.scalars(select(releases.c.id)))


def _state(house: House, candidate: int) -> Any:
    shelf = house.shelf()
    return decode_state(shelf.blobs.get(str(shelf.get(candidate).optimiser)), DIMENSION)


async def test_rounds_pile_up_while_a_release_is_on_its_way(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tick hands the trainer all of them once everyone holds the release before."""
    on_its_way = ["dedup"]
    monkeypatch.setattr(Rollout, "staged", lambda _, model: model in on_its_way)
    ids = []
    for number in (101, 102, 103):
        with cloud.database.write() as connection:
            ids.append(_add_round(connection, number))
        await cloud.tick(START + number)
        assert untrained_aggregates(cloud.database, "dedup") == ids
    on_its_way.clear()
    await cloud.tick(START + 104)
    assert untrained_aggregates(cloud.database, "dedup") == []
    with cloud.database.read() as connection:
        rows = connection.execute(select(releases).where(releases.c.aggregate.in_(ids))).all()
    assert [row.aggregate for row in rows] == [ids[-1]]
    assert rows[0].metrics["federated_rounds"] == 3.0


def _add_round(connection: Connection, number: int) -> int:
    total = np.full(DIMENSION, round(2 * STEP * SCALE * 100), dtype="<i8")
    row = {"task": "dedup", "round": number, "base_version": 1, "n": 100, "scale": SCALE}
    row |= {"clip": WIDE, "sigma": 0.0, "total": total.tobytes(), "estimates": {}, "created": NOW}
    key = connection.execute(insert(aggregates).values(row)).inserted_primary_key
    assert key is not None
    return int(key[0])
