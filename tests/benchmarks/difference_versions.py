"""Successive versions to measure differences on: trained models, and a public knowledge file."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from cloud.training.config import TRAINING
from cloud.training.corpora import load_corpus
from cloud.training.dpsgd import train_private
from cloud.training.seeds import generator, key_for
from cloud.training.usage import example_weights
from protocol.models import SPECS, ModelSpec, initial_weights
from protocol.params import Parameters
from protocol.records import Record, canonical

__all__ = [
    "WIDE",
    "Edit",
    "knowledge",
    "refreshed",
    "retrained",
    "steps_between",
    "wide_pair",
    "wire_bytes",
]

_LAYERS = (256, 160, 56, 3)
WIDE = ModelSpec(
    name="wide",
    layers=_LAYERS,
    scales=dict.fromkeys([f"{kind}{i}" for i in (1, 2, 3) for kind in "wb"], 1 / 32),
    head=(),
    output="sigmoid",
    outputs=("a", "b", "c"),
)
"""50,307 weights: the size the design's figures were taken at."""
SEED = 17
RETRAIN_SHARE = 0.3
"""Steps of a retrain as a share of the first training's."""


def retrained(model: str, versions: int) -> list[Parameters]:
    """Versions 1 … ``versions``, each trained on from the one before at the full learning rate:
    most weights move."""
    steps = round(TRAINING[model].steps * RETRAIN_SHARE)
    return list(_lineage(model, versions, steps, 1.0, "retrain"))


def refreshed(model: str, versions: int) -> list[Parameters]:
    """Versions as the cloud's trainer refreshes them after a round of phones, under a mix of use
    that drifts: few weights reach the next point of the grid."""
    config = TRAINING[model]
    return list(_lineage(model, versions, config.refresh_steps, config.refresh_share, "refresh"))


def wide_pair() -> tuple[Parameters, Parameters]:
    """Two versions of the wide model, some gradient steps (sums of outer products) apart."""
    steps, batch, rate = 20, 32, 0.005
    rng = generator(1)
    old = initial_weights(WIDE, rng)
    new = {name: array.copy() for name, array in old.items()}
    for name in ("w1", "w2", "w3"):
        inputs, outputs = new[name].shape
        for _ in range(steps):
            x = np.maximum(rng.standard_normal((batch, inputs)), 0)
            slope = x.T @ rng.standard_normal((batch, outputs)) / np.sqrt(batch)
            new[name] -= (rate * slope).astype(np.float32)
    return Parameters.of(old, WIDE, 1), Parameters.of(new, WIDE, 2)


def steps_between(base: Parameters, target: Parameters) -> NDArray[np.int8]:
    """The difference itself, int8[parameters], mod 256."""
    return (_values(target).view(np.uint8) - _values(base).view(np.uint8)).view(np.int8)


def wire_bytes(parameters: Parameters) -> bytes:
    """The values an encoder without knowledge of the model sees: each unit's weights together."""
    return _values(parameters).tobytes()


def _values(parameters: Parameters) -> NDArray[np.int8]:
    names = sorted(parameters.arrays)
    return np.concatenate([np.ascontiguousarray(parameters.arrays[n].T).ravel() for n in names])


def _lineage(
    model: str, versions: int, steps: int, rate_share: float, purpose: str
) -> Iterator[Parameters]:
    spec, config = SPECS[model], TRAINING[model]
    examples = load_corpus(model).train
    current = _first(model)
    yield current
    for version in range(2, versions + 1):
        share = 0.5 + 0.3 * math.sin(version)
        mix = {"language": {"zh": share, "en": 1.0 - share}}
        weights = train_private(
            spec,
            current.weights(),
            examples,
            example_weights(examples, spec, mix),
            config,
            steps=steps,
            learning_rate=config.learning_rate * rate_share,
            key=key_for(SEED, model, purpose, version),
        )
        current = Parameters.of(weights, spec, version)
        yield current


