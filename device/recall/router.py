"""Which layers a query goes to (002, section on the router).

coarse  rules, sure of themselves (rules.py): about 70 % of queries
fine    a three-layer MLP on the query's features → a weight a layer
none    no model yet: every layer at full weight
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Literal

import numpy as np

from device.memory.records import Layer
from device.recall.floors import BY_DEFAULT, Floors
from device.recall.rules import coarse
from protocol.models import ROUTER, Weights, forward, router_features
from protocol.models.kept import kept_up_to
from protocol.params import Parameters

__all__ = ["Route", "Router"]

Decider = Literal["rule", "model", "fallback"]

_KEPT_RULINGS = 64
_KEPT_ANSWERS = 32
"""Few: each holds the model that gave it, an older release as well."""


@dataclass(frozen=True)
class Route:
    """A weight 0 … 1 for every layer, and who decided it."""

    weights: Mapping[Layer, float]
    decided_by: Decider
    floors: Floors = BY_DEFAULT

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layers to search, in the order of `Layer`."""
        return self.floors.searched(self.weights)


@dataclass(frozen=True, slots=True)
class _Model:
    """Parameters with their weights at hand; as good as another of the same parameters."""

    parameters: Parameters
    weights: Weights = field(compare=False)


class Router:
    """Routes queries with the parameters it is given; None before the first release."""

    def __init__(
        self,
        parameters: Parameters | None,
        zone: tzinfo = UTC,
        *,
        floors: Floors = BY_DEFAULT,
        weights: Weights | None = None,
    ) -> None:
        """`zone` is where "tomorrow" is meant; layers under their floor are not searched;
        `weights` are those of the parameters, where they are at hand."""
        self._model = None
        if parameters is not None:
            self._model = _Model(parameters, parameters.weights() if weights is None else weights)
        self._floors = floors
        self._zone = zone

    def route(self, query: str, now: float) -> Route:
        """The layers for `query`, asked at `now` (unix seconds)."""
        sure = coarse(query, datetime.fromtimestamp(now, self._zone))
        if sure:
            return _ruled(sure, self._floors)
        every = dict.fromkeys(Layer, 1.0)
        return self._by_model(query) or Route(every, "fallback", self._floors)

    def _by_model(self, query: str) -> Route | None:
        """The model's weights; None without a model, or when it gives every layer up."""
        if self._model is None:
            return None
        route = _answered(query, self._model, self._floors)
        return route if route.layers else None


@lru_cache(maxsize=_KEPT_RULINGS)
def _ruled(sure: tuple[Layer, ...], floors: Floors) -> Route:
    weights = {layer: 1.0 if layer in sure else 0.0 for layer in Layer}
    return Route(MappingProxyType(weights), "rule", floors)


@kept_up_to(_KEPT_ANSWERS)
def _answered(query: str, model: _Model, floors: Floors) -> Route:
    outputs = forward(model.weights, router_features(query)[np.newaxis], ROUTER)[0]
    named = zip(ROUTER.outputs, outputs, strict=True)
    weights = {Layer(name): float(weight) for name, weight in named}
    return Route(MappingProxyType(weights), "model", floors)
