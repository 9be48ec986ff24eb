"""How far a step goes: the longest part of the move that the gate lets pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cloud.training.judging import Judge
from protocol.models.spec import DEDUP, head_dimension
from tests.cloud.training.conftest import House
from tests.cloud.training.test_buffer import NOW, STEP, WIDE, head, published

DIMENSION = head_dimension(DEDUP)
MOVE = 8.0
"""Grid steps of the whole move: a quarter of it is still two."""

Allow = Callable[[int], None]


@pytest.fixture
def allow(monkeypatch: pytest.MonkeyPatch) -> Allow:
    """`allow(n)`: the gate refuses all tries of a step but the n-th."""

    def install(passing: int) -> None:
        tries = 0

        def objection(*_: object) -> str:
            nonlocal tries
            tries += 1
            return "" if tries == passing else "worse"

        monkeypatch.setattr(Judge, "objection", objection)

    return install


def step(house: House, **config: Any) -> tuple[float, float]:
    """Share of the move that the candidate says it took, and the grid steps it really took."""
    first = house.shelf().published("dedup")[0].id
    update = np.full(DIMENSION, MOVE * STEP)
    aggregate = house.aggregate(update, number=1, clip=WIDE)
    candidate = house.trainer(**config).federated_step([aggregate], NOW)
    assert candidate is not None
    inner = np.abs(head(house, first)) < 3.0
    moved = (head(house, candidate) - head(house, first))[inner] / STEP
    return house.shelf().get(candidate).metrics["move_share"], float(np.median(moved))


@pytest.mark.parametrize(("passing", "share"), [(1, 1.0), (2, 0.5), (3, 0.25)])
def test_the_first_share_that_passes_is_taken(
    house: House, allow: Allow, passing: int, share: float
) -> None:
    published(house)
    allow(passing)
    said, moved = step(house)
    assert said == share
    assert moved == pytest.approx(MOVE * share)


def test_where_no_share_passes_the_whole_move_is_judged(house: House, allow: Allow) -> None:
    published(house)
    allow(0)
    assert step(house) == pytest.approx((1.0, MOVE))


def test_a_share_too_small_for_the_grid_is_not_tried(house: House, allow: Allow) -> None:
    published(house)
    allow(2)
    assert step(house, shares=(1.0, 1e-6)) == pytest.approx((1.0, MOVE))
