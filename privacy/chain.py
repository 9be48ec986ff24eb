"""Ledger entries and the hash chain over them: what the ledger writes and the auditor re-reads.

An entry is one line of canonical JSON: sorted keys, no spaces. ``seq`` counts from 0 without
gaps; ``prev`` is the SHA-256 of the previous entry's bytes (zeros for the first), so editing,
dropping, inserting or reordering any entry but the last breaks every later link. A cut tail leaves
no trace in a chain: the anchor outside the phone's folder and the cloud's receipts show that.

kind        further fields
OPEN        budget (name), delta, device, key (Ed25519 public key, hex or ""): before the first
            charge, and again when one of them changes
RESERVE     task, round, mechanism, rho (units), at, latest (seconds UTC; see ledger_state.py)
COMMIT      reserve (seq of its RESERVE), sha256 (of the report, hex), signature (hex or "")
RECEIPT     task, round, sha256, received, blob (hex): the cloud says that it has this report
QUARANTINE  reason, units {stream: rho units}, at: what a restored or copied ledger may have missed

A mechanism is told by its name: "discrete-gaussian" or "k-rr" / "subset-selection".
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from privacy.errors import LedgerCorrupt

__all__ = [
    "GENESIS",
    "LATEST",
    "Commit",
    "Entry",
    "GaussianMechanism",
    "LocalMechanism",
    "Mechanism",
    "Open",
    "Quarantine",
    "Reason",
    "ReceiptEntry",
    "Reserve",
    "commit_statement",
    "decode_entry",
    "encode_entry",
    "entry_hash",
]

GENESIS = "0" * 64
"""``prev`` of the first entry."""

LATEST = 253_402_300_799.0
"""The last second of the year 9999, seconds UTC: later times are a fault, not a date."""

LARGEST_RECEIPT = 512
"""Bytes of a receipt's blob."""

LARGEST_ENTRY = 1 << 14
"""Bytes of an entry; the longest, which hold a receipt, have some 1,500."""

_HASH = r"^[0-9a-f]{64}$"
_HASH_OR_NONE = r"^([0-9a-f]{64})?$"
_SIGNATURE_OR_NONE = r"^([0-9a-f]{128})?$"
_COMMIT_LABEL = b"reverie/ledger/commit/1\n"

Seconds: TypeAlias = Annotated[float, Field(ge=0, le=LATEST)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


Text: TypeAlias = Annotated[str, Field(max_length=256)]


class GaussianMechanism(_Strict):
    """A vector under discrete Gaussian noise: enough to recompute its cost. Reals in real units.

    ``helper``: hex SHA-256 of the key the mask's seed was sealed to.
    """

    name: Literal["discrete-gaussian"] = "discrete-gaussian"
    clip: float = Field(gt=0)
    sigma: float = Field(gt=0)
    scale: int = Field(ge=1)
    dimension: int = Field(ge=1)
    n_min: int = Field(ge=1)
    helper: str = Field(default="", pattern=_HASH_OR_NONE)


class LocalMechanism(_Strict):
    """One answer randomised on the phone: ``size`` of ``bins`` answers reported, ε-DP."""

    name: Literal["k-rr", "subset-selection"]
    bins: int = Field(ge=2)
    size: int = Field(ge=1)
    epsilon: float = Field(gt=0)
    histogram: Text


Mechanism: TypeAlias = Annotated[GaussianMechanism | LocalMechanism, Field(discriminator="name")]
"""How a release was randomised."""


class _Link(_Strict):
    seq: int = Field(ge=0)
    prev: str = Field(pattern=_HASH)


class Open(_Link):
    """From here on the ledger belongs to this device under this budget."""

    kind: Literal["open"] = "open"
    budget: Text
    delta: float = Field(gt=0, lt=1)
    device: Text
    key: str = Field(default="", pattern=_HASH_OR_NONE)


class Reserve(_Link):
    """A charge, durable before a single random bit is drawn.

    It was made no earlier than ``at`` and no later than ``latest`` (0.0: the same as ``at``).
    """

    kind: Literal["reserve"] = "reserve"
    task: Text
    round: int = Field(ge=1)
    mechanism: Mechanism
    rho: int = Field(ge=1)
    at: Seconds
    latest: Seconds = 0.0


class Commit(_Link):
    """The charge's report exists, with these bytes. A RESERVE without one is forfeited."""

    kind: Literal["commit"] = "commit"
    reserve: int = Field(ge=0)
    sha256: str = Field(pattern=_HASH)
    signature: str = Field(default="", pattern=_SIGNATURE_OR_NONE)


class ReceiptEntry(_Link):
    """The cloud signed that it has this report. It can only raise what counts as spent."""

    kind: Literal["receipt"] = "receipt"
    task: Text
    round: int = Field(ge=1)
    sha256: str = Field(pattern=_HASH)
    received: Seconds
    blob: str = Field(pattern=r"^([0-9a-f]{2})+$", max_length=2 * LARGEST_RECEIPT)


Reason: TypeAlias = Literal["rolled back", "cloned", "unmarked"]
"""rolled back: the ledger is behind its anchor, or the cloud has a newer report; cloned: it and
its anchor parted, or the cloud has another report; unmarked: entries without any anchor."""


class Quarantine(_Link):
    """What this ledger does not know may have been spent: its streams' years are full."""

    kind: Literal["quarantine"] = "quarantine"
    reason: Reason
    units: dict[str, Annotated[int, Field(ge=0)]]
    at: Seconds


Entry: TypeAlias = Open | Reserve | Commit | ReceiptEntry | Quarantine
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(discriminator="kind")])


def encode_entry(entry: Entry) -> bytes:
    """Canonical bytes of an entry."""
    return _CANONICAL.encode(entry.model_dump()).encode()


def decode_entry(payload: bytes) -> Entry:
    """The entry in ``payload``; LedgerCorrupt when it is not one, or not canonical."""
    if len(payload) > LARGEST_ENTRY:
        raise LedgerCorrupt("an entry is larger than any ledger entry")
    try:
        entry = _ENTRY.validate_json(payload)
    except ValidationError:
        raise LedgerCorrupt("an entry is not a ledger entry") from None
    if encode_entry(entry) != payload:
        raise LedgerCorrupt("an entry is not in canonical form")
    return entry


def entry_hash(payload: bytes) -> str:
    """Hex SHA-256 of an entry's bytes: the next entry's ``prev``."""
    return hashlib.sha256(payload).hexdigest()


def commit_statement(commit: Commit) -> bytes:
    """What the device key signs: the whole COMMIT but its signature, and so, through ``prev``,
    everything before it."""
    return _COMMIT_LABEL + encode_entry(commit.model_copy(update={"signature": ""}))
