"""A real process, a real folder, a real kill -9, again and again.

300 lives in every run; `REVERIE_KILLS=5000 pytest tests/device/vault/test_kill.py` runs a storm.
"""

from __future__ import annotations

import os
import random
import signal
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

from device.vault import FolderStorage, SealedLog
from tests.device.vault.conftest import open_log

KILLS = int(os.environ.get("REVERIE_KILLS", "300"))
SEED = 20_26
ACK = struct.Struct("<cq")
APPENDED, ERASED, ERASING = b"a", b"e", b"E"
SEGMENT_RECORDS = 64
MOST_ACKS = 12
SPIN_SECONDS = 0.002
"""The kill comes up to this long after an acknowledgement: anywhere in the work after it."""
REKEY_EVERY = 40
"""One operation in so many rewrites the whole log under fresh keys."""


def payload(sequence: int) -> bytes:
    return b"turn %d " % sequence * (1 + sequence % 9)


def work_for_ever(folder: Path, acks: int, rng: random.Random) -> None:
    """The child: append, erase, rekey, and tell each thing only once it is acknowledged."""
    storage = FolderStorage(folder)
    log = open_log(storage, seed=rng.getrandbits(64), segment_records=SEGMENT_RECORDS)
    while True:
        what = rng.randrange(REKEY_EVERY)
        if what == 0:
            log.rekey()
        elif what < 4 and log.next_sequence:
            doomed = rng.randrange(log.next_sequence)
            os.write(acks, ACK.pack(ERASING, doomed))
            log.erase([doomed])
            os.write(acks, ACK.pack(ERASED, doomed))
        else:
            first = log.next_sequence
            for sequence in log.append_many([payload(first + n) for n in range(1 + first % 3)]):
                os.write(acks, ACK.pack(APPENDED, sequence))


@dataclass
class Told:
    """What the children acknowledged before they died."""

    appended: set[int] = field(default_factory=set)
    erased: set[int] = field(default_factory=set)
    in_doubt: set[int] = field(default_factory=set)
    """An erase of it was begun; death may have come before or after."""

    def take(self, data: bytes) -> None:
        for kind, sequence in ACK.iter_unpack(data[: len(data) // ACK.size * ACK.size]):
            held = {APPENDED: self.appended, ERASED: self.erased, ERASING: self.in_doubt}[kind]
            held.add(sequence)


def one_life(folder: Path, rng: random.Random, told: Told) -> None:
    """Run a child and kill it at a random moment."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read_end)
            work_for_ever(folder, write_end, random.Random(rng.getrandbits(64)))
        finally:
            os._exit(1)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        for _ in range(rng.randint(0, MOST_ACKS)):
            ack = pipe.read(ACK.size)
            assert len(ack) == ACK.size, "the child died by itself"
            told.take(ack)
        end = time.perf_counter() + rng.random() * SPIN_SECONDS
        while time.perf_counter() < end:
            pass
        os.kill(child, signal.SIGKILL)
        told.take(pipe.read())
    os.waitpid(child, 0)


def test_300_kills_at_random_moments_lose_no_acknowledged_record(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    folder = tmp_path / "vault"
    told = Told()
    for life in range(KILLS):
        rng.getrandbits(1)  # parent and child must not draw the same numbers
        one_life(folder, rng, told)
        storage = FolderStorage(folder)  # the dead child's lock is gone with it
        log: SealedLog = open_log(
            storage, seed=rng.getrandbits(64), segment_records=SEGMENT_RECORDS
        )
        found = dict(log.read())
        log.close()
        storage.close()
        where = f"seed {SEED}, life {life}"
        assert list(found) == sorted(found), where
        assert not told.erased & found.keys(), f"{where}: an erased record came back"
        assert told.appended - told.erased - told.in_doubt <= found.keys(), where
        assert all(data == payload(sequence) for sequence, data in found.items()), where
    assert len(told.appended) > KILLS
    assert len(told.erased) > KILLS / 20
