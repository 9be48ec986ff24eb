"""Which layers a query goes to (002, section on the router).

coarse  rules, sure of themselves (rules.py): about 70 % of queries
fine    a three-layer MLP on the query's features → a weight a layer
none    no model yet: every layer at full weight
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal

import numpy as np

from device.memory.records import Layer
from device.recall.floors import BY_DEFAULT, Floors
from device.recall.rules import coarse
from protocol.models import ROUTER, Weights, forward, router_features
from protocol.params import Parameters

__all__ = ["Route", "Router"]

Decider = Literal["rule", "model", "fallback"]


@dataclass(frozen=True, slots=True)
class Route:
    """A weight 0 … 1 for every layer, and who decided it."""

    weights: Mapping[Layer, float]
    decided_by: Decider
    floors: Floors = BY_DEFAULT

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers to search, in the order of `Layer`."""
        return self.floors.searched(self.weights)


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
        self._parameters = parameters
        self._floors = floors
        self._zone = zone
        self._weights = weights

    def route(self, query: str, now: float) -> Route:
        """The layers for `query`, asked at `now` (unix seconds)."""
        sure = coarse(query, datetime.fromtimestamp(now, self._zone))
        if sure:
            weights = {layer: 1.0 if layer in sure else 0.0 for layer in Layer}
            return Route(weights, "rule", self._floors)
        every = dict.fromkeys(Layer, 1.0)
        return self._by_model(query) or Route(every, "fallback", self._floors)

    def _by_model(self, query: str) -> Route | None:
        """The model's weights; None without a model, or when it gives every layer up."""
        if self._parameters is None:
            return None
        if self._weights is None:
            self._weights = self._parameters.weights()
        outputs = forward(self._weights, router_features(query)[np.newaxis], ROUTER)[0]
        named = zip(ROUTER.outputs, outputs, strict=True)
        weights = {Layer(name): float(weight) for name, weight in named}
        route = Route(weights, "model", self._floors)
        return route if route.layers else None
