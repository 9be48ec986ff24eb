"""Labelled lines and the arrays that training and evaluation read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from protocol.models.features import dedup_features, router_features
from protocol.models.spec import SPECS, ModelSpec

__all__ = ["Corpus", "Examples", "Line", "encode_lines", "load_corpus"]


@dataclass(frozen=True)
class Line:
    """One labelled example: one text (router) or two (dedup)."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    language: str
    origin: str
    """template | template-held-out | handwritten; only the first is ever trained on."""


@dataclass(frozen=True)
class Examples:
    """x float32[n, inputs], y float32[n, outputs] in 0/1, the language of each row."""

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    languages: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.languages)


@dataclass(frozen=True)
class Corpus:
    """What is trained on, and two sets that never are.

    `templates` is wording of held-out templates, `written` sentences no template produced.
    """

    train: Examples
    templates: Examples
    written: Examples


@cache
def load_corpus(model: str) -> Corpus:
    """The corpus of "router" or "dedup": half a second the first time, then the same object."""
    # Imported here because both modules build on Line.
    from cloud.training.corpora.dedup import dedup_lines
    from cloud.training.corpora.router import router_lines

    source: Callable[[], Iterable[Line]] = router_lines if model == "router" else dedup_lines
    lines = list(source())

    def having(origin: str) -> Examples:
        return encode_lines(SPECS[model], [line for line in lines if line.origin == origin])

    return Corpus(having("template"), having("template-held-out"), having("handwritten"))


def encode_lines(spec: ModelSpec, lines: Sequence[Line]) -> Examples:
    """Features and label vectors of `lines`."""
    x = np.stack([_features(line) for line in lines])
    y = np.zeros((len(lines), len(spec.outputs)), dtype=np.float32)
    for row, line in enumerate(lines):
        for label in line.labels:
            y[row, spec.outputs.index(label)] = 1.0
    # Read-only: every trainer and evaluator of a process shares them.
    x.setflags(write=False)
    y.setflags(write=False)
    return Examples(x, y, tuple(line.language for line in lines))


def _features(line: Line) -> NDArray[np.float32]:
    if len(line.texts) == 2:
        return dedup_features(*line.texts)
    return router_features(line.texts[0])
