"""Rounds of federated learning over a cohort of phones at once, in arrays.

A phone trains by `device.learning`, alone and a batch at a time. Here many phones take the same
batch together, stacked along a leading axis of phones: the same gradients, the same clipping of
every example, equal to the phone's own to rounding (tests/simulator/test_federation.py). What they
would send is clipped as the privacy gate clips it, summed with a round's whole noise, and read by
the cloud's estimator. Any `ModelSpec` will do, not the product's two models alone.

The phones that are trained may stand for a larger fleet: the noise is exactly that of the larger
one, the error from sampling phones that of the trained ones, so an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloud.training.federated import RoundMean
from device.learning.mlp import LOGIT_LIMIT, TINY, first_trained_layer
from device.learning.training import BATCH_EXAMPLES, EXAMPLE_CLIP
from device.sync.contributions import LOCAL_EPOCHS, LOCAL_RATE
from privacy.budget import Terms
from privacy.estimation import mean_update, total_noise
from privacy.lattice import share_variance, total_variance
from privacy.mechanisms.clip import clip_to_lattice, rounding_radius
from privacy.mechanisms.table import gaussian_table
from protocol.models import ModelSpec, Weights, head_dimension

__all__ = [
    "Cohort",
    "Recipe",
    "RoundSum",
    "clipped",
    "local_updates",
    "noisy_sum",
    "own_orders",
    "plain_mean",
    "private_mean",
    "random_orders",
]

Array = NDArray[np.float32]
Rows = NDArray[np.int64]

AT_ONCE = 32
"""Phones stacked together: what they hold still fits a core's cache."""


@dataclass(frozen=True)
class Recipe:
    """A phone's local training; the defaults are the product's.

    batch: examples a step. example_clip: L2 bound of one example's gradient, infinity for none.
    head_only: only the model's federated head moves.
    """

    epochs: int = LOCAL_EPOCHS
    rate: float = LOCAL_RATE
    batch: int = BATCH_EXAMPLES
    example_clip: float = EXAMPLE_CLIP
    head_only: bool = True


@dataclass(frozen=True)
class Cohort:
    """Whose examples are whose: rows int64[phones, most] are places in a common pool, padded at
    the end with any valid place; counts int64[phones] how many of a phone's are its own."""

    rows: Rows
    counts: Rows

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def of(cls, held: Sequence[Rows]) -> Cohort:
        """The cohort of phones that each hold these places."""
        counts = np.array([len(rows) for rows in held], np.int64)
        rows = np.zeros((len(held), int(counts.max(initial=0))), np.int64)
        for phone, own in enumerate(held):
            rows[phone, : len(own)] = own
        return cls(rows, counts)

    def only(self, phones: Rows) -> Cohort:
        """The cohort of these of its phones, in order."""
        return Cohort(self.rows[phones], self.counts[phones])


@dataclass(frozen=True)
class RoundSum:
    """What the servers join: int64[d] in lattice units, of `n` phones; std of its noise."""

    total: Rows
    n: int
    scale: int
    sigma: float


def random_orders(cohort: Cohort, epochs: int, rng: np.random.Generator) -> Rows:
    """int64[epochs, phones, most]: a permutation of each phone's own places for every epoch, the
    padding last."""
    shape = (epochs, *cohort.rows.shape)
    keys = rng.random(shape, dtype=np.float32)
    keys[:, np.arange(shape[2]) >= cohort.counts[:, None]] = 2.0
    orders: Rows = np.argsort(keys, axis=2)
    return orders


def own_orders(cohort: Cohort, epochs: int, generators: Sequence[np.random.Generator]) -> Rows:
    """The same, as each phone's own generator gives it to `device.learning.local_update`."""
    most = cohort.rows.shape[1]
    orders = np.tile(np.arange(most), (epochs, len(cohort), 1))
    for phone, (rng, count) in enumerate(zip(generators, cohort.counts, strict=True)):
        for epoch in range(epochs):
            orders[epoch, phone, :count] = rng.permutation(count)
    return orders


def local_updates(
    spec: ModelSpec,
    weights: Weights,
    x: Array,
    y: Array,
    cohort: Cohort,
    orders: Rows,
    recipe: Recipe | None = None,
) -> Array:
    """Every phone's trained head minus the base head, float32[phones, head_dimension]; zeros for a
    phone without examples.

    Args:
        x, y: the pool, float32[n, inputs] and float32[n, outputs].
        orders: of `random_orders` or `own_orders`, for as many epochs as the recipe has.
        recipe: None for the product's.
    """
    updates = np.empty((len(cohort), head_dimension(spec)), np.float32)
    for phones, stack in _trained(spec, weights, x, y, cohort, orders, recipe or Recipe()):
        updates[phones] = stack.updates()
    return updates


