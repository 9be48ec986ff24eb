"""Federated simulation: our rounds beside Flower (on Ray) and pfl, at one task (federated_data.py).

Ours are the product's parts: local training (simulator.federation, held equal to the phone's own),
the cloud's estimator and federated step, and every model rounded to the phones' int8 grid; with
the gate also each update clipped onto the lattice and the budget's noise. The figure is client
updates a second of CPU time, all processes together, so that one process and several compare.

The peers run where FLWR_PYTHON and PFL_PYTHON name an interpreter that has them (`python -m venv
DIR && DIR/bin/pip install 'flwr[simulation]==1.42.0'`; `… pfl==0.6.0 torch==2.13.0`).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cloud.training.config import TRAINING
from cloud.training.federated import RoundMean, federated_step, settled_state
from cloud.training.optimisers import OptimiserState
from privacy.budget import PRODUCTION, Terms
from protocol.models import ModelSpec, Weights
from protocol.models.spec import GRID_STEP
from protocol.params import Parameters
from simulator.federation import Cohort, Recipe, plain_mean, private_mean, random_orders
from tests.benchmarks.federated_data import (
    BATCH,
    LAYERS,
    RATE,
    Task,
    accuracy,
    make_task,
    train_one,
    write_task,
)
from tests.benchmarks.row import Row

NAMES = ("w1", "b1", "w2", "b2")
SPEC = ModelSpec(
    "mlp",
    LAYERS,
    dict.fromkeys(NAMES, GRID_STEP),
    NAMES,
    "softmax",
    tuple(f"class {number}" for number in range(LAYERS[-1])),
)
PLAIN = Recipe(epochs=1, rate=RATE, batch=BATCH, example_clip=float("inf"), head_only=False)
"""What the peers do; the product's own clips every example too."""
CLIPPED = Recipe(epochs=1, rate=RATE, batch=BATCH, head_only=False)
FEW, MANY = 1_000, 10_000
"""Clients of the two populations."""
A_ROUND = 100
ROUNDS, SHORT_ROUNDS = 10, 4
"""Of all at FEW clients; of Flower at MANY, where a round takes twice as long."""
SEEDS = 5
PEER_SECONDS = 300.0
FLOWER_TIMES, PFL_TIMES, FLAT = 50.0, 4.0, 0.8
"""Targets: times Flower's and pfl's updates a second, and the least share of the speed at FEW
clients that is left at MANY."""
NOISE_SIGMAS = 3.0
LEAST_SPREAD = 0.005
"""Accuracy between equals may differ by so many of our own deviations over seeds, or this much."""

Mean = Callable[[Weights, Cohort, np.random.Generator], RoundMean]


class Run(NamedTuple):
    """Client updates a second of CPU and of wall clock, and the final accuracy, 0 … 1."""

    per_cpu: float
    per_wall: float
    accuracy: float


def rows() -> Iterator[Row]:
    """Ours, a bare numpy loop and the peers, where they are."""
    few, many = make_task(FEW, ROUNDS, A_ROUND), make_task(MANY, ROUNDS, A_ROUND)
    ours = [_ours(few, seed) for seed in range(SEEDS)]
    gated = [_ours(few, seed, terms=PRODUCTION.terms("router", A_ROUND)) for seed in range(SEEDS)]
    far = [_ours(many, seed) for seed in range(SEEDS)]
    speed, guarded, flat = (
        statistics.median(run.per_cpu for run in runs) for runs in (ours, gated, far)
    )
    known = statistics.fmean(run.accuracy for run in ours)
    spread = max(statistics.stdev(run.accuracy for run in ours), LEAST_SPREAD)
    loop = _loop(few)
    yield _speed("ours, 1,000 clients", speed, "a bare numpy loop", loop.per_cpu)
    yield _speed("ours with clipping, lattice and noise", guarded, "ours without", speed)
    yield Row(
        "federated.updates: ours, 10,000 clients",
        flat,
        "updates/s of CPU",
        peer="ours, 1,000 clients",
        peer_value=speed,
        target=FLAT * speed,
        better="high",
    )
    yield _same("a bare numpy loop", loop, known, spread)
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, task in (("few", few), ("many", many), ("short", _short(many))):
            paths[name] = Path(folder) / f"{name}.npz"
            write_task(task, paths[name])
        yield from _beside_pfl(paths, speed, guarded, flat, known, spread)
        yield from _beside_flower(paths, speed, flat, known, spread)


def _beside_pfl(
    paths: dict[str, Path], speed: float, guarded: float, flat: float, known: float, spread: float
) -> Iterator[Row]:
    python = os.environ.get("PFL_PYTHON", "")
    if not python:
        yield Row("federated: pfl is not here (PFL_PYTHON)", speed, "updates/s of CPU")
        return
    plain = _peer(python, "federated_pfl.py", str(paths["few"]))
    private = _peer(python, "federated_pfl.py", str(paths["few"]), "1.0", "3.33")
    far = _peer(python, "federated_pfl.py", str(paths["many"]))
    yield _speed("ours, 1,000 clients", speed, "pfl", plain.per_cpu, PFL_TIMES)
    yield _speed("ours, 10,000 clients", flat, "pfl", far.per_cpu, PFL_TIMES)
    name = "ours with clipping, lattice and noise"
    yield _speed(name, guarded, "pfl, central Gaussian", private.per_cpu, PFL_TIMES)
    yield _same("pfl", plain, known, spread)


