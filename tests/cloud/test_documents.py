"""Publishing documents: the encoder's bounds, its child, and the choice of the smallest blob."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from cloud.documents import (
    DeltaEncoder,
    DeltaFailed,
    EncoderMissing,
    child_encoder,
    delta_blob,
    find_library,
    local_encoder,
    whole_blob,
    xdelta,
)
from cloud.documents.xdelta import Xdelta
from protocol.documents import describe, open_document
from protocol.errors import DocumentRefused
from protocol.records import canonical
from protocol.vcdiff import Limits, decode_delta

BASE = b"".join(b"%d,%d;" % (number, number * number % 977) for number in range(3000))
NEW = BASE[:5000] + b"something that was not there before" + BASE[5200:]


@pytest.fixture(scope="module", params=xdelta.MODULES)
def library(request: pytest.FixtureRequest) -> Path:
    """The library of each of the two packages, where installed."""
    spec = importlib.util.find_spec(request.param)
    if spec is None or spec.origin is None:
        pytest.skip(f"{request.param} is not installed")
    return Path(spec.origin)


@pytest.fixture(scope="module")
def encode() -> DeltaEncoder:
    """The encoder a publisher would get."""
    try:
        return local_encoder()
    except EncoderMissing as missing:
        pytest.skip(str(missing))


def test_either_package_serves(library: Path) -> None:
    functions = Xdelta(library)
    delta = functions.encode(BASE, NEW, len(NEW))
    assert len(delta) < 100
    assert functions.decode(delta, BASE, len(NEW)) == NEW
    assert decode_delta(delta, BASE, Limits(len(NEW))) == NEW


def test_the_bound_is_exact(library: Path) -> None:
    functions = Xdelta(library)
    size = len(functions.encode(BASE, NEW, len(NEW)))
    assert len(functions.encode(BASE, NEW, size)) == size
    with pytest.raises(DeltaFailed, match=f"more than {size - 1} bytes"):
        functions.encode(BASE, NEW, size - 1)
    with pytest.raises(DeltaFailed):
        functions.encode(BASE, NEW, 0)


def test_inputs_are_bounded(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = Xdelta(library)
    for base, target in ((b"", NEW), (BASE, b"")):
        with pytest.raises(DeltaFailed, match="1 to"):
            functions.encode(base, target, 100)
    monkeypatch.setattr(xdelta, "MAX_INPUT", len(NEW) - 1)
    with pytest.raises(DeltaFailed, match="1 to"):
        functions.encode(b"x", NEW, len(NEW))
    with pytest.raises(DeltaFailed):
        functions.decode(b"", BASE, 100)
    with pytest.raises(DeltaFailed, match="ended with"):
        functions.decode(b"not a delta", BASE, 100)


def test_the_library_is_found_without_importing_its_package(library: Path) -> None:
    assert find_library().is_file()
    assert not {"xdelta3", "_xdelta3", "pyxdelta"} & set(sys.modules)


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xdelta, "MODULES", ("_no_such_module",))
    for missing in (find_library, local_encoder, child_encoder):
        with pytest.raises(EncoderMissing, match=r"xdelta3==0\.0\.5.*pyxdelta==0\.2\.3"):
            missing()


def test_a_library_without_the_functions_is_named(tmp_path: Path) -> None:
    other = importlib.util.find_spec("_msgpack") or importlib.util.find_spec("msgpack._cmsgpack")
    assert other is not None
    assert other.origin is not None
    nothing = tmp_path / "nothing.so"
    nothing.write_bytes(b"not a library")
    for path in (Path(other.origin), nothing):
        with pytest.raises(EncoderMissing, match="reinstall"):
            Xdelta(path).encode(BASE, NEW, 100)


@pytest.mark.skipif(sys.platform == "win32", reason="limits are POSIX")
def test_a_child_gives_the_same_delta_within_limits(library: Path, tmp_path: Path) -> None:
    delta = Xdelta(library).encode(BASE, NEW, len(NEW))
    child = child_encoder(library)
    assert child(BASE, NEW, len(NEW)) == delta
    with pytest.raises(DeltaFailed, match="more than 20 bytes"):
        child(BASE, NEW, 20)
    with pytest.raises(DeltaFailed, match="1 to"):
        child(BASE, b"", 20)
    starved = child_encoder(library, memory=40 << 20)
    with pytest.raises(DeltaFailed, match="process ended"):
        starved(BASE * 40, NEW * 400, len(NEW) * 400)
    nowhere = child_encoder(tmp_path / "nothing.so")
    with pytest.raises(DeltaFailed, match="process ended"):
        nowhere(BASE, NEW, len(NEW))


def _records(rng: random.Random, count: int) -> list[dict[str, Any]]:
    words = [f"{number:x}{number * 7919 % 10007:x}" for number in range(800)]
    return [
        {
            "id": f"place-{number:05d}",
            "name": " ".join(rng.choices(words, k=3)),
            "text": " ".join(rng.choices(words, k=20)),
            "seen": rng.randrange(10**9),
        }
        for number in range(count)
    ]


def _versions() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A snapshot of 800 records and the next, one in a hundred of them changed."""
    rng = random.Random(3)
    old = _records(rng, 800)
    new = [dict(record) for record in old]
    for record in rng.sample(new, 8):
        record["seen"] += 1
    return old, new


