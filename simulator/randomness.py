"""Every random draw of a virtual world, keyed by what it is for.

A stream's key is a hash of (seed, names…), so a phone draws the same numbers whichever host runs
it and whatever its neighbours do. On real phones the bits come from the operating system; here they
must not, or a seed could not replay a world.
"""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["KeyedBits", "generator", "stream_key"]

_KEY_BYTES = 32
_PHILOX_KEY_BYTES = 16
_COUNTER_BYTES = 8


def stream_key(seed: int, *names: str | int) -> bytes:
    """32 bytes naming one stream of the world `seed`; every part is length-prefixed."""
    digest = hashlib.blake2b(digest_size=_KEY_BYTES, person=b"reverie-world")
    for part in (seed, *names):
        text = str(part).encode()
        digest.update(len(text).to_bytes(_COUNTER_BYTES, "big") + text)
    return digest.digest()


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A reproducible numeric generator (counter-based Philox) for one stream."""
    key = int.from_bytes(stream_key(seed, *names)[:_PHILOX_KEY_BYTES], "big")
    return np.random.Generator(np.random.Philox(key=key))


class KeyedBits:
    """A `BitSource` over SHAKE-256: call number i yields SHAKE(key ‖ i). Picklable."""

    def __init__(self, seed: int, *names: str | int) -> None:
        self._key = stream_key(seed, "bits", *names)
        self._calls = 0

    def __call__(self, size: int) -> bytes:
        """The next `size` bytes of the stream."""
        counter = self._calls.to_bytes(_COUNTER_BYTES, "big")
        self._calls += 1
        return hashlib.shake_256(self._key + counter).digest(size)