def _beside_flower(
    paths: dict[str, Path], speed: float, flat: float, known: float, spread: float
) -> Iterator[Row]:
    python = os.environ.get("FLWR_PYTHON", "")
    if not python or not _has_ray(python):
        yield Row(
            "federated: flwr[simulation] is not here (FLWR_PYTHON)", speed, "updates/s of CPU"
        )
        return
    try:
        plain = _peer(python, "federated_flower.py", str(paths["few"]))
    except subprocess.TimeoutExpired:
        name = f"federated: Flower was not done after {PEER_SECONDS:.0f} s"
        yield Row(name, speed, "updates/s of CPU")
        return
    far = _peer(python, "federated_flower.py", str(paths["short"]))
    yield _speed("ours, 1,000 clients", speed, "Flower on Ray", plain.per_cpu, FLOWER_TIMES)
    yield _speed("ours, 10,000 clients", flat, "Flower on Ray", far.per_cpu, FLOWER_TIMES)
    yield Row(
        "federated.wall: ours, one process of two cores",
        speed,
        "updates/s",
        peer="Flower on Ray, both cores",
        peer_value=plain.per_wall,
    )
    yield _same("Flower on Ray", plain, known, spread)


def _speed(name: str, value: float, peer: str, theirs: float, times: float = 0.0) -> Row:
    return Row(
        f"federated.updates: {name}",
        value,
        "updates/s of CPU",
        peer=peer,
        peer_value=theirs,
        target=times * theirs if times else None,
        better="high",
    )


def _same(peer: str, run: Run, known: float, spread: float) -> Row:
    """Accuracy of ours less the peer's, against what our own seeds differ by."""
    return Row(
        f"federated.accuracy: ours {known:.3f}, {peer} {run.accuracy:.3f}, apart",
        abs(known - run.accuracy),
        "share",
        bound=NOISE_SIGMAS * spread,
        target=NOISE_SIGMAS * spread,
    )


def _ours(task: Task, seed: int, terms: Terms | None = None) -> Run:
    """All rounds of the schedule; with `terms`, through the gate."""
    rng = np.random.Generator(np.random.SFC64(seed))
    labels = np.eye(LAYERS[-1], dtype=np.float32)[task.label]
    recipe, config = PLAIN if terms is None else CLIPPED, TRAINING["router"]
    weights: Weights = dict(zip(NAMES, task.weights, strict=True))
    state: OptimiserState | None = None
    wall, cpu = time.perf_counter(), time.process_time()
    for clients in task.schedule:
        held = task.clients[clients]
        cohort = Cohort(held, np.full(len(held), held.shape[1]))
        orders = random_orders(cohort, recipe.epochs, rng)
        pool = (SPEC, weights, task.x, labels, cohort, orders)
        if terms is None:
            mean = plain_mean(*pool, recipe)
        else:
            mean = private_mean(*pool, terms, rng, recipe=recipe)
        step = federated_step(SPEC, weights, [mean], config, state)
        state = settled_state(step, step.weights, SPEC, config)
        weights = Parameters.of(step.weights, SPEC, 1).weights()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    updates = task.schedule.size
    return Run(updates / cpu, updates / wall, accuracy(task, [weights[name] for name in NAMES]))


def _loop(task: Task) -> Run:
    """What anybody writes: client after client in numpy, float weights, plain means."""
    weights = task.weights
    rng = np.random.default_rng(0)
    wall, cpu = time.perf_counter(), time.process_time()
    for clients in task.schedule:
        ends = [train_one(task, int(client), weights, rng) for client in clients]
        weights = [np.mean(arrays, axis=0) for arrays in zip(*ends, strict=True)]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Run(task.schedule.size / cpu, task.schedule.size / wall, accuracy(task, weights))


def _short(task: Task) -> Task:
    return task._replace(schedule=task.schedule[:SHORT_ROUNDS])


def _has_ray(python: str) -> bool:
    found = subprocess.run(
        [python, "-c", "import importlib.util as u; print(u.find_spec('ray') is not None)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.strip() == "True"


def _peer(python: str, script: str, *arguments: str) -> Run:
    """What a peer's program printed last; its own errors are shown."""
    ours = {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, str(Path(__file__).with_name(script)), *arguments],
        capture_output=True,
        text=True,
        timeout=PEER_SECONDS,
        env={**os.environ, **ours},
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stderr)
        raise RuntimeError(f"{script} ended with {done.returncode}")
    told = json.loads(done.stdout.strip().splitlines()[-1])
    updates = told["updates"]
    return Run(updates / told["cpu"], updates / told["wall"], told["accuracy"])