@cache
def _first(model: str) -> Parameters:
    spec, config = SPECS[model], TRAINING[model]
    examples = load_corpus(model).train
    weights = train_private(
        spec,
        initial_weights(spec, generator(key_for(SEED, model, "weights"))),
        examples,
        np.ones(len(examples), dtype=np.float32),
        config,
        steps=config.steps,
        learning_rate=config.learning_rate,
        key=key_for(SEED, model, "first"),
    )
    return Parameters.of(weights, spec, 1)


_WORDS = 6_000
_RECORDS = 4_000
_OPEN, _NOW = 24 * 7, 1_790_000_000


@dataclass(frozen=True)
class Edit:
    """Two versions of the knowledge file; ``limit`` is the bytes of chance that went into the
    edit: which records, which words at their entropy, which numbers. Nothing codes it in less on
    average, given the program that made it."""

    name: str
    base: bytes
    target: bytes
    limit: float


class _Places:
    """A public directory of places: names, addresses, hours, descriptions in words under Zipf's
    law; every draw is also counted in bits."""

    def __init__(self, purpose: str) -> None:
        self._rng = random.Random(f"{SEED} {purpose}")
        vocabulary = random.Random(SEED)
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        heavy = [1 / (1 + rank) for rank in range(len(letters))]
        self._words = [
            "".join(vocabulary.choices(letters, heavy, k=vocabulary.randint(2, 10)))
            for _ in range(_WORDS)
        ]
        weights = [1 / (rank + 2.7) for rank in range(_WORDS)]
        self._heavy = list(accumulate(weights))
        total = sum(weights)
        self._word_bits = -sum(w / total * math.log2(w / total) for w in weights)
        self.bits = 0.0

    def number(self, below: int) -> int:
        self.bits += math.log2(below)
        return self._rng.randrange(below)

    def text(self, words: int) -> str:
        self.bits += words * self._word_bits
        return " ".join(self._rng.choices(self._words, cum_weights=self._heavy, k=words))

    def chosen(self, among: int, count: int) -> list[int]:
        self.bits += math.log2(math.comb(among, count))
        return self._rng.sample(range(among), count)

    def place(self) -> Record:
        opens = self.number(_OPEN)
        return {
            "id": f"place-{self.number(2**40):011x}",
            "name": self.text(3),
            "kind": ("cafe", "museum", "station", "clinic", "park", "shop")[self.number(6)],
            "address": f"{self.number(200)} {self.text(2)}",
            "text": self.text(18),
            "position": [self.number(180_000_000), self.number(90_000_000)],
            "hours": [opens, (opens + 8) % _OPEN],
            "score": self.number(500),
            "updated": _NOW - self.number(90 * 86_400),
        }


def knowledge() -> Iterator[Edit]:
    """Edits of a directory of 4,000 places: 1 % and 5 % updated, places added, a key renamed."""
    first = _Places("base")
    records = [first.place() for _ in range(_RECORDS)]
    base = canonical(records)
    for name, updated, added, removed in (
        ("1 % updated", 40, 8, 4),
        ("5 % updated", 200, 40, 20),
        ("40 added", 0, 40, 0),
    ):
        places = _Places(name)
        new = [dict(record) for record in records]
        for index in places.chosen(_RECORDS, updated):
            new[index]["score"] = places.number(500)
            new[index]["updated"] = _NOW + places.number(86_400)
            new[index]["text"] += " " + places.text(1)
        gone = set(places.chosen(_RECORDS, removed))
        new = [record for index, record in enumerate(new) if index not in gone]
        new += [places.place() for _ in range(added)]
        yield Edit(name, base, canonical(new), places.bits / 8)
    renamed = [
        {("rating" if key == "score" else key): value for key, value in record.items()}
        for record in records
    ]
    # What a renamed key says is in the program, not in chance.
    yield Edit("a key renamed in all", base, canonical(renamed), math.nan)
