"""Files of one log's segments: writing them whole, reading them back, recovering a torn one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from device.vault.errors import Tampered
from device.vault.frames import Record, SegmentCipher, blocks, pack_block, unpack_block
from device.vault.keyring import SEGMENT_SUFFIX, Keyring, Segment
from device.vault.storage import Storage

__all__ = ["SegmentFiles"]


class SegmentFiles:
    """The files of the log `name`; what they are worth is for the keyring to say."""

    __slots__ = ("_keyring", "_name", "_storage")

    def __init__(self, storage: Storage, name: str, keyring: Keyring) -> None:
        self._storage = storage
        self._name = name
        self._keyring = keyring

    def cipher(self, segment: Segment) -> SegmentCipher:
        """A cipher at the start of the segment."""
        return SegmentCipher(segment.key, self._name, segment.id)

    def append(self, segment: Segment, frames: bytes) -> None:
        """Add frames to the segment's file, durably."""
        name = self._file(segment)
        self._storage.append(name, frames)
        self._storage.sync(name)

    def write_closed(self, records: Sequence[Record], created: float) -> Segment:
        """A durable closed segment under a fresh key; it counts once the keyring names it."""
        segment = self._keyring.new_segment(records[0][0], created)
        cipher = self.cipher(segment)
        data = b"".join(
            cipher.seal(pack_block(block), starts_append=False) for block in blocks(records)
        )
        self.append(segment, data)
        end = records[-1][0] + 1
        return segment.grown(end, len(records), len(data))

    def read(self, segment: Segment) -> Iterator[list[Record]]:
        """The records of a segment block by block; all of `length` must be good (`Tampered`)."""
        try:
            data = self._storage.read(self._file(segment))[: segment.length]
        except FileNotFoundError:
            raise self.tampered() from None
        cipher = self.cipher(segment)
        offset = 0
        while offset < segment.length:
            frame = cipher.open(data, offset)
            if frame is None:
                raise self.tampered()
            yield unpack_block(frame.block)
            offset = frame.end

    def recover(self, segment: Segment, *, make_durable: bool) -> Segment:
        """A segment that was being written when its process ended, closed at its last good frame.

        Raises `Tampered` when a later append proves that a bad frame had been durable.
        """
        try:
            data = self._storage.read(self._file(segment))
        except FileNotFoundError:
            data = b""  # the key was committed, and the power went before the first append
        cipher = self.cipher(segment)
        offset, count, end = 0, 0, segment.first
        while (frame := cipher.open(data, offset)) is not None:
            records = unpack_block(frame.block)
            count, end, offset = count + len(records), records[-1][0] + 1, frame.end
        if cipher.acknowledged_after(data, offset):
            raise self.tampered()
        if offset and make_durable:
            # Seen is not yet durable: after a mere kill it may only be in the page cache.
            self._storage.sync(self._file(segment))
        return segment.grown(end, count, offset)

    def torn(self, segment: Segment) -> int:
        """Bytes behind the last good frame of a segment not closed: an append that was cut off."""
        try:
            written = self._storage.size(self._file(segment))
        except FileNotFoundError:
            return 0
        return written - self.recover(segment, make_durable=False).length

    def delete(self, segments: Iterable[Segment]) -> None:
        """Remove the segments' files."""
        for segment in segments:
            self._storage.delete(self._file(segment))

    def sweep(self) -> None:
        """Remove files the keyring does not name: left by a crash before or after its write."""
        named = {self._file(segment) for segment in self._keyring.log(self._name).segments}
        for name in self._storage.names(f"{self._name}."):
            if name not in named:
                self._storage.delete(name)

    def tampered(self) -> Tampered:
        """The error for damage in this log."""
        return Tampered(f"log {self._name} is damaged; restore the phone's folder from a backup")

    def _file(self, segment: Segment) -> str:
        return f"{self._name}.{segment.id:016x}{SEGMENT_SUFFIX}"
