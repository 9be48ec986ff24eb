"""One copy of each version of a model for all the phones of a process.

A phone in a pocket has a pool to itself. A simulated fleet hands one pool to every phone: thousands
that adopt the same release then hold the same read-only arrays, as processes forked from one parent
would. Whose phone it is makes no difference, because every phone checks the release before it asks
the pool, and the pool goes by what the parameters are.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakValueDictionary

from protocol.models import Weights
from protocol.params import Parameters, sha256_of

__all__ = ["Held", "ModelPool"]


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Held:
    """Parameters, and the float32 weights they stand for; the arrays of both are read-only."""

    parameters: Parameters
    weights: Weights


class ModelPool:
    """Parameters by content, held for as long as anybody uses them."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: WeakValueDictionary[tuple[bytes, int], Held] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, parameters: Parameters) -> Held:
        """The one copy of `parameters`: theirs, or equal ones of the same version held already."""
        key = sha256_of(parameters), parameters.version
        held = self._held.get(key)
        if held is None:
            weights = parameters.weights()
            for array in weights.values():
                array.setflags(write=False)
            held = self._held[key] = Held(parameters, weights)
        return held
