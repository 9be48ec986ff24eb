"""Secure aggregation: what one report costs a phone and two servers, beside Flower's SecAgg+.

Ours per phone: from a real vector to sealed bytes, noise (and for counts the proof) included.
Flower's SecAgg+ runs where it can: in this interpreter if flwr is installed, or in the one that
the environment variable FLWR_PYTHON names (flwr 1.42 pins other versions of shared packages, so
it lives in its own venv: ``python -m venv DIR && DIR/bin/pip install flwr==1.42.0``). It is then
driven through one whole group of phones (flower_secagg.py); its server's cost at 1,000 phones is
linear in phones that stayed and phones that vanished, and is added up from both.

Every target beside SecAgg+ is a tenth of its figure. A phone's bytes for a large update cannot
meet it: 4 bytes a value, masked and so incompressible, are most of either protocol's upload.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from privacy import PRODUCTION, Gate, Ledger, PrivateReport
from privacy.lattice import share_variance
from privacy.mechanisms import clip_to_lattice, discrete_gaussian, gaussian_table
from privacy.secagg import (
    Batch,
    Helper,
    MaskSum,
    MemoryHelperStore,
    SealContext,
    SealedShare,
    report_key,
    report_query,
    seal_seed,
    share_hash,
    sharing_for,
)
from privacy.secagg.mask import KEY_BYTES
from privacy.streams import USAGE_DIMENSION
from tests.benchmarks.row import Row, best_seconds

PHONES = 1_000
UPDATE = 50_000
"""Values of the large update both protocols carry."""

DROPPED = 0.05
"""Share of phones that vanish half-way in SecAgg+; ours has no half-way."""

_TEN_TIMES = 10.0
_HEAD = 1_300
"""Values of the router's head."""

_RING_BYTES = 4
_AT_ONCE = 64
_MS = 1e3
_KIB = 1024.0
_FLOWER_SECONDS = 900.0
_PROOF_TARGET_MS = 10.0


@dataclass(frozen=True)
class _Terms:
    task: str
    round: int
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int


@dataclass(frozen=True)
class _Round(_Terms):
    helper_key: bytes
    budget: str = PRODUCTION.name
    opens: float = 0.0
    closes: float = 1.0


class _Log:
    """A ledger's log in memory."""

    def __init__(self) -> None:
        self._payloads: list[bytes] = []

    def append(self, payload: bytes) -> int:
        self._payloads.append(payload)
        return len(self._payloads) - 1

    def read(self) -> Iterator[tuple[int, bytes]]:
        yield from enumerate(self._payloads)


class _Sent(NamedTuple):
    report_id: bytes
    share: bytes
    sealed_seed: bytes


class _Cost(NamedTuple):
    """Seconds and bytes of our protocol."""

    phone: float
    leader: float
    helper: float
    phone_bytes: int
    server_bytes: int


def rows() -> Iterator[Row]:
    """Rows of secure aggregation; a minute more where Flower is at hand."""
    update, counts = _terms("router", UPDATE), _terms("usage", USAGE_DIMENSION)
    yield from _proof_rows(counts)
    flower = _flower()
    for name, terms, theirs in (
        (f"{UPDATE:,} values", update, flower and flower["long"]),
        (f"{USAGE_DIMENSION} proven counts", counts, flower and flower["short"]),
    ):
        cost, floor = _cost(terms)
        yield from _cost_rows(name, cost, floor)
        if theirs:
            yield from _flower_rows(name, terms.dimension, cost, theirs)
    yield _gate_row()
    yield _error_row()


def _terms(task: str, dimension: int, phones: int = PHONES) -> _Terms:
    planned = PRODUCTION.terms(task, phones)
    return _Terms(task, 1, dimension, planned.scale, planned.clip, planned.sigma, planned.n_min)


