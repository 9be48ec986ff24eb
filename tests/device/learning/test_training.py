"""Local training: the head moves, the rest stays, the same rng gives the same update."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from device.learning import Training, local_update, local_update_async
from device.learning.mlp import loss
from protocol.models import (
    DEDUP,
    ROUTER,
    ModelSpec,
    Weights,
    add_to_head,
    head_dimension,
    initial_weights,
    router_features,
)

Array = NDArray[np.float32]
BOTH = pytest.mark.parametrize("spec", [ROUTER, DEDUP], ids=["router", "dedup"])


def rng(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed))


def task(spec: ModelSpec, size: int = 200) -> tuple[Weights, Array, Array]:
    draw = rng(7)
    inputs = draw.normal(size=(size, spec.layers[0])).astype(np.float32)
    classes = inputs[:, : spec.layers[-1]].argmax(axis=1)
    return initial_weights(spec, draw), inputs, np.eye(spec.layers[-1], dtype=np.float32)[classes]


@BOTH
def test_update_lowers_the_loss_and_is_the_head_difference(spec: ModelSpec) -> None:
    weights, inputs, labels = task(spec)
    before = {name: array.copy() for name, array in weights.items()}
    update = local_update(spec, weights, inputs, labels, epochs=5, lr=0.5, rng=rng(1))
    assert update.shape == (head_dimension(spec),)
    assert update.dtype == np.float32
    trained = add_to_head(weights, update, spec)
    assert loss(trained, inputs, labels, spec) < 0.9 * loss(weights, inputs, labels, spec)
    for name, array in before.items():
        np.testing.assert_array_equal(weights[name], array, err_msg="the base was changed")


def test_training_only_the_head_leaves_the_frozen_layer() -> None:
    weights, inputs, labels = task(ROUTER)
    training = Training(ROUTER, weights, inputs, labels, rng=rng(1), lr=0.5)
    training.epoch()
    np.testing.assert_array_equal(training.weights["w1"], weights["w1"])
    everything = Training(ROUTER, weights, inputs, labels, rng=rng(1), lr=0.5, head_only=False)
    everything.epoch()
    assert np.abs(everything.weights["w1"] - weights["w1"]).max() > 0


def test_same_rng_same_bits_other_rng_others() -> None:
    weights, inputs, labels = task(DEDUP)
    runs = [
        local_update(DEDUP, weights, inputs, labels, epochs=2, lr=0.5, rng=rng(seed))
        for seed in (5, 5, 6)
    ]
    assert runs[0].tobytes() == runs[1].tobytes()
    assert runs[0].tobytes() != runs[2].tobytes()


def test_no_example_no_change() -> None:
    weights, inputs, labels = task(ROUTER)
    update = local_update(ROUTER, weights, inputs[:0], labels[:0], epochs=3, lr=0.5, rng=rng(1))
    assert not update.any()


async def test_async_form_equals_the_plain_one_and_stops_at_a_checkpoint() -> None:
    weights, inputs, labels = task(ROUTER)
    plain = local_update(ROUTER, weights, inputs, labels, epochs=3, lr=0.5, rng=rng(9))

    async def breathe() -> None:
        await asyncio.sleep(0)

    same = await local_update_async(
        ROUTER, weights, inputs, labels, epochs=3, lr=0.5, rng=rng(9), checkpoint=breathe
    )
    assert plain.tobytes() == same.tobytes()
    work = asyncio.ensure_future(
        local_update_async(
            ROUTER, weights, inputs, labels, epochs=10**9, lr=0.5, rng=rng(9), checkpoint=breathe
        )
    )
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(work, timeout=1.0)


def test_learns_a_person_s_own_wording() -> None:
    """A few answers from the raw layer teach the router this person's phrase."""
    queries = [f"那件事 {thing}" for thing in "猫车书课票饭药花球琴"]
    inputs = np.stack([router_features(query) for query in queries])
    labels = np.tile(np.asarray([0, 0, 1], np.float32), (len(queries), 1))
    weights = initial_weights(ROUTER, rng(3))
    update = local_update(ROUTER, weights, inputs, labels, epochs=40, lr=0.5, rng=rng(4))
    trained = add_to_head(weights, update, ROUTER)
    assert loss(trained, inputs, labels, ROUTER) < 0.5
