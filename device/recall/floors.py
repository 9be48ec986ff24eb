"""The weights under which layers are not searched, and who said so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from device.memory.records import Layer
from protocol.policy import DEFAULT_FLOOR, floors_of

__all__ = ["BY_DEFAULT", "FLOOR", "Floors"]

FLOOR = DEFAULT_FLOOR
"""Weight under which a layer is not searched (002)."""


@dataclass(frozen=True, slots=True)
class Floors:
    """One floor a layer, 0 … 1."""

    working: float = FLOOR
    structured: float = FLOOR
    raw: float = FLOOR
    source: Literal["default", "release", "settings"] = "default"
    """Who set them: nobody, the router's release, or this phone's owner."""

    @classmethod
    def in_force(cls, chosen: float | None, policy: Mapping[str, float]) -> Floors:
        """What the owner chose for all layers, else what came with the router in use."""
        if chosen is not None:
            return cls(chosen, chosen, chosen, "settings")
        return cls(**floors_of(policy), source="release") if policy else BY_DEFAULT

    def searched(self, weights: Mapping[Layer, float]) -> tuple[Layer, ...]:
        """The layers whose weight reaches their floor, in the order of `Layer`."""
        floors = self.named
        return tuple([layer for layer in Layer if weights.get(layer, 0.0) >= floors[layer.value]])

    def of(self, layer: Layer) -> float:
        """The floor of one layer."""
        return self.named[layer.value]

    @property
    def named(self) -> dict[str, float]:
        """Layer → floor."""
        return {"working": self.working, "structured": self.structured, "raw": self.raw}


BY_DEFAULT = Floors()
"""The same floor for every layer (002)."""
