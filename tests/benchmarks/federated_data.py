"""The task that federated simulators are measured on: who holds what, and who trains when.

Made once from a seed, written to one `.npz` file, and read from there by every simulator, so that
all train the same clients on the same examples from the same weights. Nothing but numpy here: the
peers' programs, in environments of their own, import it as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["LAYERS", "Task", "accuracy", "make_task", "read_task", "train_one", "write_task"]

LAYERS = (384, 64, 8)
"""Inputs, hidden and outputs: 25,160 parameters."""
EXAMPLES = 32
"""Of every client."""
BATCH = 8
RATE = 0.15
POOL, TEST = 20_000, 4_000
CENTRES = 4
"""Clusters a class has, so that no line through the origin tells two classes apart."""
NOISE = 3.6
"""Spread of a cluster in units of its centre's length, over all inputs together."""
LENGTH = 4.0
"""L2 norm of a centre."""
CONCENTRATION = 0.5
"""Dirichlet α of a client's mix of classes: most clients hold two or three of the eight."""
SEED = 20

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]


class Task(NamedTuple):
    """x float32[n, inputs], label int64[n]: the pool; clients int64[clients, EXAMPLES] places in
    it; schedule int64[rounds, clients a round]; weights float32 w1, b1, w2, b2 to begin with."""

    x: Floats
    label: Places
    test_x: Floats
    test_label: Places
    clients: Places
    schedule: Places
    w1: Floats
    b1: Floats
    w2: Floats
    b2: Floats

    @property
    def weights(self) -> list[Floats]:
        """The first weights, in order."""
        return [self.w1, self.b1, self.w2, self.b2]


def make_task(clients: int, rounds: int, a_round: int, seed: int = SEED) -> Task:
    """The task of a population of `clients`, `a_round` of which train in each of `rounds`."""
    rng = np.random.default_rng(seed)
    inputs, hidden, outputs = LAYERS
    centres = rng.normal(size=(outputs, CENTRES, inputs))
    centres *= LENGTH / np.linalg.norm(centres, axis=2, keepdims=True)
    label = rng.integers(outputs, size=POOL + TEST)
    x = centres[label, rng.integers(CENTRES, size=POOL + TEST)]
    x += rng.normal(0.0, NOISE * LENGTH / np.sqrt(inputs), x.shape)
    weights = [
        rng.normal(0.0, np.sqrt(2.0 / n), (n, m)) for n, m in ((inputs, hidden), (hidden, outputs))
    ]
    # The same for a population of any size, from here on of each its own.
    rng = np.random.default_rng([seed, clients])
    pools = [np.flatnonzero(label[:POOL] == one) for one in range(outputs)]
    held = np.empty((clients, EXAMPLES), np.int64)
    for client in held:
        counts = rng.multinomial(EXAMPLES, rng.dirichlet([CONCENTRATION] * outputs))
        client[:] = rng.permutation(
            np.concatenate([rng.choice(p, n) for p, n in zip(pools, counts, strict=True)])
        )
    schedule = np.stack([rng.choice(clients, a_round, replace=False) for _ in range(rounds)])
    return Task(
        x[:POOL].astype(np.float32),
        label[:POOL],
        x[POOL:].astype(np.float32),
        label[POOL:],
        held,
        schedule,
        weights[0].astype(np.float32),
        np.zeros(hidden, np.float32),
        weights[1].astype(np.float32),
        np.zeros(outputs, np.float32),
    )


def write_task(task: Task, path: Path) -> None:
    """Write the task for other programs."""
    np.savez(path, **task._asdict())


def read_task(path: Path | str) -> Task:
    """The task another program wrote."""
    with np.load(path) as held:
        return Task(**{name: held[name] for name in Task._fields})


def accuracy(task: Task, weights: list[Any]) -> float:
    """Share of the test examples whose strongest output is the right one."""
    hidden = np.maximum(task.test_x @ weights[0] + weights[1], 0.0)
    strongest = (hidden @ weights[2] + weights[3]).argmax(axis=1)
    return float((strongest == task.test_label).mean())


def train_one(task: Task, client: int, start: list[Any], rng: np.random.Generator) -> list[Any]:
    """One client's pass over its examples by plain SGD, as anybody writes it in numpy."""
    w1, b1, w2, b2 = (np.array(each) for each in start)
    rows = rng.permutation(task.clients[client])
    rate = np.float32(RATE / BATCH)
    for begin in range(0, len(rows), BATCH):
        chosen = rows[begin : begin + BATCH]
        x = task.x[chosen]
        hidden = np.maximum(x @ w1 + b1, 0)
        logits = hidden @ w2 + b2
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        error = raised / raised.sum(axis=1, keepdims=True)
        error[np.arange(len(chosen)), task.label[chosen]] -= 1
        below = error @ w2.T
        below[hidden <= 0] = 0
        w2 -= rate * (hidden.T @ error)
        b2 -= rate * error.sum(axis=0)
        w1 -= rate * (x.T @ below)
        b1 -= rate * below.sum(axis=0)
    return [w1, b1, w2, b2]
