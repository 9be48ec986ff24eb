"""What the fleet says of its use, and how that re-weights the central corpus.

Every share comes with the noise it was bought with. Rounds are averaged by inverse variance, and
what is left of a histogram's distance from the corpus's own composition is shrunk by the part that
its noise explains (James & Stein 1961, positive part): a histogram that is all noise changes
nothing, one that is known moves the corpus to the fleet's mix. All of it is post-processing of
what phones protected before they sent it, and costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloud.training.corpora import Examples
from protocol.models.spec import ModelSpec

__all__ = [
    "COMPOSITION",
    "PHONES",
    "USAGE_TASKS",
    "FleetMix",
    "Known",
    "UsageMix",
    "carried_forward",
    "example_weights",
    "known_shares",
    "noise_of",
    "usage_mix",
]

UsageMix = Mapping[str, Mapping[str, float]]
"""Histogram name → bin → share of the fleet. A plain mapping is taken as exact."""

USAGE_TASKS = ("usage", "local_usage")
"""Rounds that tell of the fleet's use: all histograms at once, or one after the other."""
PHONES = "phones"
"""Key under which `carried_forward` may be told how many phones an aggregate is of."""
RECENT_ROUNDS = 8
"""Rounds of one histogram that are averaged: two months of weekly ones."""
LEAST, MOST = 0.25, 4.0
"""A weight's range: one odd week must not silence a language or drown the others."""
TOTAL_IN_SIGHT = 2.0
"""Standard errors by which the sum of a histogram's bins of interest must stand out of its noise;
below, their ratio means nothing."""

COMPOSITION: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "router": {
        "language": {"zh": 0.5, "en": 0.5},
        "top_layer": {"working": 0.28, "structured": 0.41, "raw": 0.31},
    },
    "dedup": {"language": {"zh": 0.56, "en": 0.44}},
}
"""Model → histogram → what the corpus is made of. Constants, never counted from the corpus at
hand: a weight may not depend on other examples, or one example would move all gradients."""
_BOTH = "mixed"
"""Phones that ask in both languages count half for each."""
_NORMAL_95 = 1.959963984540054
_SMALLEST_VARIANCE = 1e-12
"""Of a share, so that an exact one has a weight in an average."""


@dataclass(frozen=True, eq=False)
class FleetMix(Mapping[str, Mapping[str, float]]):
    """Shares averaged over recent rounds: histogram → bin → share, as a mapping.

    ``errors``: standard error of each share, for noise and for how few phones it is of; infinite
    where nothing is known.
    """

    shares: Mapping[str, Mapping[str, float]]
    errors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __getitem__(self, histogram: str) -> Mapping[str, float]:
        return self.shares[histogram]

    def __iter__(self) -> Iterator[str]:
        return iter(self.shares)

    def __len__(self) -> int:
        return len(self.shares)


