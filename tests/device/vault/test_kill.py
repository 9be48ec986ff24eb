"""A real process, a real folder, a real kill -9."""

from __future__ import annotations

import os
import random
import signal
import struct
from pathlib import Path

from device.vault import FolderStorage, SealedLog
from tests.device.vault.conftest import open_log

KILLS = 30
ACK = struct.Struct("<q")


def payload(sequence: int) -> bytes:
    return b"turn %d " % sequence * (1 + sequence % 9)


def append_for_ever(folder: Path, acks: int, seed: int) -> None:
    """The child: append, and tell a sequence only once it is acknowledged."""
    storage = FolderStorage(folder)
    log = open_log(storage, seed=seed, segment_records=16)
    while True:
        first = log.next_sequence
        for sequence in log.append_many([payload(first + n) for n in range(1 + first % 3)]):
            os.write(acks, ACK.pack(sequence))


def one_life(folder: Path, rng: random.Random) -> int:
    """Run a child, kill it after a few acknowledgements; the last acknowledged sequence."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read_end)
            append_for_ever(folder, write_end, rng.getrandbits(64))
        finally:
            os._exit(1)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        told = b""
        for _ in range(rng.randint(1, 40)):
            told = pipe.read(ACK.size)
            assert len(told) == ACK.size, "the child died by itself"
        os.kill(child, signal.SIGKILL)
        rest = pipe.read()
    os.waitpid(child, 0)
    whole = len(rest) // ACK.size * ACK.size
    last = rest[whole - ACK.size : whole] if whole else told
    return int(ACK.unpack(last)[0])


def test_killing_the_process_loses_no_acknowledged_record(tmp_path: Path) -> None:
    seed = 20_26
    rng = random.Random(seed)
    folder = tmp_path / "vault"
    for _ in range(KILLS):
        acknowledged = one_life(folder, rng)
        storage = FolderStorage(folder)  # the dead child's lock is gone with it
        log: SealedLog = open_log(storage, seed=rng.getrandbits(64), segment_records=16)
        found = list(log.read())
        storage.close()
        assert [sequence for sequence, _ in found] == list(range(len(found)))
        assert len(found) > acknowledged, f"seed {seed}"
        assert all(data == payload(sequence) for sequence, data in found)
