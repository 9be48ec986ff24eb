"""Law 5: a delete is a crypto-shred."""

from __future__ import annotations

import zlib

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from hypothesis import given
from hypothesis import strategies as st

from device.vault import Keyring, MemoryStorage, StaticProtector
from tests.device.vault.conftest import KEK, open_log

SECRET = b"the door code is 4711 and nobody may know"
FRAMES = 16
"""More than any segment of these tests holds."""


def remaining_keys(storage: MemoryStorage) -> list[bytes]:
    keyring = Keyring.open(storage, StaticProtector(KEK), lambda n: bytes(n))
    return [KEK, *(segment.key for segment in keyring.log("raw").segments)]


def frames_of(data: bytes) -> list[bytes]:
    found, offset = [], 0
    while offset < len(data):
        length = int.from_bytes(data[offset : offset + 4], "little") & 0x7FFFFFFF
        found.append(data[offset + 4 : offset + 4 + length])
        offset += 4 + length
    return found


def reveals(key: bytes, counter: int, sealed: bytes) -> bool:
    """Whether the key's stream turns the frame into a block that holds the secret.

    The stream is tried without the tag, so that no detail of the associated data can hide it.
    """
    nonce = (1).to_bytes(4, "little") + counter.to_bytes(12, "little")
    block = Cipher(ChaCha20(key, nonce), None).decryptor().update(sealed[:-16])
    if SECRET in block:
        return True
    try:
        return SECRET in zlib.decompressobj(-zlib.MAX_WBITS).decompress(block[1:])
    except zlib.error:
        return False


def test_no_remaining_key_opens_an_erased_record() -> None:
    storage = MemoryStorage()
    log = open_log(storage, segment_records=6)
    for n in range(20):
        log.append(SECRET if n in (2, 9, 19) else b"an innocent remark, number %d" % n)
    old = {name: storage.read(name) for name in storage.names("raw.")}
    keys_before = remaining_keys(storage)
    old_frames = [
        (counter, frame) for data in old.values() for counter, frame in enumerate(frames_of(data))
    ]
    assert any(reveals(key, n, frame) for key in keys_before for n, frame in old_frames), (
        "the test must be able to see the secret before the erase"
    )

    assert log.erase([2, 9, 19]) == 3

    everything = old | {name: storage.read(name) for name in storage.names("raw.")}
    for key in remaining_keys(storage):
        for data in everything.values():
            for counter, frame in enumerate(frames_of(data)):
                assert not reveals(key, counter, frame)
                try:
                    ChaCha20Poly1305(key).decrypt(counter.to_bytes(12, "little"), frame, b"")
                except InvalidTag:
                    continue
                raise AssertionError("a frame opened without its associated data")
    shredded = set(old) - set(storage.names("raw."))
    assert len(shredded) == 3, "each touched segment must have been rewritten"
    assert [n for n, _ in open_log(storage, seed=1).read()] == [
        n for n in range(20) if n not in (2, 9, 19)
    ]


@given(st.integers(0, 30), st.sets(st.integers(-5, 40)), st.booleans())
def test_exactly_the_named_records_go(count: int, doomed: set[int], reopen: bool) -> None:
    storage = MemoryStorage()
    log = open_log(storage, segment_records=7)
    for n in range(count):
        log.append(b"%d" % n)
    assert log.erase(doomed) == len(doomed & set(range(count)))
    if reopen:
        log = open_log(storage, seed=1, segment_records=7)
    left = [(n, b"%d" % n) for n in range(count) if n not in doomed]
    assert list(log.read()) == left
    assert len(log) == len(left)
    assert log.append(b"next") == count, "an erased number must not be used again"


def test_erasing_everything_leaves_no_file() -> None:
    storage = MemoryStorage()
    log = open_log(storage)
    log.append_many([SECRET] * 30)
    log.erase(range(30))
    assert storage.names("raw.") == []
    assert open_log(storage, seed=1).append(b"new") == 30