def clipped(updates: Array, terms: Terms, rng: np.random.Generator) -> Rows:
    """int64[phones, d]: each update clipped and rounded at random onto the round's lattice.

    As `privacy.mechanisms.clip_to_lattice`, which takes over wherever a rounding came out too long;
    what lies within the last unit under the clip is shortened at once to where it seldom does.
    """
    points = np.empty(updates.shape, np.int64)
    for phone, update in enumerate(updates):
        points[phone] = _rounded(update, terms, rng)
    return points


def noisy_sum(
    total: Rows, n: int, terms: Terms, rng: np.random.Generator, *, noise: bool = True
) -> RoundSum:
    """`total` int64[d] of `n` phones with a round's whole noise: a share of every phone and the
    helper's (a sum of discrete Gaussians is one of the summed variance; privacy/lattice.py)."""
    if not noise:
        return RoundSum(total, n, terms.scale, 0.0)
    variance = n * share_variance(terms.sigma, terms.scale, terms.n_min)
    variance += total_variance(terms.sigma, terms.scale)
    drawn = gaussian_table(variance).sample(len(total), rng.bytes)
    return RoundSum(total + drawn, n, terms.scale, total_noise(terms.sigma, n, terms.n_min))


def private_mean(
    spec: ModelSpec,
    weights: Weights,
    x: Array,
    y: Array,
    cohort: Cohort,
    orders: Rows,
    terms: Terms,
    rng: np.random.Generator,
    *,
    fleet: int | None = None,
    noise: bool = True,
    recipe: Recipe | None = None,
) -> RoundMean:
    """What the cloud's step reads of a round: every phone's update clipped onto the lattice, the
    sum scaled to the `fleet` they stand for (None: themselves), the round's noise added."""
    total = np.zeros(head_dimension(spec), np.int64)
    for _, stack in _trained(spec, weights, x, y, cohort, orders, recipe or Recipe()):
        for update in stack.updates():
            total += _rounded(update, terms, rng)
    n = len(cohort) if fleet is None else fleet
    told = noisy_sum(_scaled(total, n / len(cohort)), n, terms, rng, noise=noise)
    mean = mean_update(told.total, told.n, told.scale, told.sigma)
    return RoundMean(mean.mean, mean.noise, n, terms.clip)


def plain_mean(
    spec: ModelSpec,
    weights: Weights,
    x: Array,
    y: Array,
    cohort: Cohort,
    orders: Rows,
    recipe: Recipe | None = None,
) -> RoundMean:
    """The same with no gate between: bare federated averaging, for what protection costs."""
    total = np.zeros(head_dimension(spec))
    for _, stack in _trained(spec, weights, x, y, cohort, orders, recipe or Recipe()):
        total += stack.total()
    return RoundMean(total / len(cohort), 0.0, len(cohort))


def _scaled(total: Rows, factor: float) -> Rows:
    return total if factor == 1.0 else np.rint(total * factor).astype(np.int64)


def _rounded(update: Array, terms: Terms, rng: np.random.Generator) -> NDArray[np.int32]:
    limit = int((terms.clip * terms.scale) ** 2)
    length = math.sqrt(float(np.dot(update, update))) * terms.scale
    # NaN and infinity become nothing, as at the gate: whether a phone reports tells nothing.
    if not math.isfinite(length):
        return np.zeros(len(update), np.int32)
    radius = rounding_radius(len(update), limit) or math.sqrt(limit)
    scaled = update * np.float32(terms.scale * min(1.0, radius / max(length, TINY)))
    scaled += rng.random(len(update), dtype=np.float32)
    exact = np.floor(scaled).astype(np.float64)
    if float(np.dot(exact, exact)) > limit:
        exact = clip_to_lattice(update, terms.clip, terms.scale, rng.bytes).astype(np.float64)
    points: NDArray[np.int32] = exact.astype(np.int32)
    return points


def _trained(
    spec: ModelSpec,
    weights: Weights,
    x: Array,
    y: Array,
    cohort: Cohort,
    orders: Rows,
    recipe: Recipe,
) -> Iterator[tuple[Rows, _Stack]]:
    """(places of phones in the cohort, what they learnt), some phones at a time."""
    first = first_trained_layer(spec, head_only=recipe.head_only)
    hidden = x
    for layer in range(1, first):
        hidden = np.maximum(hidden @ weights[f"w{layer}"] + weights[f"b{layer}"], np.float32(0))
    # Those with most examples first: whoever still has a batch to take is then a prefix.
    ranked = np.argsort(-cohort.counts, kind="stable")
    for start in range(0, len(ranked), AT_ONCE):
        phones = ranked[start : start + AT_ONCE]
        part = cohort.only(phones)
        most = int(part.counts.max(initial=0))
        rows = part.rows[:, :most]
        stack = _Stack(spec, weights, first, hidden[rows], y[rows], part.counts)
        for epoch in range(recipe.epochs):
            for begin in range(0, most, recipe.batch):
                stack.step(
                    orders[epoch, phones, begin : min(begin + recipe.batch, most)], begin, recipe
                )
        yield phones, stack