@dataclass(frozen=True)
class Known:
    """A histogram's bins of interest as parts of their own sum, and each part's standard error."""

    parts: Mapping[str, float]
    errors: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The largest standard error."""
        return max(self.errors.values())

    def shrunk(self, towards: Mapping[str, float]) -> dict[str, float]:
        """The parts, moved towards `towards` by the share of their distance that noise explains."""
        noise = sum(error**2 for error in self.errors.values())
        distance = sum((self.parts[name] - towards[name]) ** 2 for name in towards)
        kept = max(0.0, 1.0 - noise / distance) if distance > 0.0 else 0.0
        return {name: part + kept * (self.parts[name] - part) for name, part in towards.items()}


def usage_mix(estimates: Mapping[str, Any]) -> FleetMix:
    """What one usage aggregate tells, from its `estimates`."""
    return carried_forward([estimates])


def noise_of(entry: Mapping[str, Any]) -> float:
    """Standard error of one estimated share, from its 95 % interval; 0 for one without: it is
    exact.

    Intervals are cut to 0–1, so the side that is not cut tells. One that is cut on both sides says
    nothing: the error is infinite.
    """
    if "low" not in entry:
        return 0.0
    low, high, estimate = (float(entry[name]) for name in ("low", "high", "estimate"))
    sides = []
    if low > 0.0:
        sides.append(estimate - low)
    if high < 1.0:
        sides.append(high - estimate)
    return max(sum(sides) / len(sides), 0.0) / _NORMAL_95 if sides else math.inf


def carried_forward(newest_first: Iterable[Mapping[str, Any]]) -> FleetMix:
    """Each histogram averaged over the newest `RECENT_ROUNDS` aggregates that have it.

    A local round answers one histogram; a round that expired leaves those before it standing. An
    aggregate's estimates may say under `PHONES` of how many phones they are: the same phones answer
    every week, so averaging makes the noise smaller and never that.
    """
    found: dict[str, list[_Told]] = {}
    for estimates in newest_first:
        for histogram, told in _told(estimates).items():
            rounds = found.setdefault(histogram, [])
            if len(rounds) < RECENT_ROUNDS:
                rounds.append(told)
    averaged = {histogram: _averaged(rounds) for histogram, rounds in found.items()}
    return FleetMix(
        {histogram: shares for histogram, (shares, _) in averaged.items()},
        {histogram: errors for histogram, (_, errors) in averaged.items()},
    )


def known_shares(mix: UsageMix, histogram: str, names: Iterable[str]) -> Known | None:
    """What `mix` tells of these bins of a histogram; None when that is nothing.

    The error of a part c of the sum T of independent bins is, to first order,
    sqrt((1-c)²·v + c²·(V-v)) / T, where v is its bin's variance and V that of T.
    """
    errors = mix.errors if isinstance(mix, FleetMix) else {}
    shares = _apart(mix.get(histogram, {}), list(names), 0.5)
    spread = {name: error**2 for name, error in errors.get(histogram, {}).items()}
    variances = _apart(spread, list(shares), 0.25)
    whole = sum(variances.values())
    total = sum(max(share, 0.0) for share in shares.values())
    if total <= TOTAL_IN_SIGHT * math.sqrt(whole):
        return None
    parts = {name: max(share, 0.0) / total for name, share in shares.items()}
    return Known(
        parts,
        {
            name: math.sqrt(
                (1.0 - part) ** 2 * variances[name] + part**2 * (whole - variances[name])
            )
            / total
            for name, part in parts.items()
        },
    )


def example_weights(examples: Examples, spec: ModelSpec, mix: UsageMix) -> NDArray[np.float32]:
    """float32[n]: how much more of an example's language and layer the fleet has than the corpus.

    Over a corpus of that composition the mean weight is 1, so a re-weighting changes no learning
    rate. A weight follows from its own example and constants alone.
    """
    composition = COMPOSITION[spec.name]
    by_language = _ratios(mix, "language", composition)
    by_layer = _ratios(mix, "top_layer", composition)
    weights = np.array([by_language[language] for language in examples.languages])
    if by_layer:
        factors = np.array([by_layer[name] for name in spec.outputs])
        weights = weights * (examples.y @ factors) / np.maximum(examples.y.sum(axis=1), 1.0)
    mean = _mean_bounded(by_language, by_layer, composition)
    bounded: NDArray[np.float32] = (np.clip(weights, LEAST, MOST) / mean).astype(np.float32)
    return bounded


def _ratios(
    mix: UsageMix, histogram: str, composition: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    corpus = composition.get(histogram, {})
    known = known_shares(mix, histogram, corpus) if corpus else None
    fleet = corpus if known is None else known.shrunk(corpus)
    return {name: fleet[name] / share for name, share in corpus.items()}


def _mean_bounded(
    by_language: Mapping[str, float],
    by_layer: Mapping[str, float],
    composition: Mapping[str, Mapping[str, float]],
) -> float:
    """Mean of the bounded weights over a corpus of that composition."""
    layers = composition.get("top_layer", {"": 1.0})
    return sum(
        share * part * min(max(by_language[language] * by_layer.get(layer, 1.0), LEAST), MOST)
        for language, share in composition["language"].items()
        for layer, part in layers.items()
    )


@dataclass(frozen=True)
class _Told:
    """One histogram of one aggregate: bin → share, bin → standard error of the noise."""

    phones: float
    shares: dict[str, float] = field(default_factory=dict)
    noise: dict[str, float] = field(default_factory=dict)


def _told(estimates: Mapping[str, Any]) -> dict[str, _Told]:
    phones = float(estimates.get(PHONES, math.inf))
    told: dict[str, _Told] = {}
    for entry in estimates.get("histograms", ()):
        one = told.setdefault(str(entry["histogram"]), _Told(phones))
        one.shares[str(entry["bin"])] = float(entry["estimate"])
        one.noise[str(entry["bin"])] = noise_of(entry)
    return told


def _averaged(rounds: Sequence[_Told]) -> tuple[dict[str, float], dict[str, float]]:
    """Shares and standard errors of one histogram, bin by bin; the newest round comes first."""
    shares, errors = {}, {}
    for name, newest in rounds[0].shares.items():
        values = [one.shares.get(name, newest) for one in rounds]
        noise = [one.noise.get(name, math.inf) for one in rounds]
        weights = [1.0 / max(error**2, _SMALLEST_VARIANCE) for error in noise]
        whole = sum(weights)
        known = whole > 0.0
        share = float(np.average(values, weights=weights)) if known else newest
        inside = min(max(share, 0.0), 1.0)
        sampling = inside * (1.0 - inside) / rounds[0].phones
        shares[name] = share
        errors[name] = math.sqrt((1.0 / whole if known else math.inf) + sampling)
    return shares, errors


def _apart(values: Mapping[str, float], names: list[str], of_both: float) -> dict[str, float]:
    """The values of `names`, with the part of `mixed` that falls to each language."""
    both = of_both * values.get(_BOTH, 0.0) if "zh" in names else 0.0
    return {name: values.get(name, 0.0) + both for name in names}