def _noisy(terms: _Terms, vector: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    lattice = clip_to_lattice(vector, terms.clip, terms.scale, os.urandom)
    variance = share_variance(terms.sigma, terms.scale, terms.n_min)
    return lattice + gaussian_table(variance).sample(terms.dimension, os.urandom)


def _send(terms: _Terms, noisy: npt.NDArray[np.int64], helper_key: bytes) -> _Sent:
    sharing = sharing_for(terms)
    report_id, seed = os.urandom(16), os.urandom(32)
    key = report_key(seed, terms.task, terms.round, report_id)
    share = sharing.split(sharing.clamp(noisy), key, os.urandom)
    context = SealContext(
        terms.task,
        terms.round,
        report_id,
        share_hash(share),
        terms.dimension,
        terms.scale,
        terms.clip,
        terms.sigma,
        terms.n_min,
    )
    return _Sent(report_id, share, seal_seed(seed, helper_key, context.aad(), os.urandom))


def _batch(terms: _Terms, sent: list[_Sent], query_key: bytes) -> Batch:
    """The leader's question, its verifiers computed on the way."""
    sharing = sharing_for(terms)
    verifiers: list[bytes] = []
    for start in range(0, len(sent), _AT_ONCE):
        some = sent[start : start + _AT_ONCE]
        verifiers += sharing.verifiers(
            [sharing.read(each.share) for each in some],
            [report_query(query_key, each.report_id) for each in some],
        )
    shares = tuple(
        SealedShare(each.report_id, share_hash(each.share), each.sealed_seed, verifier)
        for each, verifier in zip(sent, verifiers, strict=True)
    )
    return Batch(
        batch_id=os.urandom(16),
        task=terms.task,
        round=terms.round,
        dimension=terms.dimension,
        scale=terms.scale,
        clip=terms.clip,
        sigma=terms.sigma,
        n_min=terms.n_min,
        shares=shares,
    )


def _cost(terms: _Terms) -> tuple[_Cost, float]:
    """Our costs at PHONES phones, and the seconds of the helper's bare key exchanges."""
    secret = os.urandom(KEY_BYTES)
    helper = Helper(secret, MemoryHelperStore(), os.urandom, PRODUCTION)
    query_key = helper.query_key(terms.task, terms.round)
    vector = np.linspace(-1.0, 1.0, terms.dimension) / math.sqrt(terms.dimension)
    noisy = _noisy(terms, vector)
    sent = [_send(terms, noisy, helper.public_key) for _ in range(PHONES)]
    phone = best_seconds(lambda: _send(terms, _noisy(terms, vector), helper.public_key), 20)
    asked = _batch(terms, sent, query_key).encode()

    def answer() -> bytes:
        fresh = Helper(secret, MemoryHelperStore(), os.urandom, PRODUCTION)
        return fresh.sum_masks(Batch.decode(asked)).encode()

    answered = answer()

    def lead() -> None:
        sharing = sharing_for(terms)
        _batch(terms, sent, query_key).encode()
        total = sharing.total(sharing.read(each.share) for each in sent)
        sharing.join(total, MaskSum.decode(answered).vector, PHONES)

    private = X25519PrivateKey.from_private_bytes(secret)
    peers = [X25519PublicKey.from_public_bytes(each.sealed_seed[:KEY_BYTES]) for each in sent]
    floor = best_seconds(lambda: [private.exchange(peer) for peer in peers], 3)
    cost = _Cost(
        phone=phone,
        leader=best_seconds(lead, 3),
        helper=best_seconds(answer, 3),
        phone_bytes=sum(map(len, sent[0])),
        server_bytes=len(asked) + len(answered),
    )
    return cost, floor


def _proof_rows(terms: _Terms) -> Iterator[Row]:
    sharing = sharing_for(terms)
    values = sharing.clamp(_noisy(terms, np.zeros(terms.dimension)))
    proven = best_seconds(lambda: sharing.split(values, bytes(KEY_BYTES), os.urandom), 20)
    ring = sharing_for(_terms("router", terms.dimension))
    plain = best_seconds(lambda: ring.split(values, bytes(KEY_BYTES), os.urandom), 20)
    name = f"proof that {terms.dimension} counts are in range"
    yield Row(
        name, proven * _MS, "ms", "shared without proof", plain * _MS, target=_PROOF_TARGET_MS
    )
    yield Row(
        "what one accepted liar adds to a count",
        sharing.bound / terms.scale,
        "devices",
        "without proof (2^31 lattice units)",
        ring.bound / terms.scale,
        target=16.0,
    )


def _cost_rows(name: str, cost: _Cost, floor: float) -> Iterator[Row]:
    yield Row(f"{name}: a phone's report, vector to sealed", cost.phone * _MS, "ms")
    yield Row(f"{name}: leader, {PHONES:,} phones", cost.leader * _MS, "ms", target=1_000.0)
    yield Row(
        f"{name}: helper, {PHONES:,} phones",
        cost.helper * _MS,
        "ms",
        "the key exchanges alone",
        floor * _MS,
        target=1_000.0,
    )
    yield Row(f"{name}: leader and helper exchange", cost.server_bytes / _KIB, "KiB")


def _flower() -> dict[str, Any] | None:
    """Flower's costs by vector length; None where no interpreter has flwr."""
    interpreter = os.environ.get("FLWR_PYTHON", "")
    if importlib.util.find_spec("flwr") is not None:
        interpreter = sys.executable
    if not interpreter:
        return None
    script = Path(__file__).with_name("flower_secagg.py")
    done = subprocess.run(
        [interpreter, str(script)], capture_output=True, check=True, timeout=_FLOWER_SECONDS
    )
    costs: dict[str, Any] = json.loads(done.stdout)
    return costs


def _flower_rows(name: str, dimension: int, cost: _Cost, theirs: dict[str, float]) -> Iterator[Row]:
    """Ours beside SecAgg+ at PHONES phones; every target asks for a tenth of theirs."""
    gone = round(DROPPED * PHONES)
    server = (PHONES - gone) * theirs["alive_seconds"] + gone * theirs["dead_seconds"]
    ours_beside = cost.phone_bytes - _RING_BYTES * dimension
    theirs_beside = theirs["bytes"] - theirs["vector_bytes"]
    for what, value, unit, other in (
        ("a phone's time", cost.phone * _MS, "ms", theirs["phone_seconds"] * _MS),
        ("both servers' time", (cost.leader + cost.helper) * _MS, "ms", server * _MS),
        ("a phone's bytes, both ways", cost.phone_bytes / _KIB, "KiB", theirs["bytes"] / _KIB),
        ("…of these beside the values", ours_beside / _KIB, "KiB", theirs_beside / _KIB),
    ):
        yield Row(f"{name}: {what}", value, unit, "SecAgg+", other, target=other / _TEN_TIMES)


def _gate_row() -> Row:
    """One report of a phone as it happens: budget, ledger, noise, sharing, seal."""
    helper = Helper(os.urandom(KEY_BYTES), MemoryHelperStore(), os.urandom, PRODUCTION)
    planned = _terms("router", _HEAD)
    vector = np.linspace(-0.05, 0.05, _HEAD)
    numbers = iter(range(1, 14))  # a year's participations: the ledger stops the clock there
    gate = Gate(Ledger(_Log(), PRODUCTION), os.urandom)

    def release() -> PrivateReport:
        round_ = _Round(
            **asdict(replace(planned, round=next(numbers))), helper_key=helper.public_key
        )
        return gate.release(round_, vector, 0.0, lambda _: None)

    release()
    variance = share_variance(planned.sigma, planned.scale, planned.n_min)
    noise = best_seconds(lambda: discrete_gaussian(variance, _HEAD, os.urandom), 3)
    return Row(
        f"one report of {_HEAD:,} values, charged to sealed",
        best_seconds(release, 10) * _MS,
        "ms",
        "exact noise alone",
        noise * _MS,
        target=5.0,
    )


def _error_row() -> Row:
    """Measured error of the aggregated sum beside the noise of the best central mechanism."""
    phones = 200
    terms = _terms("router", _HEAD, phones)
    helper = Helper(os.urandom(KEY_BYTES), MemoryHelperStore(), os.urandom, PRODUCTION)
    vector = np.linspace(-0.04, 0.04, _HEAD)
    sent = [_send(terms, _noisy(terms, vector), helper.public_key) for _ in range(phones)]
    reply = helper.sum_masks(_batch(terms, sent, helper.query_key("router", 1)))
    sharing = sharing_for(terms)
    ours = sharing.total(sharing.read(each.share) for each in sent)
    total = sharing.join(ours, reply.vector, phones)
    error = float(np.std(total / (terms.scale * phones) - vector))
    return Row(
        f"error of a mean over {phones} phones, {terms.n_min} needed",
        error / terms.sigma * phones,
        "sigma",
        "one central Gaussian",
        1.0,
        bound=math.sqrt(phones / terms.n_min + 1.0),
        target=1.7,  # 1.53 in theory; 1,300 values tell it to 2 %
    )
