"""Differences of parameters and of documents, beside peers and bounds, in one run.

Sizes are deterministic. Every peer's difference is applied and compared before it is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from cloud.documents import delta_blob, local_encoder, whole_blob
from cloud.documents.xdelta import EncoderMissing
from protocol.documents import describe, open_document
from protocol.models import SPECS
from protocol.params import (
    Parameters,
    apply_difference,
    encode_difference,
    encode_full,
    sha256_of,
)
from protocol.vcdiff import Limits, decode_delta
from tests.benchmarks.difference_peers import Peer, delta_readers, difference_peers
from tests.benchmarks.difference_versions import (
    WIDE,
    Edit,
    knowledge,
    refreshed,
    retrained,
    steps_between,
    wide_pair,
    wire_bytes,
)
from tests.benchmarks.row import Row, best_seconds

VERSIONS = 5
"""Four differences a lineage."""
BASES = 16
"""Versions back that a phone may be and still get to the newest in one step."""
ABOVE_BOUND = 1.02
DECODE_MILLISECONDS = 20.0
"""For 50,000 weights and fewer."""
_MILLISECONDS = 1e3
_REPEATS = 3

Pair = tuple[Parameters, Parameters]


def rows() -> Iterator[Row]:
    """Parameters, then versions further back, then documents."""
    peers = list(difference_peers())
    for model in sorted(SPECS):
        yield from _parameter_rows(f"{model} retrained", _pairs(retrained(model, VERSIONS)), peers)
    refreshes = refreshed("router", BASES + 1)
    yield from _parameter_rows("router refreshed", _pairs(refreshes[:VERSIONS]), peers)
    yield from _parameter_rows("50k weights", [wide_pair()], peers)
    yield from _skew_rows(refreshes)
    for edit in knowledge():
        yield from _document_rows(edit, peers)


def _pairs(lineage: Sequence[Parameters]) -> list[Pair]:
    return list(pairwise(lineage))


def _bound(base: Parameters, target: Parameters) -> float:
    """Order-0 Shannon bytes of the quantised difference."""
    steps = steps_between(base, target)
    share = np.unique(steps, return_counts=True)[1] / steps.size
    return float(-(share * np.log2(share)).sum() * steps.size / 8)


def _parameter_rows(name: str, pairs: Sequence[Pair], peers: Sequence[Peer]) -> Iterator[Row]:
    """Bytes of all the pairs together, and milliseconds of one."""
    blobs = [encode_difference(base, target) for base, target in pairs]
    bound = sum(_bound(base, target) for base, target in pairs)
    ours = sum(map(len, blobs))
    what = f"difference, {name}, {len(pairs)} version{'s' * (len(pairs) > 1)}"
    yield Row(
        f"{what}, over the Shannon order-0 bound",
        ours,
        "B",
        bound=bound,
        target=ABOVE_BOUND * bound,
    )
    whole = sum(len(encode_full(target)) for _, target in pairs)
    yield Row(what, ours, "B", "our full blob", whole, target=whole)
    base, target = pairs[-1]
    encoding = best_seconds(lambda: encode_difference(base, target), _REPEATS) * _MILLISECONDS
    decoding = _decode_milliseconds(base, target, blobs[-1])
    contents = [(wire_bytes(base), wire_bytes(target)) for base, target in pairs]
    for peer in peers:
        measured = _measured(peer, contents)
        yield Row(what, ours, "B", peer.name, measured[0], target=measured[0])
        yield Row(f"{what}, encode one", encoding, "ms", peer.name, measured[1])
        yield Row(
            f"{what}, decode one",
            decoding,
            "ms",
            peer.name,
            measured[2],
            target=DECODE_MILLISECONDS,
        )


def _decode_milliseconds(base: Parameters, target: Parameters, blob: bytes) -> float:
    spec = WIDE if target.model == WIDE.name else SPECS[target.model]

    def apply() -> Parameters:
        return apply_difference(base, blob, spec, target.version)

    assert sha256_of(apply()) == sha256_of(target)
    return best_seconds(apply) * _MILLISECONDS


def _measured(peer: Peer, contents: Sequence[tuple[bytes, bytes]]) -> tuple[int, float, float]:
    """Bytes of all pairs; milliseconds to encode and to decode the last."""
    deltas = [peer.encode(base, target) for base, target in contents]
    for delta, (base, target) in zip(deltas, contents, strict=True):
        assert peer.decode(delta, base, len(target)) == target, peer.name
    base, target = contents[-1]
    encoding = best_seconds(lambda: peer.encode(base, target), _REPEATS)
    decoding = best_seconds(lambda: peer.decode(deltas[-1], base, len(target)))
    return sum(map(len, deltas)), encoding * _MILLISECONDS, decoding * _MILLISECONDS


def _skew_rows(lineage: Sequence[Parameters]) -> Iterator[Row]:
    """One step from a version further back, beside the chain of the steps in between."""
    newest = lineage[-1]
    whole = len(encode_full(newest))
    chain = 0
    for back, (base, target) in enumerate(reversed(_pairs(lineage)), 1):
        chain += len(encode_difference(base, target))
        if back & (back - 1) == 0:
            direct = len(encode_difference(base, newest))
            name = f"difference, router refreshed, in one step from {back} back"
            yield Row(name, direct, "B", "chain of differences", chain, target=chain)
            yield Row(name, direct, "B", "our full blob", whole, target=whole)


def _document_rows(edit: Edit, peers: Sequence[Peer]) -> Iterator[Row]:
    try:
        encode = local_encoder()
    except EncoderMissing:
        return
    what = f"document, {edit.name}"
    whole, base = whole_blob("places", 2, edit.target), describe("places", 1, edit.base)

    def plan() -> bytes:
        return delta_blob(whole, edit.target, base, edit.base, encode).blob

    blob = delta_blob(whole, edit.target, base, edit.base, encode)
    if not math.isnan(edit.limit):
        yield Row(f"{what}, over the chance in the edit", len(blob.blob), "B", bound=edit.limit)
    yield Row(what, len(blob.blob), "B", "our full blob", len(whole.blob), target=len(whole.blob))
    planning = best_seconds(plan, _REPEATS) * _MILLISECONDS
    opening = _milliseconds(lambda: open_document(blob.document, blob.info, blob.blob, edit.base))
    for peer in peers:
        size, encoding, decoding = _measured(peer, [(edit.base, edit.target)])
        yield Row(what, len(blob.blob), "B", peer.name, size)
        yield Row(f"{what}, plan and check", planning, "ms", peer.name, encoding)
        yield Row(f"{what}, verify and open", opening, "ms", peer.name, decoding)
    delta = encode(edit.base, edit.target, len(edit.target))
    limits = Limits(len(edit.target))
    ours = _milliseconds(lambda: decode_delta(delta, edit.base, limits))
    for name, read in delta_readers():
        assert read(delta, edit.base, len(edit.target)) == edit.target, name
        theirs = best_seconds(_reading(read, delta, edit)) * _MILLISECONDS
        yield Row(f"{what}, decode the VCDIFF", ours, "ms", name, theirs)


def _reading(
    read: Callable[[bytes, bytes, int], bytes], delta: bytes, edit: Edit
) -> Callable[[], bytes]:
    return lambda: read(delta, edit.base, len(edit.target))


def _milliseconds(call: Callable[[], object]) -> float:
    return best_seconds(call) * _MILLISECONDS
