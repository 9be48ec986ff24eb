"""Labelled probes built into the phone: tried before a release is adopted (law 7).

`probes.tsv` holds queries with the layer that should answer them and pairs with the verdict that
should be given, Chinese and English alike. They belong to the project, not to any user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from device.learning.mlp import loss_of
from protocol.models import SPECS, dedup_features, forward, router_features

__all__ = ["ProbeSet", "Score", "probe", "probe_set"]

PROBE_FILE = "probes.tsv"
HALF = 0.5
"""A label above it marks an output as right."""
Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ProbeSet:
    """A model's probes: features float32 (n, inputs) and one-hot labels float32 (n, outputs)."""

    features: Array
    labels: Array
    languages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """How a model does on probes.

    ``accuracy`` (0 … 1, the share whose highest output is a labelled one) is what people read.
    ``loss`` (mean cross-entropy, nats) decides: it is a proper score and moves with every probe,
    where accuracy on a hundred probes moves only when one of them flips.
    """

    accuracy: float
    loss: float


def probe(
    model: str, weights: Mapping[str, Array], own: tuple[Array, Array] | None = None
) -> Score:
    """Score of `weights` (float32 arrays of the spec) on the probes of `model`.

    `own` adds this phone's examples: features (n, inputs), labels (n, outputs) of 0 and 1.
    KeyError for an unknown model.
    """
    probes = probe_set(model)
    features, labels = probes.features, probes.labels
    if own is not None and len(own[0]):
        features = np.concatenate([features, own[0]])
        labels = np.concatenate([labels, own[1]])
    spec = SPECS[model]
    outputs = forward(weights, features, spec)
    right = labels[np.arange(len(labels)), outputs.argmax(axis=1)] > HALF
    return Score(float(np.mean(right)), loss_of(outputs, labels, spec))


@cache
def probe_set(model: str) -> ProbeSet:
    """The built-in probes of `model`; read and turned into features once a process."""
    outputs = SPECS[model].outputs
    features, labels, languages = [], [], []
    text = resources.files(__package__).joinpath(PROBE_FILE).read_text(encoding="utf-8")
    for line in text.splitlines():
        name, label, language, *texts = line.split("\t")
        if name == model:
            features.append(_features(texts))
            labels.append([output == label for output in outputs])
            languages.append(language)
    return ProbeSet(np.stack(features), np.asarray(labels, np.float32), tuple(languages))


def _features(texts: list[str]) -> Array:
    return router_features(texts[0]) if len(texts) == 1 else dedup_features(texts[0], texts[1])
