from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector, Storage
from device.vault import frames as frames_module
from device.vault import keyring as keyring_module

KEK = bytes(range(32))


def open_log(
    storage: Storage,
    name: str = "raw",
    *,
    seed: int = 0,
    now: Callable[[], float] = lambda: 0.0,
    key: bytes = KEK,
    segment_records: int = 8,
    read_only: bool = False,
) -> SealedLog:
    bits = random.Random(seed).randbytes
    keyring = Keyring.open(storage, StaticProtector(key), bits)
    return SealedLog.open(
        storage,
        name,
        keyring,
        clock_now=now,
        segment_records=segment_records,
        read_only=read_only,
    )


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


class Recorder:
    """Every (key, nonce) that sealed something in this test."""

    def __init__(self) -> None:
        self.pairs: set[tuple[bytes, bytes]] = set()
        self.count = 0

    def cipher(self, key: bytes) -> RecordingCipher:
        return RecordingCipher(key, self)


class RecordingCipher:
    def __init__(self, key: bytes, recorder: Recorder) -> None:
        self._key = key
        self._aead = ChaCha20Poly1305(key)
        self._recorder = recorder

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes:
        pair = (self._key, nonce)
        assert pair not in self._recorder.pairs, "a nonce was used twice under one key"
        self._recorder.pairs.add(pair)
        self._recorder.count += 1
        return self._aead.encrypt(nonce, data, associated_data)

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes:
        return self._aead.decrypt(nonce, data, associated_data)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    recorder = Recorder()
    monkeypatch.setattr(frames_module, "ChaCha20Poly1305", recorder.cipher)
    monkeypatch.setattr(keyring_module, "ChaCha20Poly1305", recorder.cipher)
    yield recorder
    assert recorder.count == len(recorder.pairs)
