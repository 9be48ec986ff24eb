"""A fleet's phones as numpy batches: whose examples they hold, and what a round of them sends.

Training is the phones' own (device/learning/training.py) with one more axis, held equal to it by a
test. The phones that are trained may stand for more: the noise is exactly that of the larger
fleet, the mean's sampling error that of the trained ones, so an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from device.learning.mlp import first_trained_layer
from device.learning.training import BATCH_EXAMPLES, EXAMPLE_CLIP
from privacy.budget import Terms
from privacy.estimation import total_noise
from privacy.lattice import share_variance, total_variance
from privacy.mechanisms.table import gaussian_table
from protocol.models import ModelSpec, Weights
from tests.benchmarks.learning_data import RealSet

__all__ = [
    "Fleet",
    "RoundSum",
    "Rows",
    "Vectors",
    "clipped",
    "fleet_of",
    "noisy_sum",
    "shuffled",
    "updates",
]

LANGUAGE_SHARES = {"zh": 0.7, "en": 0.3}
"""Of the phones of a fleet; unlike the even shares of the cloud's corpus."""
EXAMPLES = 16.0
"""Median examples a phone has when a round opens, log-normal among phones."""
SPREAD = 0.8
"""Standard deviation of the logarithm: one phone in twenty has four times as many."""
MOST_EXAMPLES = 64
CONCENTRATION = 0.5
"""Dirichlet α of a phone's mix over kinds of examples: most phones know two or three of them."""
TINY = 1e-7

Array = NDArray[np.float32]
Vectors = NDArray[np.float64]
Rows = NDArray[np.int64]
Orders = Callable[[int], Rows]
"""Epoch → int64[phones, most], a permutation of each phone's own examples, padding last."""


@dataclass(frozen=True)
class Fleet:
    """rows int64[phones, most]: places in the real set, padded with 0; counts int64[phones]."""

    rows: Rows
    counts: Rows

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True)
class RoundSum:
    """What the servers join: int64[d] in lattice units, of `n` phones; std of its noise."""

    total: Rows
    n: int
    scale: int
    sigma: float


def fleet_of(real: RealSet, phones: int, rng: np.random.Generator) -> Fleet:
    """Phones of one language each, their number of examples log-normal, their kinds by Dirichlet.

    Where the rows belong to persons a phone is one person's; pairs belong to nobody, and a
    phone's mix runs over all data sets and labels.
    """
    drawn = np.exp(rng.normal(np.log(EXAMPLES), SPREAD, phones))
    counts = np.clip(drawn.astype(np.int64), 1, MOST_EXAMPLES)
    rows = np.zeros((phones, MOST_EXAMPLES), np.int64)
    pools = _pools(real)
    languages = [name for name in LANGUAGE_SHARES if name in pools]
    shares = np.array([LANGUAGE_SHARES[name] for name in languages])
    chosen = rng.choice(len(languages), phones, p=shares / shares.sum())
    for phone, count in enumerate(counts):
        owners = pools[languages[chosen[phone]]]
        kinds = owners[int(rng.integers(len(owners)))]
        mix = rng.dirichlet(np.full(len(kinds), CONCENTRATION))
        numbers = rng.multinomial(count, mix)
        picked = [rng.choice(kind, number) for kind, number in zip(kinds, numbers, strict=True)]
        rows[phone, :count] = rng.permutation(np.concatenate(picked))
    return Fleet(rows, counts)


def _pools(real: RealSet) -> dict[str, list[list[Rows]]]:
    """Language → owners → rows of each of the owner's kinds."""
    languages = np.array(real.languages)
    persons = real.owners if real.personal else np.full(len(real), "anyone")
    pools: dict[str, list[list[Rows]]] = {}
    for language in sorted(set(real.languages)):
        spoken = languages == language
        for person in sorted(set(persons[spoken].tolist())):
            own = spoken & (persons == person)
            kinds = sorted(set(real.kinds[own].tolist()))
            pools.setdefault(language, []).append(
                [np.flatnonzero(own & (real.kinds == kind)) for kind in kinds]
            )
    return pools


