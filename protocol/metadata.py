"""Role metadata after The Update Framework (TUF specification 1.0): root, targets, snapshot and
timestamp files in TUF's own JSON format, read under strict limits.

Root names the keys of all roles and how many must sign (threshold); targets lists what may be
installed, snapshot says which targets file is current, timestamp which snapshot is.

The format is python-tuf's, and python-tuf reads and verifies these files in the tests, where its
client also takes and refuses what ours does; the phone does without it. Measured (tuf 7.0.1,
CPython 3.11, x86-64) on top of what a phone has loaded when it syncs: `tuf.api.metadata` imports 70
modules in 67 ms and keeps 1.2 MB of private memory, of 50 that law 8 allows and that are spent
already (284 modules and 11 MB where boto3 is installed, which securesystemslib then imports); with
`tuf.ngclient`, where the client's workflow lives as a private class, 120 modules, 149 ms, 3.2 MB.
On disk 4.8 MB, of which securesystemslib 3.1 (signers for clouds and HSMs) and urllib3 1.2 (an HTTP
client that a phone here never uses). This module and trust.py: 0.4 MB and, on a machine busy with
other work, 25 ms to import and 15 ms to build their validators at the first sync.

Every file is limited in size before it is parsed; unknown fields, floats, duplicate keys and
anything else that the schema does not name are refused, so that for what remains `json.dumps` with
sorted keys is OLPC canonical JSON, over which the signatures are made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NoReturn, TypeAlias, cast

from pydantic import Field

from protocol.errors import MalformedFrame, ProtocolError, SignatureInvalid
from protocol.identity import SigningKey, verify
from protocol.messages import MAX_INTEGER, ProtocolModel
from protocol.packing import KIB, validated

__all__ = [
    "MAX_FILE",
    "MAX_TARGETS",
    "ROLES",
    "SPEC_VERSION",
    "Custom",
    "MetaFile",
    "MetadataReason",
    "MetadataRefused",
    "Role",
    "RoleFile",
    "RoleRule",
    "Root",
    "Signed",
    "Snapshot",
    "Target",
    "Targets",
    "Timestamp",
    "described",
    "key_id",
    "open_role",
    "public_keys",
    "seal_role",
    "signed_by",
    "target",
    "unix_seconds",
    "utc_text",
]

Role: TypeAlias = Literal["root", "timestamp", "snapshot", "targets"]
ROLES: Final[tuple[Role, ...]] = ("root", "timestamp", "snapshot", "targets")
"""In the order in which a client takes them."""
SPEC_VERSION: Final = "1.0.34"
MAX_FILE: Final[Mapping[Role, int]] = {
    "root": 16 * KIB,
    "timestamp": 2 * KIB,
    "snapshot": 2 * KIB,
    "targets": 16 * KIB,
}
"""Bytes of one file. A cloud with one key a role and four models writes 1.4, 0.5, 0.5, 2 KB."""
_REMEMBERED_FILES: Final = 64
"""Parsed files remembered, of 2 KB each: a day's timestamps and snapshots and what they name."""
MAX_KEYS: Final = 16
MAX_SIGNATURES: Final = 32
MAX_TARGETS: Final = 48
_NAME = r"^[a-z0-9][a-z0-9_.-]*(/[a-z0-9][a-z0-9_.-]*){0,3}$"
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"

MetadataReason = Literal[
    "rollback",
    "freeze",
    "mix-and-match",
    "threshold",
    "expired",
    "future",
    "endless",
    "malformed",
]


class MetadataRefused(ProtocolError):
    """Role metadata that a phone must not trust; ``reason`` names the attack it would allow.

    ``clock`` is True where the phone's own clock is the likelier cause.
    """

    def __init__(self, reason: MetadataReason, detail: str, *, clock: bool = False) -> None:
        super().__init__(f"release metadata refused ({reason}): {detail}")
        self.reason: MetadataReason = reason
        self.detail = detail
        self.clock = clock


Hex32 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]
Version = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
Length = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
Text = Annotated[str, Field(pattern=_TIME)]
TargetName = Annotated[str, Field(pattern=_NAME, max_length=96)]


class _KeyValue(ProtocolModel):
    public: Hex32


class _PublicKey(ProtocolModel):
    keytype: Literal["ed25519"] = "ed25519"
    scheme: Literal["ed25519"] = "ed25519"
    keyval: _KeyValue


class _Hashes(ProtocolModel):
    sha256: Hex32


class RoleRule(ProtocolModel):
    """Whose signatures a role's file needs, and how many of them."""

    keyids: Annotated[tuple[Hex32, ...], Field(min_length=1, max_length=MAX_KEYS)]
    threshold: Annotated[int, Field(ge=1, le=MAX_KEYS)]


