"""Model parameters on their frozen int8 grid, and how two versions differ.

Only int8 values travel: the grid is a constant of the model's spec. All blobs are bounded by the
spec before anything is decoded, and no C code but zlib's bounded inflate reads them.

Blob layouts (arrays in name order, each output unit's weights together):

- full: ``RVF1`` | deflate of int8 values
- difference: ``RVD2`` | first 4 bytes of the base's hash | symbols of the differences mod 256,
  given the base (protocol/entropy.py)
- sparse difference: ``RVS2`` | first 4 bytes of the base's hash | bitmap of changed rows | symbols
  of the changed rows' differences
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from protocol.entropy import deflate, inflate, pack_symbols, unpack_symbols
from protocol.errors import DifferenceInvalid, WeightsInvalid
from protocol.models.spec import ModelSpec, Weights

__all__ = [
    "Parameters",
    "apply_difference",
    "decode_full",
    "dequantise",
    "encode_difference",
    "encode_full",
    "quantise",
    "sha256_of",
]

QuantisedArrays = dict[str, NDArray[np.int8]]

_FULL: Final = b"RVF1"
_DIFFERENCE: Final = b"RVD2"
_SPARSE: Final = b"RVS2"
_BASE_MARK: Final = 4
"""Bytes of the base's hash in a difference: enough to say "wrong base", the manifest proves it."""
_LEVELS: Final = 127
"""The grid is symmetric: −127 … 127."""
_CACHED_BLOBS: Final = 4
"""Full blobs remembered: of two models the versions on their way through a fleet."""
_HASH_LABEL: Final = b"reverie/parameters/1"


@dataclass(frozen=True, eq=False)
class Parameters:
    """One version of a model: read-only int8 ``arrays`` and the grid step of each in ``scales``.

    Version 0 stands for parameters that were never published.
    """

    model: str
    version: int
    arrays: QuantisedArrays
    scales: Mapping[str, float]

    def __post_init__(self) -> None:
        if set(self.arrays) != set(self.scales):
            raise WeightsInvalid("every array needs a scale")
        frozen: QuantisedArrays = {}
        for name in sorted(self.arrays):
            if self.arrays[name].dtype != np.int8:
                raise WeightsInvalid(f"{name} is not int8")
            frozen[name] = self.arrays[name].copy()
            frozen[name].setflags(write=False)
        object.__setattr__(self, "arrays", frozen)

    @classmethod
    def of(
        cls, weights: Mapping[str, NDArray[np.float32]], spec: ModelSpec, version: int
    ) -> Parameters:
        """``weights`` rounded to the spec's grid."""
        return cls(spec.name, version, quantise(weights, spec), dict(spec.scales))

    @cached_property
    def _sha256(self) -> bytes:
        """See `sha256_of`; what is hashed never changes."""
        digest = hashlib.sha256(_HASH_LABEL)
        digest.update(_length_prefixed(self.model.encode()))
        for name, array in sorted(self.arrays.items()):
            digest.update(_length_prefixed(f"{name}{array.shape}".encode()))
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()

    def weights(self) -> Weights:
        """The float32 weights these parameters stand for."""
        return dequantise(self)


def quantise(weights: Mapping[str, NDArray[np.float32]], spec: ModelSpec) -> QuantisedArrays:
    """The nearest grid point of every weight; values beyond the grid are clipped to its end."""
    spec.check(weights)
    arrays: QuantisedArrays = {}
    for name in spec.shapes:
        steps = np.rint(np.asarray(weights[name], dtype=np.float64) / spec.scales[name])
        if not np.isfinite(steps).all():
            raise WeightsInvalid(f"{spec.name}.{name} holds a value that is not finite")
        arrays[name] = np.clip(steps, -_LEVELS, _LEVELS).astype(np.int8)
    return arrays


def dequantise(
    parameters: Parameters | Mapping[str, NDArray[np.int8]], spec: ModelSpec | None = None
) -> Weights:
    """float32 weights of Parameters, or of bare int8 arrays on the grid of ``spec``."""
    if isinstance(parameters, Parameters):
        arrays, scales = parameters.arrays, parameters.scales
    elif spec is not None:
        arrays, scales = dict(parameters), spec.scales
    else:
        raise WeightsInvalid("bare arrays need a spec to say their scale")
    return {name: arrays[name].astype(np.float32) * np.float32(scales[name]) for name in arrays}


def sha256_of(parameters: Parameters) -> bytes:
    """SHA-256 over the canonical content: model, names, shapes and values, not the version."""
    return parameters._sha256


def encode_full(parameters: Parameters) -> bytes:
    """The whole of the parameters, needing no base."""
    return _full_blob(np.concatenate(list(_rows(parameters.arrays))).tobytes())


@lru_cache(maxsize=_CACHED_BLOBS)
def _full_blob(values: bytes) -> bytes:
    """The full blob of these int8 values: finding the shortest deflate stream takes 4 ms."""
    return _FULL + deflate(values)


