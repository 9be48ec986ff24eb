"""The retrieval policy of a router: per-layer floors tuned to what the fleet asks.

    loss of a question = right layers not searched + λ · layers searched

over the questions nobody trains on, weighted to the fleet's mix of layers and languages. It is
post-processing of DP histograms and of a public corpus, and costs no privacy.

λ is 0.1, and that is 002's own price: of a router whose weights are chances, a layer is worth
searching exactly when its weight is at least λ, so a floor of 0.1 says that a search costs a tenth
of a hit. Measured on LoCoMo the default floors save 1.72 of 3.16 searches a recall, worth 0.17 hits
at that price, and lose none of them (recall .812 against .810). A real router's weights are not
chances, least of all for the layer a fleet asks seldom; what is tuned is the floor at which a
layer's next search is worth λ.

Noise must not move phones. The floors stay as they are while the fleet's mix is not known to
`KNOWN_WITHIN`, and until others beat them by `SURE` standard errors of the difference, for the
finite corpus and for what is not known of the mix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from cloud.training.corpora import Corpus, Examples
from cloud.training.usage import COMPOSITION, UsageMix, example_weights, known_shares
from protocol.models.forward import forward
from protocol.models.spec import ROUTER
from protocol.params import Parameters
from protocol.policy import DEFAULT_FLOOR, FLOOR_NAMES, HIGHEST_FLOOR, LOWEST_FLOOR, floors_of

__all__ = ["GRID", "KNOWN_WITHIN", "SEARCH_COST", "SURE", "carried", "tuned_policy"]

SEARCH_COST = 0.1
"""λ: what one layer's search costs, in hits."""
KNOWN_WITHIN = 0.02
"""Largest standard error of a layer's or a language's part of the fleet's questions under which
their mix counts as known. Production: about 1,000 phones in two months, 1,600 in one week."""
SURE = 2.0
"""Standard errors by which other floors must beat the present ones. Two and not one, because the
best of some thousand candidates looks better than it is: of 24 simulated routers for which the
default is right, one is moved."""
GRID: tuple[float, ...] = (LOWEST_FLOOR, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25,
                           0.3, 0.35, 0.4, 0.45, HIGHEST_FLOOR)  # fmt: skip
"""The floors tried for each layer: a coarse ladder, so that two routers of one corpus agree."""

Array = NDArray[np.float64]
Floors = tuple[float, ...]


