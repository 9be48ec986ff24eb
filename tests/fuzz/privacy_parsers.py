"""What leader, helper, phone and auditor read of each other: batches, sums, certificates, receipts,
ledger entries and shares. Signed statements are fuzzed bare and under a good signature."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np

from privacy.chain import (
    GENESIS,
    Commit,
    Entry,
    GaussianMechanism,
    LocalMechanism,
    Open,
    Quarantine,
    ReceiptEntry,
    Reserve,
    decode_entry,
    encode_entry,
)
from privacy.errors import BatchRefused, CertificateInvalid, LedgerCorrupt, ReceiptInvalid
from privacy.receipts import Receipt, open_receipt, sign_receipt
from privacy.secagg import Batch, BatchCertificate, MaskSum, certificate, sharing_for
from tests.fuzz.harness import Parser
from tests.privacy.secagg_parts import batch_of, phones, seeded_bits, terms_of
from tests.protocol.samples import CLOUD_KEY

__all__ = ["PARSERS"]

NOW = 1_780_000_000.0
SIGNATURE = 64

_USAGE, _MODEL = terms_of("usage", dimension=4), terms_of("router", dimension=8)
_BITS = seeded_bits(1)


def _batches() -> list[bytes]:
    return [batch_of(terms, phones(terms, 3)[0]).encode() for terms in (_USAGE, _MODEL)]


def _certificate() -> BatchCertificate:
    return BatchCertificate(
        batch_id=_BITS(16), batch_digest=_BITS(32), reports_digest=_BITS(32),
        half_digest=_BITS(32), count=20,
        task="usage", round=3, dimension=33, scale=16, clip=2.5, sigma=18.8, n_min=20,
    )  # fmt: skip


def _sums() -> list[bytes]:
    signed = _certificate().sign(CLOUD_KEY.seed)
    vectors = np.arange(8, dtype=np.uint32), np.arange(4, dtype=np.uint64)
    return [MaskSum(_BITS(16), _BITS(32), 3, each, signed).encode() for each in vectors]


def _open_certificate(data: bytes) -> object:
    return BatchCertificate.open(data, CLOUD_KEY.public)


def _signed_certificate(body: bytes) -> object:
    return _open_certificate(CLOUD_KEY.sign(certificate._LABEL + body) + body)


def _receipts() -> list[bytes]:
    made = [Receipt("d" * 32, task, 3, _BITS(32), NOW) for task in ("usage", "router")]
    return [sign_receipt(each, CLOUD_KEY) for each in made]


def _open_receipt(blob: bytes) -> object:
    return open_receipt(blob, CLOUD_KEY.public)


def _signed_receipt(payload: bytes) -> object:
    return _open_receipt(payload + CLOUD_KEY.sign(payload))


def _entries() -> list[bytes]:
    gaussian = GaussianMechanism(
        clip=2.5, sigma=18.8, scale=16, dimension=33, n_min=20, helper="a" * 64
    )
    local = LocalMechanism(name="k-rr", bins=5, size=1, epsilon=1.0, histogram="language")
    link: dict[str, Any] = {"seq": 1, "prev": GENESIS}
    entries: list[Entry] = [
        Open(seq=0, prev=GENESIS, budget="demo", delta=1e-6, device="d1", key="b" * 64),
        Reserve(**link, task="usage", round=1, mechanism=gaussian, rho=9, at=NOW, latest=NOW),
        Reserve(**link, task="local_usage", round=1, mechanism=local, rho=9, at=NOW),
        Commit(**link, reserve=1, sha256="c" * 64, signature="d" * 128),
        ReceiptEntry(**link, task="usage", round=1, sha256="e" * 64, received=NOW, blob="0a" * 99),
        Quarantine(**link, reason="cloned", units={"counts": 5, "model": 0}, at=NOW),
    ]
    return [encode_entry(each) for each in entries]


def _share(index: int) -> bytes:
    terms = (_USAGE, _MODEL)[index]
    return phones(terms, 1)[0][0].share


PARSERS: tuple[Parser, ...] = (
    Parser("Batch.decode", Batch.decode, (BatchRefused,), _batches(), "msgpack", weight=2.0),
    Parser("MaskSum.decode", MaskSum.decode, (BatchRefused,), _sums(), "msgpack", weight=2.0),
    Parser(
        "BatchCertificate.open",
        _open_certificate,
        (CertificateInvalid,),
        [_certificate().sign(CLOUD_KEY.seed)],
    ),
    Parser(
        "BatchCertificate.open, signed",
        _signed_certificate,
        (CertificateInvalid,),
        [_certificate().sign(CLOUD_KEY.seed)[SIGNATURE:], msgpack.packb([1, 2])],
        "msgpack",
    ),
    Parser("open_receipt", _open_receipt, (ReceiptInvalid,), _receipts()),
    Parser(
        "open_receipt, signed",
        _signed_receipt,
        (ReceiptInvalid,),
        [each[:-SIGNATURE] for each in _receipts()],
        "msgpack",
        weight=2.0,
    ),
    Parser("chain.decode_entry", decode_entry, (LedgerCorrupt,), _entries(), "json", weight=2.0),
    Parser("sharing.read, proven", sharing_for(_USAGE).read, (BatchRefused,), [_share(0)]),
    Parser("sharing.read, ring", sharing_for(_MODEL).read, (BatchRefused,), [_share(1)]),
)
