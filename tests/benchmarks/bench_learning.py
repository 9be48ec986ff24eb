"""Does the loop learn, on real data, and what do phones that lie do to it?

Phones hold real questions and pairs (learning_data.py), strangers' ones say how good a version is.
`REVERIE_ABLATION=full` runs every arm and attack on five seeds, some fifteen minutes, prints the
table as markdown and writes `out/ablation.json`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.benchmarks.learning_data import RealSet, pair_examples, query_examples
from tests.benchmarks.learning_table import (
    Measured,
    arms,
    attacks,
    markdown,
    measured,
    measured_attack,
)
from tests.benchmarks.row import Row

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
OUT = Path("out/ablation.json")
FULL_SEEDS, ATTACK_SEEDS, SHORT_SEEDS = range(5, 10), range(5, 8), range(5, 7)
"""Not the first five: on them was chosen what is shipped."""
LEAST_GAIN = 1e-3
SHORT_ROUNDS = 6
"""One year of one model."""


def rows() -> Iterator[Row]:
    """Gain over the start on strangers' examples; none where the public data are not there."""
    if not SHARED.is_dir():
        return
    full = os.environ.get("REVERIE_ABLATION") == "full"
    sets = {"router": query_examples(SHARED), "dedup": pair_examples(SHARED)}
    found = _full(sets) if full else _short(sets)
    for one in found:
        yield Row(
            f"learning.{one.model}: {one.figure}, {one.name} "
            f"(gain {one.gain:+.3f} ± {one.margin:.3f}, {one.seeds} seeds)",
            one.mean,
            "share",
            peer="central start",
            peer_value=one.start,
            better="high",
            # Better than the start beyond chance, or it has not learnt.
            target=one.start + max(one.margin, LEAST_GAIN) if one.aims else None,
        )


def _short(sets: dict[str, RealSet]) -> Iterator[Measured]:
    for model, real in sets.items():
        for arm in arms(full=False, rounds=SHORT_ROUNDS):
            yield measured(model, arm, real, SHORT_SEEDS)
    for attack in attacks(full=False):
        yield measured_attack("router", attack, sets["router"], SHORT_SEEDS)


def _full(sets: dict[str, RealSet]) -> Sequence[Measured]:
    found: list[Measured] = []
    for model, real in sets.items():
        for arm in arms(full=True):
            found.append(measured(model, arm, real, FULL_SEEDS))
            _save(found)
        for attack in attacks(full=True):
            found.append(measured_attack(model, attack, real, ATTACK_SEEDS))
            _save(found)
    sys.stdout.write(markdown(found))
    return found


def _save(found: Sequence[Measured]) -> None:
    # After every arm: a run of a quarter of an hour that is stopped leaves what it has.
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps([one.as_json() for one in found], indent=2) + "\n")
