"""Random bits: the operating system's in service, a seed's in a reproducible world."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

__all__ = ["BitSource", "SeededBits", "bits_for"]

BitSource = Callable[[int], bytes]
_NONCE = bytes(16)


class SeededBits:
    """A ChaCha20 keystream under sha256(seed, label): n -> the next n bytes.

    Reproducible, and therefore never private: only for simulation.
    """

    def __init__(self, seed: int, label: str) -> None:
        key = sha256(f"reverie|{seed}|{label}".encode()).digest()
        self._stream = Cipher(algorithms.ChaCha20(key, _NONCE), mode=None).encryptor()

    def __call__(self, count: int) -> bytes:
        """The next `count` bytes."""
        return self._stream.update(bytes(count))


def bits_for(seed: int | None, label: str) -> BitSource:
    """The stream called `label` of a seeded world; the operating system's bits without a seed."""
    return os.urandom if seed is None else SeededBits(seed, label)
