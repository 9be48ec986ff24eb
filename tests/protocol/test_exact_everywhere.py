"""The same bits on every machine: decoded parameters, noise, clipped vectors and shares.

The digests below were had on x86-64 and on arm64 (CPython 3.11 under user-mode emulation). A test
that fails on one kind of machine alone has found a float that decides something.
"""

from __future__ import annotations

import hashlib

import numpy as np

from privacy.mechanisms import clip_to_lattice, gaussian_table
from privacy.secagg.proven import ProvenSharing
from privacy.secagg.ring import RingSharing
from protocol.models.forward import initial_weights
from protocol.models.spec import SPECS, ModelSpec, Weights
from protocol.params import (
    Parameters,
    apply_difference,
    decode_full,
    encode_difference,
    encode_full,
    sha256_of,
)

DECODED = "75ff036eb8d3f63217df1b36e108d9b4"
SHARED = "5e657c0bcc68281d9203c8232cb3e654"
_VERSIONS = 5


class Bits:
    """Reproducible random bytes."""

    def __init__(self) -> None:
        self._drawn = 0

    def __call__(self, size: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(f"3|{self._drawn}".encode()).digest(size)


def moved(weights: Weights, spec: ModelSpec, rng: np.random.Generator) -> Weights:
    """A version further on: every weight up to one and a half grid steps away."""
    return {
        name: array
        + rng.integers(-2, 3, array.shape).astype(np.float32)
        * np.float32(spec.scales[name])
        * np.float32(0.75)
        for name, array in sorted(weights.items())
    }


def test_differences_decode_to_the_same_bits_on_every_machine() -> None:
    digest = hashlib.sha256()
    for _, spec in sorted(SPECS.items()):
        rng = np.random.Generator(np.random.Philox(7))
        weights = initial_weights(spec, rng)
        base = Parameters.of(weights, spec, 1)
        for version in range(2, 2 + _VERSIONS):
            weights = moved(weights, spec, rng)
            target = Parameters.of(weights, spec, version)
            blob = encode_difference(base, target)
            digest.update(sha256_of(apply_difference(base, blob, spec, version)))
            digest.update(sha256_of(decode_full(encode_full(target), spec, version)))
            base = target
    assert digest.hexdigest()[:32] == DECODED


def test_noise_clip_and_shares_are_the_same_bits_on_every_machine() -> None:
    bits, digest = Bits(), hashlib.sha256()
    for variance in (353, 1364**2):
        digest.update(gaussian_table(variance).sample(5_000, bits).tobytes())
    update = np.random.Generator(np.random.Philox(9)).normal(size=1_300)
    lattice = clip_to_lattice(update, 1.0, 4_096, bits)
    digest.update(lattice.tobytes())
    counts = ProvenSharing(32, 128)
    noisy = counts.clamp(gaussian_table(353).sample(32, bits))
    digest.update(counts.split(noisy, b"k" * 32, bits))
    digest.update(RingSharing(1_300).split(lattice, b"k" * 32, bits))
    assert digest.hexdigest()[:32] == SHARED
