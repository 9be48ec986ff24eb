"""The table of bad input: act, what the peer is told, what is counted."""

from __future__ import annotations

from hashlib import sha256

from protocol.mail import MAX_LETTER
from protocol.messages import MAX_INTEGER, Bye, Prove, UploadChunk
from protocol.update import MAX_REPORT
from protocol.wire import MAX_FRAME, encode
from tests.cloud.hostile_acts import (
    HELLO,
    UPGRADE,
    UPLOAD,
    Case,
    begin,
    broken_websocket,
    fetch,
    first_frame,
    http,
    longer_than_announced,
    named,
    numbered,
    open_frame,
    outside_the_field,
    packed_hello,
    page,
    proof_with,
    shorter_seed,
    shorter_share,
    spoilt_report,
    text_frame,
    whole_upload,
)

DEEP = b"\x91" * 2_000 + b"\x90"

BAD_REQUEST = "400"

FORM = "application/x-www-form-urlencoded"


def blob(path: str) -> Case:
    return Case(path[:40], page(f"/v1/releases/{path}"), "404", "unknown_release")


OVERSIZE = [
    Case("frame", first_frame(bytes(MAX_FRAME + 100)), "closed with 1009", "too_large"),
    Case("report", open_frame(begin(MAX_REPORT + 1)), "too_large"),
    Case("upload over every cap", open_frame(begin(1 << 40)), "bad_message"),
    Case("letter", whole_upload(lambda _: bytes(MAX_LETTER + 1), "mail"), "too_large"),
    Case("longer than announced", longer_than_announced, "too_large"),
    Case("headers", http(UPGRADE + b"X: " + b"y" * 60_000 + b"\r\n\r\n"), BAD_REQUEST, "too_large"),
    Case(
        "many headers",
        http(UPGRADE + b"".join(b"X%d: y\r\n" % n for n in range(1_000)) + b"\r\n"),
        BAD_REQUEST,
        "bad_message",
    ),
    Case(
        "address", http(b"GET /" + b"a" * 60_000 + b" HTTP/1.1\r\n\r\n"), BAD_REQUEST, "too_large"
    ),
]

