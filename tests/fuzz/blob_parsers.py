"""Blobs of releases and documents: differences, symbol streams, VCDIFF, canonical records.

A phone checks a blob's hash before it decodes it; here the hash is always right, as if the cloud
had signed what an attacker made.
"""

from __future__ import annotations

import numpy as np

from cloud.documents.encoder import local_encoder
from cloud.documents.xdelta import EncoderMissing
from protocol.documents import (
    blob_info,
    describe,
    encode_delta,
    encode_whole,
    open_document,
)
from protocol.entropy import deflate, inflate, pack_symbols, unpack_symbols
from protocol.errors import DeltaInvalid, DifferenceInvalid, DocumentRefused
from protocol.facts import each_fact
from protocol.modelling import pack_modelled, unpack_modelled
from protocol.models import ROUTER
from protocol.models.spec import ModelSpec
from protocol.params import (
    Parameters,
    apply_difference,
    decode_full,
    encode_difference,
    encode_full,
)
from protocol.rans import Table, decode, encode
from protocol.records import Record, canonical, read_records
from protocol.vcdiff import Limits, decode_delta
from tests.fuzz.harness import Parser
from tests.protocol import deltas
from tests.protocol.samples import generator, nudged, random_parameters

__all__ = ["PARSERS"]

SMALL = ModelSpec(
    name="small",
    layers=(6, 8, 3),
    scales={"w1": 1 / 32, "b1": 1 / 32, "w2": 1 / 32, "b2": 1 / 32},
    head=("w2", "b2"),
    output="softmax",
    outputs=("a", "b", "c"),
)
"""A net of 83 weights: the same code as for 50,000, at a speed that reaches rare shapes."""
_TABLE = Table(6, (40, 16, 7, 1))


def _small(seed: int, version: int) -> Parameters:
    rng = generator(seed)
    arrays = {
        name: np.clip(rng.normal(0, 20, shape).round(), -127, 127).astype(np.int8)
        for name, shape in SMALL.shapes.items()
    }
    return Parameters(SMALL.name, version, arrays, dict(SMALL.scales))


BASE = _small(1, 1)
ROUTER_BASE = random_parameters(1, 1)


def _patched(base: Parameters, unit: int) -> Parameters:
    """One output unit moved: the sparse form."""
    arrays = {name: array.copy() for name, array in base.arrays.items()}
    arrays["w1"][:, unit] += np.int8(1)
    return Parameters(base.model, base.version + 1, arrays, base.scales)


def _spread(base: Parameters, seed: int) -> Parameters:
    return nudged(base, seed, base.version + 1, SMALL)


def _differences() -> list[bytes]:
    targets = [_spread(BASE, 2), _patched(BASE, 3), _small(9, 2), BASE]
    return [encode_difference(BASE, target) for target in targets]


def _symbols() -> list[bytes]:
    rng, base = generator(4), np.concatenate([array.ravel() for array in BASE.arrays.values()])
    values = [
        rng.integers(-1, 2, base.size).astype(np.int8),
        rng.integers(-128, 128, base.size).astype(np.int8),
        np.zeros(base.size, dtype=np.int8),
    ]
    packed = [pack_symbols(each, base) for each in values]
    modelled = [pack_modelled(each, base) for each in values]
    return [*packed, *(bytes([16 + partition]) + data for partition, data in modelled)]


_FLAT = np.concatenate([array.ravel() for array in BASE.arrays.values()])


def _modelled(data: bytes) -> object:
    return unpack_modelled(data[0] % 4 if data else 0, data[1:], _FLAT)


def _streams() -> list[bytes]:
    rng = generator(5)
    symbols = rng.choice(4, 200, p=[0.62, 0.25, 0.1, 0.03]).astype(np.uint8)
    return [encode([(_TABLE, symbols)]), encode([(_TABLE, np.zeros(200, dtype=np.uint8))])]


# Documents.

OLD = b"".join(b'{"id":"k%03d","text":"%b"}\n' % (n, b"ab c"[: n % 5] * 9) for n in range(60))
TAIL = b'{"id":"z","text":"new"}\n'
NEW = OLD[: -len(TAIL)] + TAIL