class _Stack:
    """Several phones in training, each with weights of its own.

    Nothing below the lowest trained layer moves, so neither do that layer's inputs, and its change
    on a phone is a combination of the phone's own examples: Δw = Xᵀ·C. Only C is kept, a row for
    each example, with X·Xᵀ (kernel, or dual, form of gradient descent). That spares a large first
    layer its copies, one for each phone, and lets a sum over phones be one matrix product.
    """

    def __init__(
        self, spec: ModelSpec, weights: Weights, first: int, x: Array, y: Array, counts: Rows
    ) -> None:
        """x float32[phones, most, d] enters layer `first`; y float32[phones, most, k]."""
        self._spec, self._base, self._first = spec, weights, first
        self._x, self._y, self._counts = x, y, counts
        phones, most, inputs = x.shape
        lowest = weights[f"w{first}"]
        start = x.reshape(-1, inputs) @ lowest + weights[f"b{first}"]
        self._start: Array = start.reshape(phones, most, -1)
        # One more: the bias is the weight of an input that is always 1.
        self._kernel: Array = x @ x.transpose(0, 2, 1) + np.float32(1)
        self._sizes: Array = np.einsum("pii->pi", self._kernel)
        self._moves = np.zeros(self._start.shape, np.float32)
        self._upper: Weights = {
            name: np.repeat(weights[name][None], phones, axis=0)
            for layer in range(first + 1, spec.depth + 1)
            for name in (f"w{layer}", f"b{layer}")
        }

    def step(self, places: Rows, begin: int, recipe: Recipe) -> None:
        """`clipped_gradient` and its step for all phones that still have examples from `begin` on:
        places int64[phones, batch] are theirs of this batch."""
        counts = np.clip(self._counts - begin, 0, places.shape[1])
        active = int(np.count_nonzero(counts))
        places, counts = places[:active, : int(counts[0])], counts[:active]
        rows = np.arange(active)[:, None]
        held = {name: array[:active] for name, array in self._upper.items()}
        raised = self._kernel[rows, places] @ self._moves[:active]
        raised += self._start[rows, places]
        activations = [raised]
        for layer in range(self._first + 1, self._spec.depth + 1):
            below = np.maximum(activations[-1], np.float32(0), out=activations[-1])
            activations.append(below @ held[f"w{layer}"] + held[f"b{layer}"][:, None])
        error = _outputs(self._spec, activations[-1]) - self._y[rows, places]
        errors: dict[int, Array] = {}
        squares = np.zeros(places.shape, np.float32)
        for layer in range(self._spec.depth, self._first, -1):
            below = activations[layer - 1 - self._first]
            errors[layer] = error
            squares += (_square(below) + 1.0) * _square(error)
            error = error @ held[f"w{layer}"].transpose(0, 2, 1)
            error[below <= 0] = 0.0
        squares += self._sizes[rows, places] * _square(error)
        paces = np.minimum(1.0, recipe.example_clip / np.maximum(np.sqrt(squares), TINY))
        paces *= (np.arange(places.shape[1]) < counts[:, None]) * (recipe.rate / counts[:, None])
        paces = paces.astype(np.float32)[..., None]
        self._moves[rows, places] -= error * paces
        for layer, its in errors.items():
            scaled = its * paces
            held[f"w{layer}"] -= activations[layer - 1 - self._first].transpose(0, 2, 1) @ scaled
            held[f"b{layer}"] -= scaled.sum(axis=1)

    def updates(self) -> Array:
        """How far each phone's head moved, float32[phones, head_dimension]."""
        phones, parts = len(self._counts), []
        for name in self._spec.head:
            if name == f"w{self._first}":
                moved = self._x.transpose(0, 2, 1) @ self._moves
            elif name == f"b{self._first}":
                moved = self._moves.sum(axis=1)
            else:
                moved = self._upper[name] - self._base[name]
            parts.append(moved.reshape(phones, -1))
        return np.concatenate(parts, axis=1)

    def total(self) -> Array:
        """The sum of `updates` over the phones, float32[head_dimension], which are not formed."""
        parts: list[Array] = []
        moved: Array
        for name in self._spec.head:
            if name == f"w{self._first}":
                inputs, outputs = self._x.shape[2], self._moves.shape[2]
                moved = self._x.reshape(-1, inputs).T @ self._moves.reshape(-1, outputs)
            elif name == f"b{self._first}":
                moved = self._moves.sum(axis=(0, 1))
            else:
                moved = (self._upper[name] - self._base[name]).sum(axis=0)
            parts.append(moved.ravel())
        return np.concatenate(parts)


def _outputs(spec: ModelSpec, logits: Array) -> Array:
    if spec.output == "sigmoid":
        bounded = np.clip(logits, -LOGIT_LIMIT, LOGIT_LIMIT)
        return np.asarray(1.0 / (1.0 + np.exp(-bounded)), np.float32)
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    softmax: Array = raised / raised.sum(axis=-1, keepdims=True)
    return softmax


def _square(rows: Array) -> Array:
    squares: Array = np.einsum("...i,...i->...", rows, rows)
    return squares
