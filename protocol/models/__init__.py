"""The router and the dedup model: their shapes, their inputs and their forward pass.

sizes.py      vector sizes and FEATURE_VERSION
spec.py       ModelSpec, ROUTER, DEDUP: layers, frozen grids, the federated head
features.py   embed, router_features, dedup_features (embedding.py, queries.py, pairs.py)
tokens.py     text normalised and cut; lexicon.py word lists, frequencies.py characters
concepts.py   a text as weighed concepts (synonyms.py); views.py, alignment.py compare two texts
forward.py    numpy forward pass, initial weights
"""

from protocol.models.features import (
    EMBEDDING,
    FEATURE_VERSION,
    dedup_features,
    embed,
    router_features,
)
from protocol.models.forward import forward, initial_weights
from protocol.models.spec import (
    DEDUP,
    ROUTER,
    SPECS,
    ModelSpec,
    Weights,
    add_to_head,
    flatten_head,
    head_dimension,
)

__all__ = [
    "DEDUP",
    "EMBEDDING",
    "FEATURE_VERSION",
    "ROUTER",
    "SPECS",
    "ModelSpec",
    "Weights",
    "add_to_head",
    "dedup_features",
    "embed",
    "flatten_head",
    "forward",
    "head_dimension",
    "initial_weights",
    "router_features",
]
