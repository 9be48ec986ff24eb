"""Which layers a query goes to (002, section on the router).

coarse  rules, sure of themselves: attribute → working, time word → structured,
        long or several entities → raw
fine    a three-layer MLP on the query's features → a weight a layer
none    no model yet: every layer at full weight
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal

import numpy as np

from device.language import attribute_asked, find_times
from device.language.entities import find_people, find_place
from device.memory.records import Layer
from protocol.models import ROUTER, Weights, forward, router_features
from protocol.models.tokens import tokens
from protocol.params import Parameters

__all__ = ["FLOOR", "VAGUE_GRAINS", "Route", "Router"]

FLOOR = 0.1
"""Weight under which a layer is not searched (002)."""
LONG_UNITS = 18
"""Words (and half of the Chinese characters) from which a query is long."""
CJK_CHARACTERS_A_WORD = 2
SEVERAL_ENTITIES = 2
VAGUE_GRAINS = frozenset({"second"})
"""Times that name no day: "where do I live now" asks for no time index."""
_NAMED = re.compile(
    r"(?<=[\w,] )(?!I\b)[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*|[《“「『][^》”」』]+[》”」』]"
)

Decider = Literal["rule", "model", "fallback"]


@dataclass(frozen=True, slots=True)
class Route:
    """A weight 0 … 1 for every layer, and who decided it."""

    weights: Mapping[Layer, float]
    decided_by: Decider

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers to search, in the order of `Layer`."""
        return tuple(layer for layer in Layer if self.weights.get(layer, 0.0) >= FLOOR)


class Router:
    """Routes queries with the parameters it is given; None before the first release."""

    def __init__(self, parameters: Parameters | None, zone: tzinfo = UTC) -> None:
        self._parameters = parameters
        self._zone = zone
        self._weights: Weights | None = None

    def route(self, query: str, now: float) -> Route:
        """The layers for `query`, asked at `now` (unix seconds)."""
        certain = self._by_rule(query, now)
        if certain is not None:
            return Route(
                {layer: 1.0 if layer is certain else 0.0 for layer in Layer}, decided_by="rule"
            )
        return self._by_model(query) or Route(dict.fromkeys(Layer, 1.0), decided_by="fallback")

    def _by_rule(self, query: str, now: float) -> Layer | None:
        if attribute_asked(query) is not None:
            return Layer.WORKING
        times = find_times(query, datetime.fromtimestamp(now, self._zone))
        if any(time.grain not in VAGUE_GRAINS for time in times):
            return Layer.STRUCTURED
        if _is_long(query) or len(_entities(query)) >= SEVERAL_ENTITIES:
            return Layer.RAW
        return None

    def _by_model(self, query: str) -> Route | None:
        """The model's weights; None without a model, or when it gives every layer up."""
        if self._parameters is None:
            return None
        if self._weights is None:
            self._weights = self._parameters.weights()
        outputs = forward(self._weights, router_features(query)[np.newaxis], ROUTER)[0]
        named = zip(ROUTER.outputs, outputs, strict=True)
        route = Route({Layer(name): float(weight) for name, weight in named}, decided_by="model")
        return route if route.layers else None


def _is_long(query: str) -> bool:
    cut = tokens(query)
    return len(cut.words) + cut.cjk / CJK_CHARACTERS_A_WORD >= LONG_UNITS


def _entities(query: str) -> set[str]:
    """Names, titles, people and a place that the query names."""
    named = set(_NAMED.findall(query)) | set(find_people(query))
    place = find_place(query)
    return named | {place} if place else named
