"""Labelled lines and the arrays that training and evaluation read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cloud.training.config import Unit
from protocol.models.features import dedup_features, router_features
from protocol.models.spec import SPECS, ModelSpec

__all__ = ["Corpus", "Examples", "Line", "encode_lines", "joined", "load_corpus"]


@dataclass(frozen=True)
class Line:
    """One labelled example: one text (router) or two (dedup)."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    language: str
    origin: str
    """template | template-held-out | handwritten | probe | contributed; the first and the last are
    trained on, the others never."""
    unit: str
    """Whose the line is: the template it was filled in from, or the contributor who labelled it."""


@dataclass(frozen=True)
class Examples:
    """x float32[n, inputs], y float32[n, outputs] in 0/1, the language of each row.

    `units` int64[n] numbers the unit of privacy each row belongs to: rows of one number come and
    go together. Left out, every row is a unit of its own.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    languages: tuple[str, ...]
    units: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if self.units.size == 0:
            object.__setattr__(self, "units", np.arange(len(self.languages), dtype=np.int64))
        if self.units.shape != (len(self.languages),):
            raise ValueError("every row needs its unit")
        # Read-only: every trainer and evaluator of a process shares them.
        for array in (self.x, self.y, self.units):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.languages)


@dataclass(frozen=True)
class Corpus:
    """What is trained on, and three sets that never are.

    `templates` is wording of held-out templates, `written` sentences no template produced.
    `probes` is written by hand too, and no choice of training looked at it: the release gate's own.
    """

    train: Examples
    templates: Examples
    written: Examples
    probes: Examples


@cache
def load_corpus(model: str, unit: Unit = "line") -> Corpus:
    """The built-in corpus of "router" or "dedup": a few seconds the first time, then the same
    object. `unit`: what its rows' units are, each line or each template."""
    corpus = _built_in(model)
    if unit == "template":
        return corpus
    lines = replace(corpus.train, units=np.arange(len(corpus.train), dtype=np.int64))
    return replace(corpus, train=lines)


@cache
def _built_in(model: str) -> Corpus:
    # Imported here because both modules build on Line.
    from cloud.training.corpora.dedup import dedup_lines
    from cloud.training.corpora.router import router_lines

    source: Callable[[], Iterable[Line]] = router_lines if model == "router" else dedup_lines
    lines = list(source())

    def having(origin: str) -> Examples:
        return encode_lines(SPECS[model], [line for line in lines if line.origin == origin])

    origins = ("template", "template-held-out", "handwritten", "probe")
    return Corpus(*(having(origin) for origin in origins))


def encode_lines(spec: ModelSpec, lines: Sequence[Line]) -> Examples:
    """Features and label vectors of `lines`; lines of one `unit` share its number."""
    x = np.stack([_features(line) for line in lines])
    y = np.zeros((len(lines), len(spec.outputs)), dtype=np.float32)
    for row, line in enumerate(lines):
        for label in line.labels:
            y[row, spec.outputs.index(label)] = 1.0
    numbers: dict[str, int] = {}
    units = [numbers.setdefault(line.unit, len(numbers)) for line in lines]
    return Examples(x, y, tuple(line.language for line in lines), np.array(units, dtype=np.int64))


def joined(first: Examples, second: Examples) -> Examples:
    """The rows of both; the units of the second come after those of the first."""
    later = second.units + (int(first.units.max(initial=-1)) + 1)
    return Examples(
        np.concatenate([first.x, second.x]),
        np.concatenate([first.y, second.y]),
        first.languages + second.languages,
        np.concatenate([first.units, later]),
    )


def _features(line: Line) -> NDArray[np.float32]:
    if len(line.texts) == 2:
        return dedup_features(*line.texts)
    return router_features(line.texts[0])
