"""Labelled feature vectors from feedback, sealed and bounded to the newest few hundred.

A router example is a query's features with one label a layer: 1 where a memory that helped came
from. A dedup example is a pair's features with its class. Only features are kept, never the words,
and they are kept as float16: the models' grids are far coarser than its 11 bits. Beside them stand
short digests of the turns, texts and words they were made from: what a user forgets takes the
examples drawn from it along. All of it stays in the sealed log, where training reads it; RAM holds
no more than where each example stands.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgpack
import numpy as np
from numpy.typing import NDArray

from device.actors import DomainError
from device.language.kept import kept
from device.language.tokens import content_of
from device.memory.records import Layer
from device.vault import SealedLog
from protocol.models import DEDUP, FEATURE_VERSION, ROUTER, SPECS, ModelSpec

__all__ = ["DEDUP_LABELS", "ExampleInvalid", "ExampleStore", "layer_label"]

MAX_EXAMPLES = 500
"""Examples kept for each model; older ones leave first."""
ERASE_BATCH = 100
"""Surplus examples that wait to be erased together: an erase rewrites whole segments."""
DIGEST_BYTES = 8
MARK_BYTES = 5
"""Of the digest of one turn, text or word an example was made from, this much is kept: a hundred
thousand marks of other words make one forgetting in ten million take an example too many."""
MAX_WORDS = 64
"""Words of one text that are marked."""
DEDUP_LABELS: tuple[str, ...] = DEDUP.outputs

Array = NDArray[np.float32]


class ExampleInvalid(DomainError):
    """Features or label that do not fit the model."""


@dataclass(frozen=True, slots=True)
class _Example:
    model: str
    sequence: int
    features: NDArray[np.float16]
    label: NDArray[np.float16]
    marks: frozenset[bytes]


class ExampleStore:
    """The only owner of the log it is given; a restart resumes where it was."""

    def __init__(self, log: SealedLog, *, limit: int = MAX_EXAMPLES) -> None:
        self._log = log
        self._limit = limit
        self._sequences = {model: array("q") for model in SPECS}
        """Where the examples of each model stand in the log, oldest first."""
        self._barred: set[bytes] = set()
        """Marks of turns forgotten meanwhile: feedback on an older answer may still name them."""
        stale = []
        for sequence, payload in log.read():
            example = _example_of(sequence, payload)
            if example is None:
                stale.append(sequence)
            else:
                self._sequences[example.model].append(sequence)
        if stale:
            log.erase(stale)
        self._trim(slack=0)

    def add_router(
        self,
        query_features: Array,
        layer_label: Sequence[float] | Array,
        *,
        query: str = "",
        turns: Iterable[str] = (),
    ) -> None:
        """Keep `router_features` of a query with a label in 0 … 1 for each of `ROUTER.outputs`.

        `query` and the ids of the `turns` that answered it say later whether it must go.
        """
        marks = _marks(turns, [query])
        self._add(ROUTER, query_features, np.asarray(layer_label, np.float32), marks)

    def add_dedup(self, pair_features: Array, label: str, *, texts: Iterable[str] = ()) -> None:
        """Keep `dedup_features` of a pair (`texts`) with one of `DEDUP_LABELS`."""
        if label not in DEDUP_LABELS:
            raise ExampleInvalid(f"a verdict is one of {', '.join(DEDUP_LABELS)}")
        one_hot = np.asarray([name == label for name in DEDUP_LABELS], np.float32)
        self._add(DEDUP, pair_features, one_hot, _marks((), texts))

    def count(self, model: str) -> int:
        """How many examples `training_set` would give."""
        return min(len(self._sequences[model]), self._limit)

    def training_set(self, model: str) -> tuple[Array, Array]:
        """The newest examples of `model`, (n, inputs) and (n, outputs), n may be 0."""
        spec = SPECS[model]
        newest = self._sequences[model][-self._limit :]
        inputs = np.zeros((len(newest), spec.layers[0]), np.float32)
        labels = np.zeros((len(newest), spec.layers[-1]), np.float32)
        if newest:
            mine = (one for one in self._read(newest[0] - 1) if one.model == model)
            for row, example in enumerate(mine):
                inputs[row] = example.features
                labels[row] = example.label
        return inputs, labels

    def forget(
        self, *, turns: Iterable[str] = (), texts: Iterable[str] = (), words: str = ""
    ) -> int:
        """Erase for good what was made from these turns (ids), from any of these whole texts, or
        from a text that holds all of these words; returns how many went."""
        turn_marks = {_mark("turn", turn) for turn in turns}
        self._barred |= turn_marks
        wanted = turn_marks | {_mark("text", _letters(text)) for text in texts}
        every = frozenset(_word_marks(words))
        gone = {
            example.sequence
            for example in self._read()
            if example.marks & wanted or (every and every <= example.marks)
        }
        if gone:
            for model, held in self._sequences.items():
                self._sequences[model] = array("q", (n for n in held if n not in gone))
            self._log.erase(gone)
        return len(gone)

    def forget_all(self) -> int:
        """Erase every example for good; returns how many there were."""
        gone = [sequence for held in self._sequences.values() for sequence in held]
        if gone:
            self._log.erase(gone)
        self._sequences = {model: array("q") for model in SPECS}
        return len(gone)

    def _add(self, spec: ModelSpec, features: Array, label: Array, marks: frozenset[bytes]) -> None:
        if features.shape != (spec.layers[0],) or label.shape != (spec.layers[-1],):
            raise ExampleInvalid(f"an example of {spec.name} does not have the model's sizes")
        if not (np.isfinite(features).all() and np.isfinite(label).all()):
            raise ExampleInvalid(f"an example of {spec.name} holds a value that is no number")
        if marks & self._barred:
            return
        half, target = features.astype(np.float16), label.astype(np.float16)
        joined = b"".join(sorted(marks))
        entry = [spec.name, FEATURE_VERSION, _to_bytes(half), _to_bytes(target), joined, MARK_BYTES]
        sequence = self._log.append(msgpack.packb(entry))
        self._sequences[spec.name].append(sequence)
        self._trim(slack=ERASE_BATCH)

    def _read(self, after: int = -1) -> Iterator[_Example]:
        """The examples with a sequence over `after`, oldest first."""
        for sequence, payload in self._log.read(after):
            if (example := _example_of(sequence, payload)) is not None:
                yield example

    def _trim(self, slack: int) -> None:
        for model, held in self._sequences.items():
            surplus = len(held) - self._limit
            if surplus > slack:
                self._log.erase(held[:surplus])
                self._sequences[model] = held[surplus:]


def _example_of(sequence: int, payload: bytes) -> _Example | None:
    """A logged example; None when it was made with other features or another model, or before
    examples knew what they were made from."""
    match msgpack.unpackb(payload):
        case [str(model), version, bytes(features), bytes(label), bytes(marks), *width] if (
            model in SPECS and version == FEATURE_VERSION
        ):
            step = width[0] if width else DIGEST_BYTES  # whole digests, before they were cut
            cut = range(0, len(marks), step)
            known = frozenset(marks[start : start + MARK_BYTES] for start in cut)
            return _Example(model, sequence, _from_bytes(features), _from_bytes(label), known)
    return None


def layer_label(used: Iterable[Layer]) -> Array:
    """Router label of one answer: 1 for every layer that a memory which helped came from."""
    helpful = {layer.value for layer in used}
    return np.asarray([name in helpful for name in ROUTER.outputs], np.float32)


def _marks(turns: Iterable[str], texts: Iterable[str]) -> frozenset[bytes]:
    marks = {_mark("turn", turn) for turn in turns}
    for text in texts:
        if text:
            marks.add(_mark("text", _letters(text)))
            marks.update(_word_marks(text))
    return frozenset(marks)


@kept
def _word_marks(text: str) -> tuple[bytes, ...]:
    words = list(dict.fromkeys(content_of(text)))[:MAX_WORDS]
    return tuple(_mark("word", word) for word in words)


def _mark(kind: str, name: str) -> bytes:
    said = f"{kind}:{name}".encode()
    return hashlib.blake2b(said, digest_size=DIGEST_BYTES).digest()[:MARK_BYTES]


@kept
def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _to_bytes(values: NDArray[np.float16]) -> bytes:
    return values.astype("<f2").tobytes()


def _from_bytes(data: bytes) -> NDArray[np.float16]:
    return np.frombuffer(data, "<f2").astype(np.float16)