@lru_cache(maxsize=_CACHED_BLOBS)
def decode_full(blob: bytes, spec: ModelSpec, version: int) -> Parameters:
    """The parameters of a full blob; DifferenceInvalid unless it fits the spec exactly."""
    body = _body(blob, _FULL, spec)
    values, rest = inflate(body, spec.parameter_count)
    if rest:
        raise DifferenceInvalid("bytes follow the end")
    return _from_rows(np.frombuffer(values, dtype=np.int8), spec, version)


def encode_difference(base: Parameters, target: Parameters) -> bytes:
    """What turns ``base`` into ``target``; both must be versions of one model."""
    if base.model != target.model or _shapes(base) != _shapes(target):
        raise DifferenceInvalid("base and target are not versions of one model")
    rows = [
        # uint8 arithmetic wraps, so every pair of int8 values has one exact difference.
        (new.view(np.uint8) - old.view(np.uint8)).view(np.int8)
        for old, new in zip(_rows(base.arrays), _rows(target.arrays), strict=True)
    ]
    changed = np.array([row.any() for row in rows], dtype=bool)
    values, old_values = np.concatenate(rows), np.concatenate(list(_rows(base.arrays)))
    moved = np.repeat(changed, [row.size for row in rows])
    mark = sha256_of(base)[:_BASE_MARK]
    dense = _DIFFERENCE + mark + pack_symbols(values, old_values)
    if changed.all():
        return dense
    sparse = _SPARSE + mark + np.packbits(changed).tobytes()
    return min(dense, sparse + pack_symbols(values[moved], old_values[moved]), key=len)


def apply_difference(base: Parameters, blob: bytes, spec: ModelSpec, version: int) -> Parameters:
    """``base`` with a difference applied; DifferenceInvalid for another base or a bad blob.

    Output is exactly the spec's size whatever the blob says. The caller checks the blob's hash
    before and the result's hash after (protocol/release.py).
    """
    is_sparse = blob.startswith(_SPARSE)
    body = _body(blob, _SPARSE if is_sparse else _DIFFERENCE, spec)
    if base.model != spec.name or _shapes(base) != spec.shapes:
        raise DifferenceInvalid(f"the base is not a {spec.name} of this spec")
    if body[:_BASE_MARK] != sha256_of(base)[:_BASE_MARK]:
        raise DifferenceInvalid("the difference is from another base")
    old = list(_rows(base.arrays))
    sizes = np.array([row.size for row in old])
    changed, symbols = np.ones(len(old), dtype=bool), body[_BASE_MARK:]
    if is_sparse:
        changed, symbols = _changed_rows(symbols, len(old))
    moved = np.repeat(changed, sizes)
    old_values = np.concatenate(old)
    difference = np.zeros(moved.size, dtype=np.int8)
    difference[moved] = unpack_symbols(symbols, old_values[moved])
    values = old_values.view(np.uint8) + difference.view(np.uint8)
    return _from_rows(values.view(np.int8), spec, version)


def _changed_rows(body: bytes, rows: int) -> tuple[NDArray[np.bool_], bytes]:
    size = -(-rows // 8)
    if len(body) < size:
        raise DifferenceInvalid("the row bitmap is cut short")
    bits = np.unpackbits(np.frombuffer(body[:size], dtype=np.uint8))
    if bits[rows:].any():
        raise DifferenceInvalid("padding is not zero")
    return bits[:rows].astype(bool), body[size:]


def _body(blob: bytes, magic: bytes, spec: ModelSpec) -> bytes:
    if len(blob) > spec.max_blob:
        raise DifferenceInvalid(f"a {spec.name} blob has at most {spec.max_blob} bytes")
    if blob[: len(magic)] != magic:
        raise DifferenceInvalid("not a blob of this format")
    return blob[len(magic) :]


def _rows(arrays: Mapping[str, NDArray[np.int8]]) -> Iterator[NDArray[np.int8]]:
    """Rows in wire order: an output unit's incoming weights, or a whole bias. A retrain that
    touches few units then leaves whole rows unchanged."""
    for name in sorted(arrays):
        array = arrays[name]
        yield from np.ascontiguousarray(array.T) if array.ndim > 1 else (array,)


def _from_rows(values: NDArray[np.int8], spec: ModelSpec, version: int) -> Parameters:
    arrays: QuantisedArrays = {}
    start = 0
    for name in sorted(spec.shapes):
        shape = spec.shapes[name]
        end = start + int(np.prod(shape))
        arrays[name] = np.ascontiguousarray(values[start:end].reshape(shape[::-1]).T)
        start = end
    return Parameters(spec.name, version, arrays, dict(spec.scales))


def _shapes(parameters: Parameters) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in parameters.arrays.items()}


def _length_prefixed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
