"""Ledger entries and the hash chain over them: what the ledger writes and the auditor re-reads.

An entry is one line of canonical JSON: sorted keys, no spaces. ``seq`` counts from 0 without
gaps; ``prev`` is the SHA-256 of the previous entry's bytes (zeros for the first), so editing,
dropping, inserting or reordering any entry but the last breaks every later link. A cut tail leaves
no trace in a chain; receipts from outside the phone are needed for that.

kind      further fields
OPEN      budget (name), delta, device: written before the first charge, and again when one changes
RESERVE   task, round, mechanism {name, clip, sigma, scale, dimension, n_min}, rho (units), at
COMMIT    reserve (seq of its RESERVE), sha256 (of the released report, hex)
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from privacy.errors import LedgerCorrupt

__all__ = [
    "GENESIS",
    "Commit",
    "Entry",
    "Mechanism",
    "Open",
    "Reserve",
    "decode_entry",
    "encode_entry",
    "entry_hash",
]

GENESIS = "0" * 64
"""``prev`` of the first entry."""

LATEST = 253_402_300_799.0
"""The last second of the year 9999, seconds UTC: later times are a fault, not a date."""

_HASH = r"^[0-9a-f]{64}$"


class _Strict(BaseModel):
    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, str_max_length=256
    )


class Mechanism(_Strict):
    """How a release was randomised: enough to recompute its cost. Reals in real units."""

    name: Literal["discrete-gaussian"] = "discrete-gaussian"
    clip: float = Field(gt=0)
    sigma: float = Field(gt=0)
    scale: int = Field(ge=1)
    dimension: int = Field(ge=1)
    n_min: int = Field(ge=1)


class _Link(_Strict):
    seq: int = Field(ge=0)
    prev: str = Field(pattern=_HASH)


class Open(_Link):
    """From here on the ledger belongs to this device under this budget."""

    kind: Literal["open"] = "open"
    budget: str
    delta: float = Field(gt=0, lt=1)
    device: str


class Reserve(_Link):
    """A charge, durable before a single random bit is drawn."""

    kind: Literal["reserve"] = "reserve"
    task: str
    round: int = Field(ge=1)
    mechanism: Mechanism
    rho: int = Field(ge=1)
    at: float = Field(ge=0, le=LATEST)


class Commit(_Link):
    """The charge's report exists, with these bytes. A RESERVE without one is forfeited."""

    kind: Literal["commit"] = "commit"
    reserve: int = Field(ge=0)
    sha256: str = Field(pattern=_HASH)


Entry = Annotated[Open | Reserve | Commit, Field(discriminator="kind")]
_ENTRY: TypeAdapter[Open | Reserve | Commit] = TypeAdapter(Entry)


def encode_entry(entry: Open | Reserve | Commit) -> bytes:
    """Canonical bytes of an entry."""
    fields = entry.model_dump(mode="json")
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def decode_entry(payload: bytes) -> Open | Reserve | Commit:
    """The entry in ``payload``; LedgerCorrupt when it is not one, or not canonical."""
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
