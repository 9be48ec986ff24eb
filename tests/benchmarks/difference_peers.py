"""What differences are measured against. Benchmark-only; a peer not installed is left out."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

__all__ = ["Peer", "delta_readers", "difference_peers"]

Encode = Callable[[bytes, bytes], bytes]
"""(base, target) → difference."""
Decode = Callable[[bytes, bytes, int], bytes]
"""(difference, base, size of the target) → target."""


@dataclass(frozen=True)
class Peer:
    """One way to bring a base to its target."""

    name: str
    encode: Encode
    decode: Decode


def difference_peers() -> Iterator[Peer]:
    """xdelta3, bsdiff4, zstd patch-from, detools, and no base at all."""
    for make in (_xdelta3, _bsdiff, _zstd, _detools):
        try:
            yield make()
        except ImportError:
            continue
    yield Peer("zlib -9, whole", lambda _base, target: zlib.compress(target, 9), _inflated)


def delta_readers() -> Iterator[tuple[str, Decode]]:
    """Other decoders of VCDIFF: xdelta3's own in C, and one in pure Python without limits."""
    try:
        yield "xdelta3 (C)", _xdelta3().decode
    except ImportError:
        return
    try:
        reader = import_module("vcdiff_decoder")
    except ImportError:
        return
    yield "vcdiff-decoder", lambda delta, base, _size: bytes(reader.decode(base, delta))


def _xdelta3() -> Peer:
    from cloud.documents.xdelta import EncoderMissing, Xdelta, find_library

    try:
        functions = Xdelta(find_library())
    except EncoderMissing as missing:
        raise ImportError(str(missing)) from None
    return Peer(
        "xdelta3 -9",
        # A delta of unlike contents is a little larger than the target.
        lambda base, target: functions.encode(base, target, 2 * len(target) + 1024),
        functions.decode,
    )


def _bsdiff() -> Peer:
    bsdiff4 = import_module("bsdiff4")

    def decode(delta: bytes, base: bytes, _size: int) -> bytes:
        return bytes(bsdiff4.patch(base, delta))

    return Peer("bsdiff4", lambda base, target: bytes(bsdiff4.diff(base, target)), decode)


def _zstd() -> Peer:
    try:
        zstd = import_module("compression.zstd")
    except ImportError:
        zstd = import_module("backports.zstd")

    def encode(base: bytes, target: bytes) -> bytes:
        prefix = zstd.ZstdDict(base, is_raw=True).as_prefix
        return bytes(zstd.compress(target, level=19, zstd_dict=prefix))

    def decode(delta: bytes, base: bytes, _size: int) -> bytes:
        return bytes(zstd.decompress(delta, zstd_dict=zstd.ZstdDict(base, is_raw=True).as_prefix))

    return Peer("zstd -19 patch-from", encode, decode)


def _detools() -> Peer:
    detools = import_module("detools")

    def encode(base: bytes, target: bytes) -> bytes:
        patch = io.BytesIO()
        detools.create_patch(io.BytesIO(base), io.BytesIO(target), patch, compression="lzma")
        return patch.getvalue()

    def decode(delta: bytes, base: bytes, _size: int) -> bytes:
        target = io.BytesIO()
        detools.apply_patch(io.BytesIO(base), io.BytesIO(delta), target)
        return target.getvalue()

    return Peer("detools lzma", encode, decode)


def _inflated(data: bytes, _base: bytes, _size: int) -> bytes:
    return zlib.decompress(data)