def tuned_policy(
    parameters: Parameters,
    corpus: Corpus,
    mix: UsageMix,
    *,
    current: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Policy name → floor, for these parameters and a fleet of that mix.

    Args:
        parameters: the router's.
        corpus: its two held-out sets of wording are used, each with half of the weight.
        mix: as `carried_forward` gives it; a plain mapping is taken as exact.
        current: the policy phones have now; a floor it does not name is the default one.
    """
    present = floors_of(current or {})
    found = tuple(present[layer] for layer in ROUTER.outputs)
    if _is_known(mix):
        trial = _Trial(parameters, corpus, mix)
        best = trial.best()
        if trial.surely_better(best, found, mix):
            found = best
    return {FLOOR_NAMES[layer]: floor for layer, floor in zip(ROUTER.outputs, found, strict=True)}


def carried(policy: Mapping[str, float]) -> dict[str, float]:
    """What a manifest carries of a policy: nothing when all of it is the default."""
    plain = all(floor == DEFAULT_FLOOR for floor in policy.values())
    return {} if plain else dict(policy)


def _is_known(mix: UsageMix) -> bool:
    for histogram, parts in COMPOSITION[ROUTER.name].items():
        known = known_shares(mix, histogram, parts) if histogram in mix else None
        if known is None or known.worst > KNOWN_WITHIN:
            return False
    return True


class _Trial:
    """Held-out questions with what the router says of them and what they weigh in the fleet."""

    def __init__(self, parameters: Parameters, corpus: Corpus, mix: UsageMix) -> None:
        sets = (corpus.templates, corpus.written)
        weights = parameters.weights()
        self._outputs = np.concatenate([forward(weights, one.x, ROUTER) for one in sets])
        self._right = np.concatenate([one.y for one in sets]).astype(np.float64)
        self._weights = np.concatenate([_half(one, mix) for one in sets])
        self._units = _numbered(sets)
        self._groups: dict[str, dict[str, NDArray[np.bool_]]] = {
            "top_layer": {
                layer: self._right[:, place] > 0.0 for place, layer in enumerate(ROUTER.outputs)
            },
            "language": {
                language: np.array([said == language for one in sets for said in one.languages])
                for language in COMPOSITION[ROUTER.name]["language"]
            },
        }

    def losses(self, floors: Floors) -> Array:
        """float64[n]: each question's loss. Where every layer falls under its floor, the phone
        does not follow the router and searches all of them."""
        searched = self._outputs >= np.array(floors, np.float32)
        searched[~searched.any(axis=1)] = True
        missed = (self._right * ~searched).sum(axis=1)
        cost: Array = missed + SEARCH_COST * searched.sum(axis=1)
        return cost

    def best(self) -> Floors:
        """The floors of least loss; of equal ones those nearest the default."""
        skipped = [
            [(self._outputs[:, place] < np.float32(floor)) for floor in GRID]
            for place in range(len(ROUTER.outputs))
        ]
        # The loss is a sum over layers but for questions that give every layer up.
        alone = [
            [self._skipping(place, under) for under in skipped[place]]
            for place in range(len(ROUTER.outputs))
        ]
        everywhere = self._weights * (
            SEARCH_COST * len(ROUTER.outputs) - self._right.sum(axis=1)
        )  # what it changes to search all instead of none
        pairs = {
            (one, two): everywhere * skipped[0][one] * skipped[1][two]
            for one, two in product(range(len(GRID)), repeat=2)
        }
        totals = {
            (one, two, three): alone[0][one]
            + alone[1][two]
            + alone[2][three]
            + float(given_up[skipped[2][three]].sum())
            for (one, two), given_up in pairs.items()
            for three in range(len(GRID))
        }
        place = min(totals, key=lambda at: (round(totals[at], 12), _oddness(at)))
        return tuple(GRID[at] for at in place)

    def surely_better(self, floors: Floors, present: Floors, mix: UsageMix) -> bool:
        """Whether `floors` cost less than `present` by more than chance explains."""
        gains = self.losses(present) - self.losses(floors)
        gain = float((self._weights * gains).sum())
        error = math.sqrt(self._corpus_variance(gains, gain) + self._mix_variance(gains, gain, mix))
        return gain > 0.0 and gain > SURE * error

    def _skipping(self, place: int, under: NDArray[np.bool_]) -> float:
        right = self._right[:, place]
        return float((self._weights * np.where(under, right, SEARCH_COST)).sum())

    def _corpus_variance(self, gains: Array, gain: float) -> float:
        """Of the mean gain, over corpora: the questions of one template are one draw."""
        drawn = np.bincount(self._units, weights=self._weights * (gains - gain))
        return float((drawn**2).sum())

    def _mix_variance(self, gains: Array, gain: float, mix: UsageMix) -> float:
        """Of the mean gain, over what the histograms leave open: to first order the variance of a
        group's part times the square of what is gained in that group beyond the mean."""
        variance = 0.0
        for histogram, groups in self._groups.items():
            known = known_shares(mix, histogram, groups)
            if known is None:
                return math.inf
            for name, chosen in groups.items():
                weight = float(self._weights[chosen].sum())
                if weight > 0.0:
                    mean = float((self._weights * gains)[chosen].sum()) / weight
                    variance += known.errors[name] ** 2 * (mean - gain) ** 2
        return variance


def _half(examples: Examples, mix: UsageMix) -> Array:
    """The examples' weights in the fleet, half in all."""
    weights = example_weights(examples, ROUTER, mix).astype(np.float64)
    halved: Array = 0.5 * weights / weights.sum()
    return halved


def _numbered(sets: tuple[Examples, ...]) -> NDArray[np.int64]:
    """int64[n]: the unit of each question, over all sets."""
    numbers, first = [], 0
    for one in sets:
        numbers.append(one.units + first)
        first += int(one.units.max()) + 1
    return np.concatenate(numbers)


def _oddness(place: tuple[int, ...]) -> float:
    return sum(abs(math.log(GRID[at] / DEFAULT_FLOOR)) for at in place)
