"""Releases: what a signed manifest promises, and the checks before a phone adopts one.

The order is fixed: signature → newer, fresh, the right shape → size → hash of the blob → decode
with a bounded output → hash of the result. Nothing unverified reaches a decoder.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Annotated

from pydantic import Field, model_validator

from protocol.errors import (
    DifferenceInvalid,
    MalformedFrame,
    ReleaseRefused,
    SignatureInvalid,
    WireError,
)
from protocol.identity import SigningKey, open_envelope, signed_envelope
from protocol.messages import MAX_INTEGER, MAX_MANIFEST, Count, Digest, Name, ProtocolModel
from protocol.models.sizes import FEATURE_VERSION
from protocol.models.spec import ModelSpec
from protocol.packing import pack, unpack_map, validated
from protocol.params import Parameters, apply_difference, decode_full, sha256_of
from protocol.policy import FLOOR_NAMES, HIGHEST_FLOOR, LOWEST_FLOOR, POLICY_MODEL

__all__ = [
    "DIFFERENCE_BASES",
    "FIRST_DIFFERENCE_BASES",
    "BlobInfo",
    "Manifest",
    "check_release",
    "in_cohort",
    "open_manifest",
    "open_release",
    "plan_fetch",
    "seal_manifest",
    "target_name",
]

DIFFERENCE_BASES = 16
"""Differences are published from the last sixteen versions, each direct: a chain of eight nightly
differences is four times the size of one from its start. Sixteen make a manifest of 1.4 KB."""
FIRST_DIFFERENCE_BASES = 4
"""The most that a phone of protocol version 1 reads in a manifest."""
COHORTS = 10_000
"""Parts into which the phones fall for a staged release; 100 of them are a percent."""
CLOCK_SLACK = 86_400.0
"""Seconds by which a phone's clock may lag the cloud's before a release looks unborn."""
FULL = 0
"""The base of a fetch that needs none."""
_PURPOSE = "release"
_CACHED_MANIFESTS = 8
"""Opened manifests remembered: a plan names the same ones sync after sync."""
_VERSION = re.compile(r"[1-9][0-9]{0,15}")
_Floor = Annotated[float, Field(ge=LOWEST_FLOOR, le=HIGHEST_FLOOR)]


class BlobInfo(ProtocolModel):
    """Size in bytes and SHA-256 of a blob as it travels."""

    size: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    sha256: Digest


class Manifest(ProtocolModel):
    """One version of one model.

    ``parent`` is the version it was trained from, ``sha256`` the hash of its canonical content,
    ``differences`` maps base version → blob. ``metrics`` are measured on held-out examples, in
    0–1. ``epsilon`` and ``delta`` are the differential privacy its training spent, ``created`` and
    ``expires`` unix seconds. ``feature_version`` names the features it was trained on. ``policy``
    is the retrieval policy that a router is adopted with (policy.py): none means the default one,
    and a manifest for phones of protocol version 1, which know of none, never has one.
    """

    model: Name
    version: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    parent: Count
    sha256: Digest
    full: BlobInfo
    differences: Annotated[dict[int, BlobInfo], Field(max_length=DIFFERENCE_BASES)]
    metrics: Annotated[dict[Name, float], Field(max_length=32)]
    epsilon: Annotated[float, Field(ge=0.0)]
    delta: Annotated[float, Field(ge=0.0, le=1.0)]
    created: float
    expires: float
    feature_version: Annotated[int, Field(ge=1, le=MAX_INTEGER)] = FEATURE_VERSION
    policy: Annotated[dict[Name, _Floor], Field(max_length=len(FLOOR_NAMES))] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _known_policy(self) -> Manifest:
        if self.policy and self.model != POLICY_MODEL:
            raise ValueError("only a router carries a retrieval policy")
        if not self.policy.keys() <= set(FLOOR_NAMES.values()):
            raise ValueError("a retrieval policy of which this version does not know every part")
        return self


def target_name(model: str, version: int) -> str:
    """How the signed targets call the manifest of one version."""
    return f"models/{model}/{version}"


def in_cohort(device_id: str, model: str, version: int, percent: int) -> bool:
    """Whether a phone is among the first ``percent`` to take a version.

    The hash gives every version other first phones, and a later stage holds all of an earlier one.
    """
    drawn = hashlib.sha256(f"{device_id}|{model}|{version}".encode()).digest()
    return int.from_bytes(drawn, "big") % COHORTS < percent * (COHORTS // 100)


def seal_manifest(manifest: Manifest, signing_key: SigningKey) -> bytes:
    """The signed manifest as it travels in a Plan."""
    fields = manifest.model_dump()
    # msgpack maps here have text keys only; sorted, so that one manifest has one encoding.
    fields["differences"] = {
        str(base): fields["differences"][base] for base in sorted(manifest.differences)
    }
    for named in ("metrics", "policy"):
        fields[named] = dict(sorted(fields[named].items()))
    if not manifest.policy:
        # Phones that know of no policy read every manifest that carries none.
        del fields["policy"]
    return signed_envelope(pack(fields), signing_key, purpose=_PURPOSE)


@lru_cache(maxsize=_CACHED_MANIFESTS)
def open_manifest(blob: bytes, public_key: bytes) -> Manifest:
    """The manifest, signature checked before it is parsed; ReleaseRefused otherwise."""
    try:
        payload = open_envelope(blob, public_key, purpose=_PURPOSE)
    except SignatureInvalid:
        raise ReleaseRefused("signature", "not signed by the pinned cloud key") from None
    try:
        fields = unpack_map(payload, max_size=MAX_MANIFEST)
        return validated(Manifest, fields | {"differences": _by_base(fields.get("differences"))})
    except WireError:
        raise ReleaseRefused("shape", "the manifest is malformed") from None


def check_release(manifest: Manifest, *, adopted_version: int, now: float, spec: ModelSpec) -> None:
    """Raise ReleaseRefused unless this phone may take the release."""
    if manifest.model != spec.name or manifest.feature_version != spec.feature_version:
        raise ReleaseRefused("shape", "for another model or other features; update this phone")
    if manifest.version <= adopted_version:
        raise ReleaseRefused("rollback", f"version {adopted_version} is already adopted")
    if manifest.expires <= now:
        raise ReleaseRefused("expired", "its lifetime is over")
    if manifest.created > now + CLOCK_SLACK:
        raise ReleaseRefused("future", "made over a day from now; check this phone's clock")
    for info in (manifest.full, *manifest.differences.values()):
        if info.size > spec.max_blob:
            raise ReleaseRefused("size", f"a blob is over {spec.max_blob} bytes")


def plan_fetch(manifest: Manifest, have_version: int) -> int:
    """The base to fetch from: ``have_version`` when its difference is the smaller, else 0."""
    difference = manifest.differences.get(have_version)
    if difference is None or difference.size >= manifest.full.size:
        return FULL
    return have_version


def open_release(
    manifest: Manifest, blob: bytes, base: Parameters | None, spec: ModelSpec
) -> Parameters:
    """The release's parameters from its full blob (``base`` None) or the difference from ``base``.

    Raises ReleaseRefused with reason "size", "hash" or "shape"; then fetch the full blob instead.
    """
    info = manifest.full if base is None else manifest.differences.get(base.version)
    if info is None:
        raise ReleaseRefused("hash", "the manifest has no difference from this base")
    if len(blob) != info.size or info.size > spec.max_blob:
        raise ReleaseRefused("size", "the blob has another size than its manifest says")
    if hashlib.sha256(blob).digest() != info.sha256:
        raise ReleaseRefused("hash", "the blob does not match its manifest")
    try:
        if base is None:
            opened = decode_full(blob, spec, manifest.version)
        else:
            opened = apply_difference(base, blob, spec, manifest.version)
    except DifferenceInvalid as error:
        raise ReleaseRefused("shape", str(error)) from None
    if sha256_of(opened) != manifest.sha256:
        raise ReleaseRefused("hash", "the decoded parameters do not match their manifest")
    return opened


def _by_base(differences: object) -> dict[int, object]:
    """Text keys back to versions; canonical decimals only, so that no version appears twice."""
    if not isinstance(differences, dict):
        raise MalformedFrame("the differences are not a map")
    by_base: dict[int, object] = {}
    for key, info in differences.items():
        if not _VERSION.fullmatch(key):
            raise MalformedFrame("a base is not a version")
        by_base[int(key)] = info
    return by_base