class MetaFile(ProtocolModel):
    """Which file of a role is current."""

    version: Version
    length: Length
    hashes: _Hashes


class Custom(ProtocolModel):
    """What a target says beyond TUF: ``percent`` of the phones may take it; those that hold one of
    the ``withdrawn`` versions are to go back."""

    percent: Annotated[int, Field(ge=1, le=100)] = 100
    withdrawn: Annotated[tuple[Version, ...], Field(max_length=MAX_TARGETS)] = ()


class Target(ProtocolModel):
    """One file that may be installed: size in bytes, SHA-256."""

    length: Length
    hashes: _Hashes
    custom: Custom = Custom()


class _SignedPart(ProtocolModel):
    spec_version: Annotated[str, Field(pattern=r"^1\.[0-9]{1,3}\.[0-9]{1,3}$")] = SPEC_VERSION
    version: Version
    expires: Text
    issued: Text
    """When it was signed: not of TUF, which lets a file carry more fields. The newest such time a
    phone has seen is the least its clock may say."""


class Root(_SignedPart):
    """The keys of every role."""

    kind: Literal["root"] = Field("root", alias="_type")
    consistent_snapshot: Literal[False] = False
    keys: Annotated[dict[Hex32, _PublicKey], Field(max_length=4 * MAX_KEYS)]
    roles: dict[Role, RoleRule]


class Timestamp(_SignedPart):
    """Which snapshot is current; expires soon."""

    kind: Literal["timestamp"] = Field("timestamp", alias="_type")
    meta: dict[Literal["snapshot.json"], MetaFile]


class Snapshot(_SignedPart):
    """Which targets file is current."""

    kind: Literal["snapshot"] = Field("snapshot", alias="_type")
    meta: dict[Literal["targets.json"], MetaFile]


class Targets(_SignedPart):
    """What may be installed."""

    kind: Literal["targets"] = Field("targets", alias="_type")
    targets: Annotated[dict[TargetName, Target], Field(max_length=MAX_TARGETS)]


Signed: TypeAlias = Root | Timestamp | Snapshot | Targets
_MODELS: Final[Mapping[Role, type[Signed]]] = {
    "root": Root,
    "timestamp": Timestamp,
    "snapshot": Snapshot,
    "targets": Targets,
}


class _Signature(ProtocolModel):
    keyid: Hex32
    sig: Hex64


class _Envelope(ProtocolModel):
    signatures: Annotated[tuple[_Signature, ...], Field(max_length=MAX_SIGNATURES)]
    signed: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RoleFile:
    """A parsed file; its signatures are not yet checked (`signed_by`)."""

    data: bytes
    signed: Signed
    message: bytes
    """What the signatures are over."""
    signatures: tuple[tuple[str, str], ...]
    """(key id, signature), hex; no key id twice."""

    @property
    def role(self) -> Role:
        """Whose file this is."""
        return self.signed.kind

    @property
    def version(self) -> int:
        """The file's version."""
        return self.signed.version

    @property
    def expires(self) -> float:
        """Unix seconds."""
        return unix_seconds(self.signed.expires)

    @property
    def issued(self) -> float:
        """Unix seconds."""
        return unix_seconds(self.signed.issued)


def open_role(data: bytes) -> RoleFile:
    """Parse one file; MetadataRefused("endless") when it is over its role's limit, "malformed"
    when it is anything but a file of this schema. Signatures are not checked.

    The same bytes give the same object while it is remembered: a cloud shows the same few files to
    all of its phones, and thousands of those may live in one process."""
    return _opened(bytes(data))


@lru_cache(maxsize=_REMEMBERED_FILES)
def _opened(data: bytes) -> RoleFile:
    if len(data) > max(MAX_FILE.values()):
        raise MetadataRefused("endless", f"a file of {len(data)} bytes")
    fields = _parsed(data)
    try:
        envelope = validated(_Envelope, fields)
        role = envelope.signed.get("_type")
        if not isinstance(role, str) or role not in _MODELS:
            raise MalformedFrame("the file is of no role")
        signed = validated(_MODELS[cast(Role, role)], envelope.signed)
    except MalformedFrame as error:
        raise MetadataRefused("malformed", str(error)) from None
    if len(data) > MAX_FILE[signed.kind]:
        raise MetadataRefused("endless", f"a {signed.kind} file of {len(data)} bytes")
    _check_sense(signed)
    signatures = tuple((each.keyid, each.sig) for each in envelope.signatures)
    if len(dict(signatures)) != len(signatures):
        raise MetadataRefused("malformed", "one key signs twice")
    return RoleFile(data, signed, _canonical(envelope.signed), signatures)