def _by_hand() -> list[bytes]:
    """Deltas from `OLD` to `NEW`'s size, of every instruction; the first gives `NEW`."""
    size, whole, number = len(NEW), (len(OLD), 0), deltas.integer
    kept = number(size - len(TAIL)) + b"\x01" + number(len(TAIL))
    run = b"\x05\x23" + number(40) + b"\x00" + number(size - 44)
    ran = b"abcd" * 11 + b"r" * (size - 44)
    return [
        deltas.delta(deltas.window(size, b"\x13" + kept, TAIL, number(0), segment=whole)),
        deltas.delta(deltas.window(size, b"\x00" + number(size), b"r")),
        deltas.delta(deltas.window(size, run, b"abcdr", number(4), checked=ran)),
        deltas.delta(
            deltas.window(100, b"\x00" + number(100), b"h"),
            deltas.window(size - 100, b"\x13" + number(size - 100), b"", number(0), segment=whole),
        ),
    ]


def _encoded() -> list[bytes]:
    """What xdelta3 makes of the same, where it is installed."""
    try:
        return [local_encoder()(OLD, NEW, 1 << 16), local_encoder()(NEW, OLD[:500], 1 << 16)]
    except EncoderMissing:
        return []


DELTAS = _by_hand() + _encoded()
LIMITS = Limits(target=len(NEW), delta=1 << 17)


def _vcdiff(data: bytes) -> object:
    target = decode_delta(data, OLD, LIMITS)
    assert len(target) == LIMITS.target
    return target


def _document(blob: bytes) -> object:
    """The blob's own hash is right, the content's is checked all the same."""
    if not blob:
        raise DocumentRefused("size", "no manifest can speak of nothing")
    return open_document(describe("knowledge/x", 2, NEW), blob_info(blob), blob, OLD)


def _document_blobs() -> list[bytes]:
    base = describe("knowledge/x", 1, OLD)
    return [encode_whole(NEW), *(encode_delta(each, base) for each in DELTAS)]


def _records() -> list[bytes]:
    plain: list[Record] = [
        {"id": f"r{n}", "text": "日本 é", "n": n, "tags": ["a", None, True]} for n in range(5)
    ]
    deep: list[Record] = [{"id": "d", "a": {"b": {"c": [1]}}}, {"id": "e", "big": 2**53}]
    return [canonical(plain), canonical(deep), OLD]


def _facts() -> bytes:
    facts: list[Record] = [
        {"id": "f1", "language": "zh-Hant", "text": "日本", "tags": ["a", "b"], "source": "x"},
        {"id": "f2", "language": "en", "text": "opens", "time": "2026-03-26T21:05:00+08:00"},
        {"id": "f3", "language": "en", "text": "day", "time": "2026-03-26"},
    ]
    return canonical(facts)


PARSERS: tuple[Parser, ...] = (
    Parser(
        "params.decode_full",
        lambda blob: decode_full(blob, SMALL, 2),
        (DifferenceInvalid,),
        [encode_full(BASE)],
        weight=2.0,
    ),
    Parser(
        "params.apply_difference",
        lambda blob: apply_difference(BASE, blob, SMALL, 2),
        (DifferenceInvalid,),
        _differences(),
        weight=3.0,
    ),
    Parser(
        "params.apply_difference, router",
        lambda blob: apply_difference(ROUTER_BASE, blob, ROUTER, 2),
        (DifferenceInvalid,),
        [encode_difference(ROUTER_BASE, nudged(ROUTER_BASE, 2, 2))],
        weight=0.05,
    ),
    Parser(
        "entropy.inflate",
        lambda data: inflate(data, 400),
        (DifferenceInvalid,),
        [deflate(bytes(400)), deflate(generator(6).bytes(400))],
    ),
    Parser(
        "entropy.unpack_symbols",
        lambda data: unpack_symbols(data, _FLAT),
        (DifferenceInvalid,),
        _symbols(),
        weight=2.0,
    ),
    Parser(
        "modelling.unpack_modelled",
        _modelled,
        (DifferenceInvalid,),
        [bytes([each[0] - 16]) + each[1:] for each in _symbols() if each[0] >= 16],
    ),
    Parser(
        "rans.decode",
        lambda data: decode(data, [(_TABLE, 200)]),
        (DifferenceInvalid,),
        _streams(),
    ),
    Parser("vcdiff.decode_delta", _vcdiff, (DeltaInvalid,), DELTAS, weight=4.0),
    Parser("documents.open_document", _document, (DocumentRefused,), _document_blobs(), weight=2.0),
    Parser(
        "facts.each_fact",
        lambda content: list(each_fact(content)),
        (DocumentRefused,),
        [_facts()],
        "lines",
    ),
    Parser("records.read_records", read_records, (DocumentRefused,), _records(), "lines"),
)
