"""The retrieval policy that travels with a router: under which weight a layer is not searched.

One floor a layer. What a router's weights are worth depends on the router, so a policy is signed,
adopted and put back together with the parameters it was found for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from protocol.models.spec import ROUTER

__all__ = [
    "DEFAULT_FLOOR",
    "FLOOR_NAMES",
    "HIGHEST_FLOOR",
    "LOWEST_FLOOR",
    "POLICY_MODEL",
    "floors_of",
]

POLICY_MODEL: Final = ROUTER.name
"""The only model that carries a policy."""
DEFAULT_FLOOR: Final = 0.1
"""Weight under which a layer is not searched (002), where no policy says otherwise."""
LOWEST_FLOOR: Final = 0.02
"""A lower floor would search nearly every layer for every query, and no router were needed."""
HIGHEST_FLOOR: Final = 0.5
"""A higher floor would skip layers that the router holds for rather right than wrong."""
FLOOR_NAMES: Final[Mapping[str, str]] = {layer: f"floor_{layer}" for layer in ROUTER.outputs}
"""Layer → how a policy calls its floor."""


def floors_of(policy: Mapping[str, float]) -> dict[str, float]:
    """Layer → floor; `DEFAULT_FLOOR` where the policy says nothing."""
    return {layer: policy.get(name, DEFAULT_FLOOR) for layer, name in FLOOR_NAMES.items()}
