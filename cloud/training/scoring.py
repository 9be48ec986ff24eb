"""How good exactly those parameters are that a phone would run: quantised, by protocol's pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloud.training.corpora import Corpus
from protocol.models.forward import forward
from protocol.models.spec import ModelSpec
from protocol.params import Parameters

__all__ = ["EVERYTHING", "SETS", "Answers", "Board", "Scores", "answer", "score"]

SETS = ("templates", "written", "probes")
"""What no version was trained on: held-out templates, sentences by hand, and the gate's probes."""
HELD_OUT = SETS[:2]
"""The sets a better version is chosen by. The probes only ever forbid: what is chosen by them
would be fitted to them."""
EVERYTHING = "all"
"""The slice names begin with a set, or with this for all three."""

_DECISION = 0.5
_SMALLEST = 1e-7
"""Probabilities are kept this far from 0 and 1, so that one sure mistake has a finite loss."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Board:
    """The examples versions of one model are judged on, the three sets one after the other.

    x float32[n, inputs], y float32[n, outputs] in 0/1. `units` int64[n]: rows of one number come
    from one template or family and stand or fall together. `slices` maps a name as "probes",
    "written/zh", "all/zh/working" to the bool[n] of its rows; none is empty.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    units: NDArray[np.int64]
    slices: Mapping[str, Mask]

    @classmethod
    def of(cls, corpus: Corpus, spec: ModelSpec) -> Board:
        """The board of a corpus."""
        sets = {name: getattr(corpus, name) for name in SETS}
        units, above = [], 0
        for examples in sets.values():
            units.append(examples.units + above)
            above = int(units[-1].max(initial=above - 1)) + 1
        y = np.concatenate([examples.y for examples in sets.values()])
        origins = np.repeat(list(sets), [len(examples) for examples in sets.values()])
        languages = np.array([tongue for each in sets.values() for tongue in each.languages])
        return cls(
            np.concatenate([examples.x for examples in sets.values()]),
            y,
            np.concatenate(units),
            _slices(origins, languages, y, spec),
        )


@dataclass(frozen=True)
class Answers:
    """What one version answers on a board, row by row.

    hits: the strongest output is a right one. exact: every output is on its right side of 0.5
    (router), or the same as hits (dedup). loss: cross-entropy in nats.
    """

    hits: Mask
    exact: Mask
    loss: NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """Figures in 0–1, and `loss`, mean cross-entropy in nats per example.

    accuracy, exact and loss are means of the two held-out sets, so that the small hand-written one
    counts as much as the large one; accuracy_probes stands beside them.
    """

    accuracy: float
    accuracy_templates: float
    accuracy_written: float
    accuracy_probes: float
    exact: float
    loss: float

    @classmethod
    def of(cls, answers: Answers, board: Board) -> Scores:
        """The scores of one version's answers."""

        def mean(values: NDArray[np.number[Any] | np.bool_], name: str) -> float:
            return float(np.mean(values[board.slices[name]], dtype=np.float64))

        def held_out(values: NDArray[np.number[Any] | np.bool_]) -> float:
            return sum(mean(values, name) for name in HELD_OUT) / len(HELD_OUT)

        return cls(
            accuracy=held_out(answers.hits),
            accuracy_templates=mean(answers.hits, "templates"),
            accuracy_written=mean(answers.hits, "written"),
            accuracy_probes=mean(answers.hits, "probes"),
            exact=held_out(answers.exact),
            loss=held_out(answers.loss),
        )


def score(parameters: Parameters, spec: ModelSpec, corpus: Corpus) -> Scores:
    """Scores of `parameters` on the sets of `corpus` that nothing is trained on."""
    board = Board.of(corpus, spec)
    return Scores.of(answer(parameters, spec, board), board)


def answer(parameters: Parameters, spec: ModelSpec, board: Board) -> Answers:
    """What `parameters` answer on the board."""
    outputs = forward(parameters.weights(), board.x, spec).astype(np.float64)
    hits = board.y[np.arange(len(outputs)), outputs.argmax(axis=1)] > 0.0
    sure = np.clip(outputs, _SMALLEST, 1.0 - _SMALLEST)
    terms = board.y * np.log(sure)
    exact = hits
    if spec.output == "sigmoid":
        terms = terms + (1.0 - board.y) * np.log1p(-sure)
        exact = ((outputs > _DECISION) == (board.y > 0.0)).all(axis=1)
    return Answers(hits, exact, -terms.sum(axis=1))


def _slices(
    origins: NDArray[np.str_], languages: NDArray[np.str_], y: NDArray[np.float32], spec: ModelSpec
) -> dict[str, Mask]:
    """Every set and all of them, each whole, by language, by label, and by both."""
    everyone: Mask = np.ones(len(y), dtype=np.bool_)
    tongues = {"": everyone} | {f"/{name}": languages == name for name in np.unique(languages)}
    labels = {"": everyone} | {f"/{name}": y[:, at] > 0.0 for at, name in enumerate(spec.outputs)}
    found: dict[str, Mask] = {}
    for origin in (EVERYTHING, *SETS):
        rows = everyone if origin == EVERYTHING else origins == origin
        for tongue, spoken in tongues.items():
            for label, meant in labels.items():
                found[f"{origin}{tongue}{label}"] = rows & spoken & meant
    return {name: mask for name, mask in found.items() if mask.any()}
