"""What arrives over the sync socket, and what a signature covers in it.

Each signed thing is fuzzed twice: as a stranger sends it, and with the mutation under a good
signature, as a cloud that has gone bad would send it.
"""

from __future__ import annotations

from collections.abc import Callable

from protocol import wire
from protocol.documents import blob_info, describe, encode_whole
from protocol.errors import (
    DocumentRefused,
    ReleaseRefused,
    ReportInvalid,
    SignatureInvalid,
    WireError,
)
from protocol.identity import open_envelope, signed_envelope
from protocol.mail import (
    Letter,
    LetterKind,
    RosterEntry,
    pack_roster,
    read_letter,
    read_roster,
)
from protocol.messages import (
    MAX_CHUNK,
    VERSIONS,
    Bye,
    Challenge,
    Collect,
    Enrol,
    Enrolled,
    Fetch,
    Hello,
    Mail,
    Message,
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
from protocol.metadata import (
    MetadataRefused,
    RoleRule,
    Root,
    Signed,
    Snapshot,
    Targets,
    Timestamp,
    described,
    key_id,
    open_role,
    public_keys,
    seal_role,
    target,
    utc_text,
)
from protocol.models import SPECS
from protocol.policy import HIGHEST_FLOOR, LOWEST_FLOOR
from protocol.publication import (
    Delta,
    Publication,
    check_publication,
    open_publication,
    plan_document_fetch,
    seal_publication,
)
from protocol.release import (
    BlobInfo,
    Manifest,
    check_release,
    open_manifest,
    plan_fetch,
    seal_manifest,
    target_name,
)
from protocol.rounds import LocalRound, RoundDescriptor, open_descriptor, seal_descriptor
from protocol.trust import TrustedSet
from protocol.update import Report, decode_report, encode_report
from tests.fuzz.harness import Parser
from tests.protocol.samples import CLOUD_KEY, bits

__all__ = ["MESSAGES", "NOW", "PARSERS", "PLAN", "descriptors", "manifest"]

NOW = 1_780_000_000.0
DAY = 86_400.0


def manifest(model: str = "router", version: int = 7) -> Manifest:
    info = BlobInfo(size=900, sha256=bits(3)(32))
    return Manifest(
        model=model,
        version=version,
        parent=version - 1,
        sha256=bits(4)(32),
        full=BlobInfo(size=4000, sha256=bits(5)(32)),
        differences=dict.fromkeys(range(max(1, version - 4), version), info),
        metrics={"accuracy": 0.91, "recall": 0.8},
        epsilon=1.5,
        delta=1e-6,
        created=NOW - DAY,
        expires=NOW + 30 * DAY,
    )


POLICY = {"floor_working": 0.35, "floor_structured": 0.1, "floor_raw": 0.02}


def tuned_manifest() -> Manifest:
    """One with a retrieval policy."""
    return manifest().model_copy(update={"policy": POLICY})


def descriptors() -> list[bytes]:
    shared = RoundDescriptor(
        task="usage", round=3, dimension=33, scale=16, clip=2.5, sigma=18.8, n_min=20,
        base_version=0, helper_key=bits(6)(32), opens=NOW, closes=NOW + DAY, budget="demo",
    )  # fmt: skip
    local = LocalRound(
        round=4, histogram="language", epsilon=1.0, n_min=20, opens=NOW, closes=NOW + DAY,
        budget="production",
    )  # fmt: skip
    return [seal_descriptor(each, CLOUD_KEY) for each in (shared, local)]


PLAN = Plan(
    rounds=tuple(descriptors()),
    releases=(seal_manifest(manifest(), CLOUD_KEY),),
    retry_after=60.0,
    receipts=(bits(8)(120),),
)
MESSAGES: tuple[Message, ...] = (
    Hello(versions=(1, 2), device_id="d" * 32, client_nonce=bits(1)(32)),
    Hello(versions=(1,), device_id="", client_nonce=bits(1)(32)),
    Enrol(token="a-token", public_key=bits(2)(32)),
    Prove(signature=bits(3)(64), have={"dedup": 0, "router": 7}),
    UploadBegin(upload_id=bits(4)(16), kind="report", size=300, sha256=bits(5)(32)),
    UploadChunk(upload_id=bits(4)(16), offset=0, data=bits(6)(300)),
    UploadChunk(upload_id=bits(4)(16), offset=MAX_CHUNK, data=bytes(MAX_CHUNK)),
    Fetch(model="router", version=8, base=7),
    Bye(reason="done"),
    Challenge(version=1, server_nonce=bits(7)(32), server_time=NOW),
    Enrolled(device_id="e" * 32),
    PLAN,
    PLAN.model_copy(update={"metadata": (b"role",), "documents": (b"doc",), "mail": 3}),
    Metadata(metadata=(bits(8)(400),), documents=(bits(9)(80),), more=True),
    Collect(after=7),
    Mail(sequence=8, offset=0, total=90, data=bits(9)(90), last=True, left=0),
    UploadAccept(upload_id=bits(4)(16), offset=0, committed=False),
    UploadAck(upload_id=bits(4)(16), offset=300, committed=True, receipt=bits(8)(120)),
    ReleaseBlob(model="router", version=8, base=7, offset=0, total=900, data=bits(9)(900)),
    Refusal(code="busy", detail="later", retry_after=30.0, upload_id=bits(4)(16), fatal=False),
)
"""One of every kind at least, as both ends write them."""


def _decode(frame: bytes) -> object:
    """Whatever is accepted is written again as a frame that means the same."""
    first = len(frame) % 2
    message = wire.decode(frame, VERSIONS[0] if first else VERSIONS[-1])
    assert wire.decode(wire.encode(message)) == message
    return message


def _signed(purpose: str, parse: Callable[[bytes], object]) -> Callable[[bytes], object]:
    """A parser of the payload alone: the signature is good whatever it says."""
    return lambda payload: parse(signed_envelope(payload, CLOUD_KEY, purpose=purpose))


def _payload(blob: bytes, purpose: str) -> bytes:
    return open_envelope(blob, CLOUD_KEY.public, purpose=purpose)


def _manifest(blob: bytes) -> object:
    """As a phone goes on with one: the checks before anything is fetched."""
    opened = open_manifest(blob, CLOUD_KEY.public)
    assert all(LOWEST_FLOOR <= floor <= HIGHEST_FLOOR for floor in opened.policy.values())
    again = seal_manifest(opened, CLOUD_KEY)
    assert open_manifest(again, CLOUD_KEY.public) == opened
    spec = SPECS.get(opened.model)
    if spec is not None:
        check_release(opened, adopted_version=3, now=NOW, spec=spec)
        plan_fetch(opened, 3)
    return opened


def _descriptor(blob: bytes) -> object:
    return open_descriptor(blob, CLOUD_KEY.public)


def _publication(blob: bytes) -> object:
    """As a phone goes on with one."""
    opened = open_publication(blob, CLOUD_KEY.public)
    check_publication(opened, floor=3, now=NOW)
    plan_document_fetch(opened, 19)
    return opened


def _sealed_publication() -> bytes:
    content = b'{"id":"a","text":"x"}\n' * 40
    deltas = tuple(Delta(base=base, size=30, sha256=bits(3)(32)) for base in (19, 18))
    return seal_publication(
        Publication(
            document=describe("metro", 20, content),
            records=40,
            whole=blob_info(encode_whole(content)),
            deltas=deltas,
            created=NOW,
            expires=NOW + DAY,
        ),
        CLOUD_KEY,
    )


def _reports() -> list[bytes]:
    return [
        encode_report(Report("usage", 3, bits(10)(16), bits(11)(400), bits(12)(80))),
        encode_report(Report("router", 9, bits(13)(16), bits(14)(64), bits(12)(80))),
        encode_report(Report("local_usage", 1, bits(15)(16), bytes(4), b"")),
    ]


def _letters() -> list[bytes]:
    return [
        Letter(kind, bits(16)(16), bits(17)(16), 5, bits(18)(200)).pack() for kind in LetterKind
    ]


def _rosters() -> list[bytes]:
    return [pack_roster([RosterEntry(bits(n)(16), n, n % 2 == 0) for n in range(1, 5)])]


# Role metadata: four good files, and one of them mutated, bare or under a good signature.


def _roles() -> dict[str, Signed]:
    issued, expires = utc_text(NOW - 60), utc_text(NOW + DAY)
    keyid = key_id(CLOUD_KEY.public)
    rule = RoleRule(keyids=(keyid,), threshold=1)
    root = Root(
        version=1, expires=expires, issued=issued, keys=public_keys([CLOUD_KEY.public]),
        roles={"root": rule, "timestamp": rule, "snapshot": rule, "targets": rule},
    )  # fmt: skip
    listed = target(900, bits(3)(32))
    targets = Targets(
        version=2, expires=expires, issued=issued, targets={target_name("router", 7): listed}
    )
    snapshot = Snapshot(
        version=2, expires=expires, issued=issued,
        meta={"targets.json": described(seal_role(targets, [CLOUD_KEY]), 2)},
    )  # fmt: skip
    timestamp = Timestamp(
        version=2, expires=expires, issued=issued,
        meta={"snapshot.json": described(seal_role(snapshot, [CLOUD_KEY]), 2)},
    )  # fmt: skip
    return {"root": root, "timestamp": timestamp, "snapshot": snapshot, "targets": targets}


_ROLE_FILES = {role: seal_role(signed, [CLOUD_KEY]) for role, signed in _roles().items()}


def _trust(data: bytes) -> object:
    """The mutated file instead of each of the good ones, and beside them; all or nothing."""
    for role in _ROLE_FILES:
        trusted = TrustedSet({})
        files = [data if each == role else file for each, file in _ROLE_FILES.items()]
        try:
            trusted.update(files, NOW)
        except MetadataRefused:
            assert trusted.state == {}
    trusted = TrustedSet({})
    trusted.update(list(_ROLE_FILES.values()), NOW)
    before = trusted.state
    try:
        trusted.update([data], NOW)
    except MetadataRefused:
        assert trusted.state == before
        raise
    return trusted.allows(target_name("router", 7), bits(3)(32), 900)


PARSERS: tuple[Parser, ...] = (
    Parser(
        "wire.decode",
        _decode,
        (WireError,),
        [wire.encode(message) for message in MESSAGES],
        "msgpack",
        weight=6.0,
    ),
    Parser("update.decode_report", decode_report, (ReportInvalid,), _reports(), weight=3.0),
    Parser(
        "identity.open_envelope",
        lambda blob: open_envelope(blob, CLOUD_KEY.public, purpose="round"),
        (SignatureInvalid,),
        [*descriptors(), signed_envelope(b"payload", CLOUD_KEY, purpose="round")],
        "msgpack",
    ),
    Parser(
        "rounds.open_descriptor",
        _descriptor,
        (SignatureInvalid, WireError),
        descriptors(),
        "msgpack",
    ),
    Parser(
        "rounds.open_descriptor, signed",
        _signed("round", _descriptor),
        (WireError, SignatureInvalid),
        [_payload(each, "round") for each in descriptors()],
        "msgpack",
        weight=2.0,
    ),
    Parser(
        "release.open_manifest",
        _manifest,
        (ReleaseRefused,),
        [
            seal_manifest(each, CLOUD_KEY)
            for each in (manifest(), manifest("dedup"), tuned_manifest())
        ],
        "msgpack",
    ),
    Parser(
        "release.open_manifest, signed",
        _signed("release", _manifest),
        (ReleaseRefused,),
        [
            _payload(seal_manifest(each, CLOUD_KEY), "release")
            for each in (manifest(), tuned_manifest())
        ],
        "msgpack",
        weight=2.0,
    ),
    Parser(
        "publication.open_publication",
        _publication,
        (DocumentRefused,),
        [_sealed_publication()],
        "msgpack",
    ),
    Parser(
        "publication.open_publication, signed",
        _signed("document", _publication),
        (DocumentRefused,),
        [_payload(_sealed_publication(), "document")],
        "msgpack",
    ),
    Parser("mail.read_letter", read_letter, (WireError,), _letters()),
    Parser("mail.read_roster", read_roster, (WireError,), _rosters()),
    Parser(
        "metadata.open_role",
        open_role,
        (MetadataRefused,),
        list(_ROLE_FILES.values()),
        "json",
        weight=2.0,
    ),
    Parser(
        "trust.update", _trust, (MetadataRefused,), list(_ROLE_FILES.values()), "json", weight=0.1
    ),
)