MALFORMED = [
    Case("empty frame", first_frame(b""), "bad_message"),
    Case("random bytes", first_frame(sha256(b"random").digest() * 9), "bad_message"),
    Case("truncated", first_frame(encode(HELLO)[:-5]), "bad_message"),
    Case("something behind it", first_frame(encode(HELLO) + b"\x00"), "bad_message"),
    Case("a key twice", first_frame(b"\x82\xa4type\xa3bye\xa4type\xa3bye"), "bad_message"),
    Case("nested deeply", first_frame(DEEP), "bad_message"),
    Case("a list", first_frame(b"\x93\x01\x02\x03"), "bad_message"),
    Case("an announced gigabyte", first_frame(b"\xdd\x3f\xff\xff\xff"), "bad_message"),
    Case("wrong types", first_frame(packed_hello(versions="1", client_nonce=7)), "bad_message"),
    Case("a field too many", first_frame(packed_hello(admin=True)), "bad_message"),
    Case("unknown message", first_frame(packed_hello(type="sudo")), "bad_message"),
    Case("a type that is none", first_frame(packed_hello(type=[1])), "bad_message"),
    Case(
        "a server's message",
        first_frame(packed_hello(type="challenge", server_time=float("nan"))),
        "bad_message",
    ),
    Case("an integer of 64 bits", first_frame(packed_hello(versions=[2**64 - 1])), "bad_message"),
    Case("a negative integer", first_frame(packed_hello(versions=[-1])), "bad_message"),
    Case("no UTF-8", first_frame(packed_hello().replace(b"\xa1x", b"\xa1\xff")), "bad_message"),
    Case("out of turn", first_frame(encode(Prove(signature=bytes(64), have={}))), "bad_message"),
    Case("hello again", open_frame(encode(HELLO)), "bad_message"),
    Case(
        "not a number",
        open_frame(encode(Bye(reason="")).replace(b"\x00" * 8, b"\x7f\xf8" + bytes(6))),
        "bad_message",
    ),
    Case(
        "infinite",
        open_frame(encode(Bye(reason="")).replace(b"\x00" * 8, b"\x7f\xf0" + bytes(6))),
        "bad_message",
    ),
    Case(
        "a chunk of nothing",
        open_frame(encode(UploadChunk(upload_id=UPLOAD, offset=0, data=b"x"))),
        "bad_message",
    ),
    Case("an upload of no bytes", open_frame(begin(0)), "bad_message"),
    Case("an upload of an unknown kind", open_frame(begin(9, "secret")), "bad_message"),
    Case("text", text_frame, "bad_message"),
    Case("no WebSocket", broken_websocket, "closed with 1002", "bad_message"),
    Case("no HTTP", http(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"), BAD_REQUEST, "bad_message"),
]

REPORTS = [
    Case("no report", whole_upload(lambda _: b"no report"), "bad_message"),
    Case("a share of another length", whole_upload(spoilt_report(shorter_share)), "bad_message"),
    Case("a seed of another length", whole_upload(spoilt_report(shorter_seed)), "bad_message"),
    Case("outside the field", whole_upload(spoilt_report(outside_the_field)), "bad_message"),
    Case("no letter", whole_upload(lambda _: b"no letter", "mail"), "bad_message"),
]

NOBODY = [
    Case("an unknown device", named("0" * 32), "unknown_device"),
    Case("a device of NULs", named("\0" * 32), "unknown_device"),
    Case("a device of any text", named("汉字 ' OR 1=1 --\u202e"), "unknown_device"),
    Case("letters of other scripts", named("设备" * 16), "unknown_device"),
    Case(
        "a surrogate",
        first_frame(packed_hello(device_id="?").replace(b"\xa1?", b"\xa3\xed\xa0\x80")),
        "bad_message",
    ),
    Case("a proof of nothing", proof_with(), "bad_proof"),
]

VERSIONS = [
    Case(
        "protocol version 3",
        first_frame(encode(HELLO.model_copy(update={"versions": (3, 4)}))),
        "version",
    ),
    Case("has a negative version", proof_with(have={"router": -1}), "bad_message"),
    Case("has a version beyond all", proof_with(have={"router": MAX_INTEGER + 1}), "bad_message"),
    Case("has a version of a fraction", proof_with(have={"router": 1.5}), "bad_message"),
    Case("has too many models", proof_with(have={f"m{n}": 1 for n in range(17)}), "bad_message"),
    Case("fetches an unknown version", fetch("router", 99, 0), "unknown_release"),
    Case("fetches from an unknown base", fetch("router", 1, 99), "unknown_release"),
    Case(
        "fetches the largest version", fetch("router", MAX_INTEGER, MAX_INTEGER), "unknown_release"
    ),
    Case("fetches an unknown model", fetch("llm", 1, 0), "unknown_release"),
    Case("fetches a model of NULs", fetch("\0", 1, 0), "unknown_release"),
    Case("fetches a path", fetch("knowledge/../../etc/passwd", 1, 0), "unknown_release"),
    Case("fetches a document of NULs", fetch("knowledge/\0", 1, 0), "unknown_release"),
    Case(
        "a round that never was",
        whole_upload(spoilt_report(lambda body: numbered(body, 99))),
        "stale_round",
    ),
    Case(
        "the largest round",
        whole_upload(spoilt_report(lambda b: numbered(b, MAX_INTEGER))),
        "stale_round",
    ),
    Case(
        "a round of 64 bits",
        whole_upload(spoilt_report(lambda b: numbered(b, 2**64 - 1))),
        "bad_message",
    ),
]

PAGES = [
    blob("router/99/0"),
    blob("router/1/-1"),
    blob(f"router/{'9' * 5_000}/0"),
    blob(f"router/{2**63}/{2**64}"),
    blob("router/1e3/NaN"),
    blob("router/%EF%BC%91/0"),
    blob("%00/1/0"),
    blob("knowledge%2F%00/1/0"),
    blob("..%2F..%2Fsigning.key/1/0"),
    Case("body over 4 KiB", page("/v1/admin/halt", b"{" + b" " * 5_000 + b"}"), "413", "too_large"),
    Case("body of 2 MiB", page("/v1/admin/halt", b"x" * (2 << 20)), "413", "too_large"),
    Case("no JSON", page("/v1/admin/halt", b"\xff\x00"), "400", "bad_message"),
    Case("JSON nested deeply", page("/v1/admin/halt", b"[" * 4_000), "400", "bad_message"),
    Case(
        "an unknown model",
        page("/v1/admin/halt", b'{"model": "llm"}'),
        "400",
        "bad_message",
    ),
    Case("days without end", page("/v1/admin/token", b'{"days": Infinity}'), "400", "bad_message"),
    Case("days that are none", page("/v1/admin/token", b'{"days": NaN}'), "400", "bad_message"),
    Case(
        "a device of NULs",
        page("/v1/admin/revoke", b'{"device_id": "\\u0000"}'),
        "400",
        "bad_message",
    ),
    Case("too many rows", page("/v1/admin/rounds?limit=1000000000"), "400", "bad_message"),
    Case("no number of rows", page("/v1/admin/rounds?limit=" + "9" * 5_000), "400", "bad_message"),
    Case("a cursor of 80 bits", page(f"/v1/admin/releases?after={2**80}"), "400", "bad_message"),
    Case("a cursor of NULs", page("/v1/admin/devices?after=%00"), "400", "bad_message"),
    Case("a cursor that is none", page("/v1/admin/rounds?after=nan:usage:1"), "400", "bad_message"),
    Case(
        "login: too large",
        page("/admin/login", b"token=" + b"x" * 5_000, FORM),
        "413",
        "too_large",
    ),
    Case("login: no form", page("/admin/login", b"\xff=%ff&=&", FORM), "400", "bad_message"),
    Case(
        "login: a field twice",
        page("/admin/login", b"token=a&token=b", FORM),
        "400",
        "bad_message",
    ),
    Case("login: JSON", page("/admin/login", b"{}"), "400", "bad_message"),
]

GROUPS = {
    "oversize": OVERSIZE,
    "malformed": MALFORMED,
    "reports": REPORTS,
    "nobody": NOBODY,
    "versions": VERSIONS,
}

GROUPS |= {"pages": PAGES}