def test_a_small_change_travels_as_a_delta(encode: DeltaEncoder) -> None:
    old, new = map(canonical, _versions())
    whole, base = whole_blob("places", 2, new), describe("places", 1, old)
    blob = delta_blob(whole, new, base, old, encode)
    assert blob.base == 1
    assert blob.document == whole.document == describe("places", 2, new)
    assert len(blob.blob) < len(whole.blob) / 100
    assert open_document(blob.document, blob.info, blob.blob, old) == new


def test_canonical_order_is_what_makes_it_small(encode: DeltaEncoder) -> None:
    old, new = _versions()
    shuffled = b"".join(canonical([record]) for record in random.Random(4).sample(new, len(new)))
    sizes = [
        len(encode(canonical(old), content, len(content))) for content in (canonical(new), shuffled)
    ]
    assert sizes[1] > 10 * sizes[0]


def test_what_has_changed_throughout_travels_whole(encode: DeltaEncoder) -> None:
    old = canonical(_records(random.Random(5), 200))
    new = canonical(_records(random.Random(6), 200))
    whole = whole_blob("places", 2, new)
    assert delta_blob(whole, new, describe("places", 1, old), old, encode) is whole
    assert open_document(whole.document, whole.info, whole.blob) == new


def test_a_failing_or_lying_encoder_costs_bytes_only(encode: DeltaEncoder) -> None:
    old, new = map(canonical, _versions())
    whole, base = whole_blob("places", 2, new), describe("places", 1, old)

    def failing(_base: bytes, _target: bytes, _most: int) -> bytes:
        raise DeltaFailed("out of order")

    def lying(base: bytes, target: bytes, most: int) -> bytes:
        return encode(base, target[:-2] + b"!\n", most)

    for encoder in (failing, lying, lambda _base, _target, _most: b"\xd6\xc3\xc4\x00\x00odd"):
        assert delta_blob(whole, new, base, old, encoder) is whole


def test_the_wrong_base_is_refused_at_once() -> None:
    old, new = map(canonical, _versions())
    whole, base = whole_blob("places", 2, new), describe("places", 1, old)

    def unused(_base: bytes, _target: bytes, _most: int) -> bytes:
        pytest.fail("nothing is encoded from a base that is none")

    with pytest.raises(DocumentRefused, match="not the content of places 1"):
        delta_blob(whole, new, base, new, unused)
    with pytest.raises(DocumentRefused, match="size"):
        whole_blob("places", 2, b"")