def seal_role(signed: Signed, keys: Iterable[SigningKey]) -> bytes:
    """The file of ``signed`` with the signatures of ``keys``, in TUF's JSON."""
    fields = signed.model_dump(by_alias=True)
    message = _canonical(fields)
    signatures = [
        {"keyid": key_id(key.public), "sig": key.sign(message).hex()}
        for key in sorted(keys, key=lambda key: key_id(key.public))
    ]
    return _canonical({"signatures": signatures, "signed": fields})


def signed_by(file: RoleFile, root: Root) -> bool:
    """Whether at least the threshold of the keys that ``root`` names for the file's role signed."""
    rule = root.roles[file.role]
    given = dict(file.signatures)
    return rule.threshold <= sum(
        1
        for keyid in rule.keyids
        if keyid in given and _holds(root.keys[keyid].keyval.public, given[keyid], file.message)
    )


def key_id(public: bytes) -> str:
    """TUF's name of an Ed25519 key: the hash of its canonical form."""
    return hashlib.sha256(_canonical(_public(public).model_dump())).hexdigest()


def public_keys(keys: Iterable[bytes]) -> dict[str, _PublicKey]:
    """Key id → key, as a root lists them."""
    return {key_id(public): _public(public) for public in sorted(keys)}


def described(data: bytes, version: int) -> MetaFile:
    """What the next role up says of a file."""
    digest = hashlib.sha256(data).hexdigest()
    return MetaFile(version=version, length=len(data), hashes=_Hashes(sha256=digest))


def unix_seconds(text: str) -> float:
    """A TUF time as unix seconds; ValueError for a day or hour that does not exist."""
    return datetime.fromisoformat(text).timestamp()


def utc_text(seconds: float) -> str:
    """Unix seconds as TUF writes them, whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def target(size: int, sha256: bytes, custom: Custom | None = None) -> Target:
    """A target's entry."""
    hashes = _Hashes(sha256=sha256.hex())
    return Target(length=size, hashes=hashes, custom=custom or Custom())


def _public(public: bytes) -> _PublicKey:
    return _PublicKey(keyval=_KeyValue(public=public.hex()))


@lru_cache(maxsize=_REMEMBERED_FILES)
def _holds(public: str, signature: str, message: bytes) -> bool:
    """Remembered as the files are, and for the same reason."""
    try:
        verify(bytes.fromhex(public), bytes.fromhex(signature), message)
    except SignatureInvalid:
        return False
    return True


def _check_sense(signed: Signed) -> None:
    """What a schema cannot say."""
    try:
        unix_seconds(signed.expires), unix_seconds(signed.issued)
    except ValueError:
        raise MetadataRefused("malformed", "a time that does not exist") from None
    if isinstance(signed, Root):
        _check_root(signed)
    if isinstance(signed, Timestamp | Snapshot) and not signed.meta:
        raise MetadataRefused("malformed", f"a {signed.kind} that speaks of nothing")


def _check_root(root: Root) -> None:
    if set(root.roles) != set(ROLES):
        raise MetadataRefused("malformed", "a root names the keys of all four roles")
    # A key under two names would count twice towards a threshold.
    if any(keyid != key_id(bytes.fromhex(key.keyval.public)) for keyid, key in root.keys.items()):
        raise MetadataRefused("malformed", "a key's id is not its hash")
    for rule in root.roles.values():
        named = set(rule.keyids)
        if len(named) != len(rule.keyids) or not named <= set(root.keys):
            raise MetadataRefused("malformed", "a role names a key twice, or one that is not there")
        if rule.threshold > len(named):
            raise MetadataRefused("malformed", "a threshold that no one can reach")


def _canonical(fields: Mapping[str, Any]) -> bytes:
    """OLPC canonical JSON of what the schema admits: printable ASCII without quotes, integers."""
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode("ascii")


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(
            data.decode("ascii"),
            object_pairs_hook=_distinct,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
    # ValueError: not JSON, not ASCII, an integer of thousands of digits; RecursionError: nesting.
    except (ValueError, RecursionError) as error:
        raise MetadataRefused("malformed", f"no JSON ({type(error).__name__})") from None
    if not isinstance(value, dict):
        raise MetadataRefused("malformed", "the file is no JSON object")
    return value


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in pairs}
    if len(fields) != len(pairs):
        raise ValueError("a key appears twice")
    return fields


def _no_float(_: str) -> NoReturn:
    raise ValueError("canonical JSON has no fractions")
