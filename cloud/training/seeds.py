"""Where training's randomness comes from: a seed in a simulated world, else the system."""

from __future__ import annotations

import os
from hashlib import sha256

import numpy as np

__all__ = ["generator", "key_for"]

KEY_BYTES = 16


def key_for(seed: int | None, *names: str | int) -> int:
    """A 128-bit key: of `seed` and `names` when seeded, fresh from the system otherwise.

    Noise drawn from a known seed hides nothing: seeds are for simulated worlds.
    """
    if seed is None:
        return int.from_bytes(os.urandom(KEY_BYTES), "little")
    digest = sha256("\x1f".join(map(str, (seed, *names))).encode()).digest()
    return int.from_bytes(digest[:KEY_BYTES], "little")


def generator(key: int) -> np.random.Generator:
    """numpy's counter-based Philox under that key."""
    return np.random.Generator(np.random.Philox(key=key))
