"""Messages, keys and weights the tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from protocol.identity import BitSource, SigningKey
from protocol.messages import (
    MAX_CHUNK,
    MAX_INTEGER,
    MAX_MAIL,
    MAX_UPLOAD,
    Bye,
    Challenge,
    Collect,
    Enrol,
    Enrolled,
    Fetch,
    Hello,
    Mail,
    Metadata,
    Plan,
    Prove,
    Refusal,
    ReleaseBlob,
    UploadAccept,
    UploadAck,
    UploadBegin,
    UploadChunk,
)
from protocol.models import ROUTER, ModelSpec, Weights
from protocol.params import Parameters

CLOUD_KEY = SigningKey(bytes(range(32)))


def generator(seed: int) -> np.random.Generator:
    """A numeric generator that gives the same stream on every machine."""
    return np.random.Generator(np.random.Philox(key=seed))


def bits(seed: int) -> BitSource:
    """Reproducible random bytes."""
    return generator(seed).bytes


def random_weights(spec: ModelSpec, seed: int, spread: float = 1.0) -> Weights:
    """Weights around ±spread."""
    rng = generator(seed)
    return {
        name: (rng.standard_normal(shape) * spread).astype(np.float32)
        for name, shape in spec.shapes.items()
    }


def random_parameters(seed: int, version: int, spec: ModelSpec = ROUTER) -> Parameters:
    """Parameters whose int8 values cover the whole grid."""
    rng = generator(seed)
    arrays: dict[str, NDArray[np.int8]] = {
        name: rng.integers(-128, 128, shape, dtype=np.int8) for name, shape in spec.shapes.items()
    }
    return Parameters(spec.name, version, arrays, dict(spec.scales))


def nudged(base: Parameters, seed: int, version: int, spec: ModelSpec = ROUTER) -> Parameters:
    """``base`` after a small retrain: most values move by at most one step."""
    rng = generator(seed)
    arrays = {
        name: np.clip(array.astype(np.int16) + rng.integers(-1, 2, array.shape), -127, 127).astype(
            np.int8
        )
        for name, array in base.arrays.items()
    }
    return Parameters(spec.name, version, arrays, dict(spec.scales))


def _exactly(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


_count = st.integers(0, MAX_INTEGER)
_name = st.text(min_size=1, max_size=32)
_seconds = st.floats(0, 1e12)
_id = _exactly(16)
_receipt = st.binary(max_size=60)
_codes = st.sampled_from(
    ["revoked", "bad_proof", "busy", "stale_round", "unknown_release", "limit"]
)
_files = st.lists(st.binary(max_size=100), max_size=4).map(tuple)
_versions = st.dictionaries(_name, _count, max_size=4)

MESSAGES: st.SearchStrategy[Any] = st.one_of(
    st.builds(
        Hello,
        versions=st.lists(_count, min_size=1, max_size=4).map(tuple),
        device_id=st.text(max_size=32),
        client_nonce=_exactly(32),
    ),
    st.builds(Enrol, token=_name, public_key=_exactly(32)),
    st.builds(Prove, signature=_exactly(64), have=_versions, metadata=_versions),
    st.builds(
        UploadBegin,
        upload_id=_id,
        kind=st.sampled_from(["report", "mail"]),
        size=st.integers(1, MAX_UPLOAD),
        sha256=_exactly(32),
    ),
    st.builds(
        UploadChunk,
        upload_id=_id,
        offset=st.integers(0, MAX_UPLOAD - 1),
        data=st.binary(min_size=1, max_size=200),
    ),
    st.builds(Fetch, model=_name, version=st.integers(1, MAX_INTEGER), base=_count),
    st.builds(Collect, after=_count),
    st.builds(Bye, reason=st.text(max_size=50), retry_after=_seconds),
    st.builds(
        Challenge,
        version=_count,
        server_nonce=_exactly(32),
        server_time=_seconds,
        identity=st.one_of(st.just(b""), _exactly(64)),
    ),
    st.builds(Enrolled, device_id=_name),
    st.builds(
        Plan,
        rounds=_files,
        releases=_files,
        retry_after=_seconds,
        receipts=st.lists(_receipt, max_size=8).map(tuple),
        metadata=_files,
        documents=_files,
        mail=_count,
        more=st.booleans(),
    ),
    st.builds(Metadata, metadata=_files, documents=_files, more=st.booleans()),
    st.builds(
        Mail,
        sequence=_count,
        offset=st.integers(0, MAX_MAIL - 1),
        total=st.integers(0, MAX_MAIL),
        data=st.binary(max_size=200),
        last=st.booleans(),
        left=_count,
    ),
    st.builds(
        UploadAccept, upload_id=_id, offset=_count, committed=st.booleans(), receipt=_receipt
    ),
    st.builds(UploadAck, upload_id=_id, offset=_count, committed=st.booleans(), receipt=_receipt),
    st.builds(
        ReleaseBlob,
        model=_name,
        version=_count,
        base=_count,
        offset=_count,
        total=_count,
        data=st.binary(max_size=200),
    ),
    st.builds(
        Refusal,
        code=_codes,
        detail=st.text(max_size=50),
        retry_after=_seconds,
        upload_id=st.one_of(st.just(b""), _id),
        fatal=st.booleans(),
    ),
)
"""Any valid message."""

BIG_CHUNK = UploadChunk(upload_id=bytes(16), offset=0, data=bytes(MAX_CHUNK))
