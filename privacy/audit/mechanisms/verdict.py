"""What a check gets, what it finds, and the verdict that comes of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from privacy.bits import BitSource

__all__ = ["Check", "Context", "Findings", "MechanismVerdict"]

_NONCE = bytes(16)


@dataclass(frozen=True, slots=True)
class MechanismVerdict:
    """The auditor's word on one mechanism.

    ``epsilon_claimed``: what the product says a release costs, at the budget's delta (at delta 0
    for local mechanisms); ``epsilon_lower_bound``: what the test proved it costs at least, at
    confidence 1 - ALPHA. None where a check has no epsilon. ``method``: how it was tested;
    ``detail``: what was found, faults first.
    """

    name: str
    ok: bool
    epsilon_claimed: float | None
    epsilon_lower_bound: float | None
    method: str
    detail: str


@dataclass(frozen=True, slots=True)
class Context:
    """What a check may depend on: a seed for its bits, and how large its samples should be.

    ``samples``: 1.0 = the full audit; smaller shrinks every sample alike (and its power).
    """

    seed: int
    samples: float = 1.0

    def bits(self, *label: object) -> BitSource:
        """A stream of its own for each label: ChaCha20 keyed by SHA-256(seed, label)."""
        text = "|".join(["reverie/audit", str(self.seed), *map(str, label)])
        key = hashlib.sha256(text.encode()).digest()
        stream = Cipher(ChaCha20(key, _NONCE), mode=None).encryptor()
        return lambda size: stream.update(bytes(size))

    def uniforms(self, size: int, *label: object) -> npt.NDArray[np.float64]:
        """float64[size] strictly inside (0, 1), from the label's stream."""
        words = np.frombuffer(self.bits("uniforms", *label)(8 * size), dtype="<u8")
        return ((words >> np.uint64(12)) + 0.5) / (1 << 52)

    def normals(self, size: int, *label: object) -> npt.NDArray[np.float64]:
        """float64[size] of standard normal values (Box-Muller), from the label's stream."""
        radius, turn = self.uniforms(2 * size, "normals", *label).reshape(2, size)
        return np.sqrt(-2.0 * np.log(radius)) * np.cos(2.0 * np.pi * turn)

    def size(self, full: int, least: int = 1) -> int:
        """``full`` scaled by the audit's sample size, at least ``least``."""
        return max(least, round(full * self.samples))


@dataclass(slots=True)
class Findings:
    """Collects faults and remarks; a check is sound when it has no fault."""

    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    epsilon_claimed: float | None = None
    epsilon_lower_bound: float | None = None

    def expect(self, holds: bool, fault: str) -> bool:
        """Record ``fault`` unless it holds; returns ``holds``."""
        if not holds and fault not in self.faults:
            self.faults.append(fault)
        return holds

    def remark(self, text: str) -> None:
        """Something a reader should know that is no fault."""
        self.remarks.append(text)

    def method(self, text: str) -> None:
        """Name a test that was run."""
        if text not in self.methods:
            self.methods.append(text)

    def bound(self, claimed: float, lower_bound: float) -> None:
        """Keep the first pair, the strictest setting's, unless a later one breaks its claim."""
        if self.epsilon_claimed is None or lower_bound > claimed:
            self.epsilon_claimed, self.epsilon_lower_bound = claimed, lower_bound

    def verdict(self, name: str) -> MechanismVerdict:
        """The verdict on ``name``."""
        return MechanismVerdict(
            name=name,
            ok=not self.faults,
            epsilon_claimed=self.epsilon_claimed,
            epsilon_lower_bound=self.epsilon_lower_bound,
            method="; ".join(self.methods),
            detail="; ".join([*self.faults, *self.remarks]),
        )


Check = Callable[[Context, Findings], None]
"""Runs one check, adding what it finds; raising anything is a fault as well."""
