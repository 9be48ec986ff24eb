"""Everything that can be read of a phone's store with the keys it holds now."""

from __future__ import annotations

from collections.abc import Mapping

from device.phone import LOGS
from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector, Storage
from device.vault.frames import SegmentCipher, unpack_block

KEY = b"k" * 32
SEGMENT_FILE = ".seg"


def readable(storage: Storage) -> dict[str, bytes]:
    """Clear bytes of every log, by its name."""
    keyring = _keyring(storage)
    found = {}
    for log in LOGS:
        opened = SealedLog.open(storage, log, keyring, clock_now=lambda: 0.0, read_only=True)
        found[log] = b"".join(payload for _, payload in opened.read())
    return found


def readable_of_copies(storage: Storage, files: Mapping[str, bytes]) -> tuple[int, bytes]:
    """(segments tried, clear bytes) of old copies of a store's files, each frame of each segment
    tried with every key that the store's keyring holds today."""
    keyring = _keyring(storage)
    keys = {segment.key for log in LOGS for segment in keyring.log(log).segments}
    clear = bytearray()
    segments = {name: data for name, data in files.items() if name.endswith(SEGMENT_FILE)}
    for name, data in segments.items():
        log, identity, _ = name.split(".")
        for key in sorted(keys):
            cipher, offset = SegmentCipher(key, log, int(identity, 16)), 0
            while (frame := cipher.open(data, offset)) is not None:
                clear += b"".join(payload for _, payload in unpack_block(frame.block))
                offset = frame.end
    return len(segments), bytes(clear)


def _keyring(storage: Storage) -> Keyring:
    copy = MemoryStorage()
    for name in storage.names():
        copy.replace(name, storage.read(name))
    return Keyring.open(copy, StaticProtector(KEY), lambda count: bytes(count))