def updates(
    spec: ModelSpec,
    weights: Weights,
    real: RealSet,
    fleet: Fleet,
    *,
    epochs: int,
    lr: float,
    orders: Orders,
) -> Vectors:
    """`local_update` of every phone at once, float64[phones, head_dimension]."""
    first = first_trained_layer(spec, head_only=True)
    hidden = real.x
    for layer in range(1, first):
        hidden = np.maximum(hidden @ weights[f"w{layer}"] + weights[f"b{layer}"], np.float32(0))
    layers = range(first, spec.depth + 1)
    held = {
        f"{kind}{layer}": np.repeat(weights[f"{kind}{layer}"][None], len(fleet), axis=0)
        for layer in layers
        for kind in "wb"
    }
    batches = -(-int(fleet.counts.max()) // BATCH_EXAMPLES)
    for epoch in range(epochs):
        rows = np.take_along_axis(fleet.rows, orders(epoch), axis=1)
        for batch in range(batches):
            span = slice(batch * BATCH_EXAMPLES, (batch + 1) * BATCH_EXAMPLES)
            sizes = np.clip(fleet.counts - span.start, 0, BATCH_EXAMPLES)
            active = np.flatnonzero(sizes)
            part = {name: array[active] for name, array in held.items()}
            chosen = rows[active, span][:, : int(sizes.max())]
            _step(spec, part, hidden[chosen], real.y[chosen], sizes[active], lr, layers)
            for name, array in part.items():
                held[name][active] = array
    moved = [(held[name] - weights[name]).reshape(len(fleet), -1) for name in spec.head]
    return np.concatenate(moved, axis=1).astype(np.float64)


def _step(
    spec: ModelSpec,
    held: Weights,
    inputs: Array,
    labels: Array,
    sizes: Rows,
    lr: float,
    layers: range,
) -> None:
    """One batch of every phone: `clipped_gradient` and its step, with a leading axis of phones."""
    activations = [inputs]
    for layer in layers[:-1]:
        raised = activations[-1] @ held[f"w{layer}"] + held[f"b{layer}"][:, None]
        activations.append(np.maximum(raised, np.float32(0)))
    error = _outputs(spec, activations[-1] @ held[f"w{spec.depth}"], held) - labels
    errors = {}
    squares = np.zeros(inputs.shape[:2], np.float32)
    for layer in reversed(layers):
        below = activations[layer - layers.start]
        errors[layer] = error
        squares += (_square(below) + 1.0) * _square(error)
        if layer > layers.start:
            error = np.where(below > 0, error @ held[f"w{layer}"].transpose(0, 2, 1), np.float32(0))
    shares = np.minimum(1.0, EXAMPLE_CLIP / np.maximum(np.sqrt(squares), TINY))
    shares = shares * (np.arange(inputs.shape[1]) < sizes[:, None]) / sizes[:, None]
    for layer in layers:
        scaled = (errors[layer] * shares[..., None]).astype(np.float32)
        slope = activations[layer - layers.start].transpose(0, 2, 1) @ scaled
        held[f"w{layer}"] -= np.float32(lr) * slope
        held[f"b{layer}"] -= np.float32(lr) * scaled.sum(axis=1)


def _outputs(spec: ModelSpec, products: Array, held: Weights) -> Array:
    logits = products + held[f"b{spec.depth}"][:, None]
    if spec.output == "sigmoid":
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -60.0, 60.0))), np.float32)
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True), np.float32)


def _square(rows: Array) -> Array:
    squares: Array = np.einsum("pij,pij->pi", rows, rows)
    return squares


def shuffled(fleet: Fleet, rng: np.random.Generator) -> Orders:
    """Fresh orders for every epoch."""

    def order(_: int) -> Rows:
        keys = rng.random(fleet.rows.shape, dtype=np.float32)
        keys[np.arange(fleet.rows.shape[1]) >= fleet.counts[:, None]] = 2.0
        places: Rows = np.argsort(keys, axis=1)
        return places

    return order


def clipped(vectors: Vectors, terms: Terms, rng: np.random.Generator) -> Rows:
    """int64[phones, d]: each vector clipped and rounded at random onto the round's lattice.

    The gate's `clip_to_lattice` but for the last unit of a vector on the ball's very surface.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled = vectors * (terms.scale * np.minimum(1.0, terms.clip / np.maximum(lengths, TINY)))
    floor = np.floor(scaled)
    up = rng.random(scaled.shape, dtype=np.float32) < scaled - floor
    points: Rows = (floor + up).astype(np.int64)
    return points


def noisy_sum(
    lattice: Rows, n: int, terms: Terms, rng: np.random.Generator, *, noise: bool = True
) -> RoundSum:
    """The sum over `n` phones for which the rows of `lattice` stand, with a round's whole noise:
    a share of every phone and the helper's (a sum of discrete Gaussians is one of the summed
    variance; privacy/lattice.py)."""
    total = np.rint(lattice.sum(axis=0) * (n / len(lattice))).astype(np.int64)
    if not noise:
        return RoundSum(total, n, terms.scale, 0.0)
    variance = n * share_variance(terms.sigma, terms.scale, terms.n_min)
    variance += total_variance(terms.sigma, terms.scale)
    drawn = gaussian_table(variance).sample(lattice.shape[1], rng.bytes)
    return RoundSum(total + drawn, n, terms.scale, total_noise(terms.sigma, n, terms.n_min))
