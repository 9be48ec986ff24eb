"""The sealed log: the one primitive under memories, outbox, examples and ledger (law 5).

An append-only list of byte strings, each with a sequence number that is never used twice.

- Durable on return: an append is synced before it is acknowledged.
- A new segment under a fresh key after every open: an old segment is never added to, so a torn
  tail can never lead to a nonce used twice.
- A torn tail is dropped at the first bad frame of the last segment, if that was not closed;
  everywhere else, and where a later append proves the frame had been durable, it is `Tampered`.
- Erasing rewrites the segments concerned under fresh keys; the old keys leave the keyring in the
  same atomic write (crypto-shred), then the old files are deleted.
- Small segments are merged, so that a store opened a thousand times for one record each does not
  become a thousand files.

Nothing in clear is kept in RAM between calls.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence

from device.vault.errors import StorageReadOnly, VaultError
from device.vault.frames import (
    MAX_PAYLOAD,
    Record,
    SegmentCipher,
    blocks,
    pack_block,
)
from device.vault.keyring import Keyring, LogKeys, Segment
from device.vault.segments import SegmentFiles
from device.vault.storage import Storage

__all__ = ["SealedLog"]

SEGMENT_RECORDS = 1000
SEGMENT_AGE = 86_400.0
"""Seconds after which a segment is closed (002: 1,000 records or 24 h)."""
SEGMENT_BYTES = 4 << 20
"""Bytes after which a segment is closed: a segment is read whole, so this bounds RAM."""
MERGE_FROM = 4
"""Small segments in a row that are merged into one, to a third of their size: records deflate well
together. An older one joins them until it is so many times as large as they are, so that a record
is rewritten a handful of times however often the store is opened."""
LOG_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class SealedLog:
    """One named log of a store. Synchronous; one owner at a time."""

    __slots__ = (
        "_age",
        "_cipher",
        "_clock_now",
        "_closed",
        "_end",
        "_files",
        "_keyring",
        "_limit",
        "_name",
        "_read_only",
        "_segments",
        "_writing",
    )

    def __init__(
        self,
        storage: Storage,
        name: str,
        keyring: Keyring,
        *,
        clock_now: Callable[[], float],
        segment_records: int,
        segment_age: float,
        read_only: bool,
    ) -> None:
        """Use `open`."""
        if not LOG_NAME.fullmatch(name):
            raise ValueError("a log's name is 1 to 32 of a-z 0-9 _ - and starts with a letter")
        self._files = SegmentFiles(storage, name, keyring)
        self._name = name
        self._keyring = keyring
        self._clock_now = clock_now
        self._limit = segment_records
        self._age = segment_age
        self._read_only = read_only
        keys = keyring.log(name)
        self._segments: list[Segment] = list(keys.segments)
        self._end = keys.end
        self._writing: Segment | None = None  # the newest segment, while it takes appends
        self._cipher: SegmentCipher | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        storage: Storage,
        name: str,
        keyring: Keyring,
        *,
        clock_now: Callable[[], float],
        segment_records: int = SEGMENT_RECORDS,
        segment_age: float = SEGMENT_AGE,
        read_only: bool = False,
    ) -> SealedLog:
        """Open or make the log `name` and recover from a crash; writes nothing when `read_only`.

        `clock_now` gives unix seconds, `segment_age` is in seconds. Raises `Tampered`.
        """
        log = cls(
            storage,
            name,
            keyring,
            clock_now=clock_now,
            segment_records=segment_records,
            segment_age=segment_age,
            read_only=read_only,
        )
        log._recover()
        return log

    def __len__(self) -> int:
        """Records in the log, erased ones not counted."""
        active = self._writing.held if self._writing is not None else 0
        return sum(segment.held for segment in self._segments) + active

    @property
    def next_sequence(self) -> int:
        """The sequence number the next append will get."""
        return self._end

    # -- writing

    def append(self, payload: bytes) -> int:
        """Add one record; its sequence number (≥ 0) is returned once it is durable."""
        return self.append_many((payload,))[0]

    def append_many(self, payloads: Sequence[bytes]) -> list[int]:
        """Add records together, with one sync when they fit one segment.

        On an error none of them counts as stored. Raises ValueError for a payload over
        `MAX_PAYLOAD` bytes, or a storage error.
        """
        self._check_writable()
        weight = _weight(payloads)
        if not payloads:
            return []
        self._roll_if_due()
        first = self._end
        records = list(enumerate(payloads, first))
        if len(records) <= self._limit and weight <= SEGMENT_BYTES:
            self._append_to_active(records)
        else:
            self._append_in_bulk(records)
        return list(range(first, self._end))

    def erase(self, sequences: Collection[int]) -> int:
        """Shred these records; how many there were. Unknown numbers are ignored."""
        self._check_writable()
        doomed = sorted(set(sequences))
        self._retire()
        segments: list[Segment] = []
        replaced: list[Segment] = []
        erased = 0
        for segment in self._segments:
            kept = self._survivors(segment, doomed)
            if kept is None:
                segments.append(segment)
                continue
            erased += segment.held - len(kept)
            replaced.append(segment)
            if kept:
                segments.append(self._files.write_closed(kept, segment.created))
        if replaced:
            self._commit(segments, self._end)
            self._files.delete(replaced)
        return erased

    def snapshot(self, payloads: Sequence[bytes]) -> list[int]:
        """Replace all that the log holds by these records, all or nothing; their sequences.

        For an owner whose records fold into a state: replaying stays as short as the state. What
        was there is shredded with its keys. Raises as `append_many` does, the log then unchanged.
        """
        self._check_writable()
        _weight(payloads)
        self._retire()
        records = list(enumerate(payloads, self._end))
        replaced = list(self._segments)
        made = self._write_closed(records) if records else []
        self._commit(made, self._end + len(records))
        self._files.delete(replaced)
        return [sequence for sequence, _ in records]

    def rekey(self) -> int:
        """Rewrite every segment under a fresh key, the old keys gone; how many there were.

        Segment by segment: killed in between, the log is whole and can be rekeyed again.
        """
        self._check_writable()
        self._retire()
        for place, segment in enumerate(self._segments):
            records = [record for block in self._files.read(segment) for record in block]
            made = self._files.write_closed(records, segment.created)
            fresh = made._replace(first=segment.first)
            self._commit([*self._segments[:place], fresh, *self._segments[place + 1 :]], self._end)
            self._files.delete([segment])
        return len(self._segments)

    def close(self) -> None:
        """Close the segment being written, so that any later damage to it will show."""
        self.close_all([self])

    @staticmethod
    def close_all(logs: Collection[SealedLog]) -> None:
        """Close logs of one store with one write of their keyring: each costs a sync to flash."""
        left = [log for log in logs if not log._closed]
        changed: dict[str, LogKeys] = {}
        for log in left:
            if not log._read_only:
                log._retire()
                keys = LogKeys(tuple(log._segments), log._end)
                if keys != log._keyring.log(log._name):
                    changed[log._name] = keys
        if changed:
            left[0]._keyring.commit_all(changed)
        for log in left:
            log._closed = True

    # -- reading

    def read(self, after: int = -1) -> Iterator[Record]:
        """(sequence, payload) of every record with a sequence over `after`, ascending.

        The log may be added to, erased from and merged while this is being read. Raises
        `Tampered` on reaching damage.
        """
        while (segment := self._holding(after)) is not None:
            for records in self._files.read(segment):
                for sequence, payload in records:
                    if sequence > after:
                        yield sequence, payload
            after = segment.end - 1

    def _holding(self, after: int) -> Segment | None:
        """The first segment that may hold a sequence over `after`."""
        for segment in (*self._segments, *([self._writing] if self._writing else [])):
            if segment.end - 1 > after:
                return segment
        return None

    # -- segments

    def _append_to_active(self, records: list[Record]) -> None:
        active, cipher = self._active()
        frames = b"".join(
            [
                cipher.seal(pack_block(block), starts_append=not place)
                for place, block in enumerate(blocks(records))
            ]
        )
        try:
            self._files.append(active, frames)
        except BaseException:
            # What of it reached the disk is unknown and its nonces are spent: leave the segment
            # at its last acknowledged byte, for good.
            self._retire()
            raise
        self._end = records[-1][0] + 1
        count, length = active.held + len(records), active.length + len(frames)
        self._writing = active.grown(self._end, count, length)

    def _append_in_bulk(self, records: list[Record]) -> None:
        """Write whole closed segments first, then name them all in one keyring write."""
        self._retire()
        self._commit([*self._segments, *self._write_closed(records)], records[-1][0] + 1)

    def _write_closed(self, records: list[Record]) -> list[Segment]:
        """The records in closed segments that nothing names yet."""
        now = self._clock_now()
        return [self._files.write_closed(chunk, now) for chunk in _chunks(records, self._limit)]

    def _active(self) -> tuple[Segment, SegmentCipher]:
        """The segment that takes appends, made and committed if there is none."""
        if self._writing is None or self._cipher is None:
            self._merge_small()
            fresh = self._keyring.new_segment(self._end, self._clock_now())
            keys = LogKeys((*self._segments, fresh), self._end)
            self._keyring.commit(self._name, keys)
            self._cipher = self._files.cipher(fresh)
            self._writing = fresh.grown(fresh.end, 0, 0)
        return self._writing, self._cipher

    def _roll_if_due(self) -> None:
        active = self._writing
        if active is not None and (
            active.held >= self._limit
            or active.length >= SEGMENT_BYTES
            or self._clock_now() - active.created >= self._age
        ):
            self._retire()

    def _retire(self) -> None:
        """Stop adding to the active segment; the keyring learns its length at its next write."""
        if self._writing is not None and self._writing.held:
            self._segments.append(self._writing)
        self._writing = self._cipher = None

    def _merge_small(self) -> None:
        """Rewrite the run of small segments at the end as one, when it has grown long."""
        run: list[Segment] = []
        count = size = 0
        for segment in reversed(self._segments):
            older_and_large = bool(run) and segment.held > MERGE_FROM * count
            count, size = count + segment.held, size + segment.length
            small = segment.held <= self._limit // 2
            if not small or older_and_large or count > self._limit or size > SEGMENT_BYTES:
                break
            run.insert(0, segment)
        if len(run) < MERGE_FROM:
            return
        records = [record for one in run for block in self._files.read(one) for record in block]
        made = self._files.write_closed(records, run[0].created)
        merged = made._replace(first=run[0].first)
        self._commit([*self._segments[: -len(run)], merged], self._end)
        self._files.delete(run)

    def _survivors(self, segment: Segment, doomed: list[int]) -> list[Record] | None:
        """The records to keep, or None when the segment holds no doomed one."""
        low, high = bisect_left(doomed, segment.first), bisect_left(doomed, segment.end)
        here = frozenset(doomed[low:high])
        if not here:
            return None
        kept = [
            record
            for block in self._files.read(segment)
            for record in block
            if record[0] not in here
        ]
        return None if len(kept) == segment.held else kept

    def _commit(self, segments: list[Segment], end: int) -> None:
        self._keyring.commit(self._name, LogKeys(tuple(segments), end))
        self._segments, self._end = segments, end

    def _recover(self) -> None:
        """Find what of an unclosed last segment survived; sweep files nothing names."""
        if self._segments and not self._segments[-1].closed:
            found = self._files.recover(self._segments.pop(), make_durable=not self._read_only)
            self._end = max(self._end, found.end)
            if found.held:
                self._segments.append(found)
        if not self._read_only:
            self._files.sweep()

    def _check_writable(self) -> None:
        if self._closed:
            raise VaultError(f"log {self._name} is closed; open it again")
        if self._read_only:
            raise StorageReadOnly(f"log {self._name} was opened for reading only")


def _weight(payloads: Sequence[bytes]) -> int:
    """Bytes of them all; ValueError when one is too large for any log."""
    sizes = [len(payload) for payload in payloads]
    if sizes and max(sizes) > MAX_PAYLOAD:
        raise ValueError(f"a record may have at most {MAX_PAYLOAD} bytes")
    return sum(sizes)


def _chunks(records: Sequence[Record], limit: int) -> Iterator[Sequence[Record]]:
    """`records` in runs that each fit one segment."""
    start = weight = 0
    for index, (_, payload) in enumerate(records):
        if index - start >= limit or (index > start and weight + len(payload) > SEGMENT_BYTES):
            yield records[start:index]
            start, weight = index, 0
        weight += len(payload)
    yield records[start:]
