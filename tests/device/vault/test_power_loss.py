"""Law 3 at the bottom: no acknowledged record is lost or doubled, and the log always opens.

Mutants seen failing here: no sync after an append; no sync of a recovered tail; adding to an old
segment after a restart (nonce used twice); trusting a frame whose chain is broken; deleting the
old file of an erase before the keyring is written.
"""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from device.vault import SealedLog
from tests.device.vault.conftest import Recorder, open_log
from tests.device.vault.power_loss import PowerLossError, PowerLossStorage

TRIALS = 250
LIVES = 4
SEGMENT_RECORDS = 8


class Model:
    """What the log owes us."""

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}
        self.shredded: set[int] = set()
        self.trying: list[bytes] = []
        """Payloads of an append that had not returned."""
        self.shredding: set[int] = set()
        """Sequences of an erase that had not returned."""
        self.end = 0

    def check(self, log: SealedLog) -> None:
        found = list(log.read())
        sequences = [sequence for sequence, _ in found]
        assert sequences == sorted(set(sequences)), "doubled or out of order"
        assert len(log) == len(found)
        content = dict(found)
        assert not self.shredded & set(content), "an erased record came back"
        lost = {
            sequence
            for sequence, payload in self.kept.items()
            if content.get(sequence) != payload and sequence not in self.shredding
        }
        assert not lost, f"acknowledged records lost: {sorted(lost)}"
        extra = [content[sequence] for sequence in sequences if sequence not in self.kept]
        assert extra == self.trying[: len(extra)], "something was invented"
        # What was seen after opening must stay, acknowledged or not.
        self.shredded |= set(self.kept) - set(content)
        self.kept = content
        self.trying, self.shredding = [], set()
        self.end = max(self.end, *(sequence + 1 for sequence in sequences), 0)


def live(storage: PowerLossStorage, model: Model, rng: random.Random) -> None:
    log = open_log(storage, seed=rng.getrandbits(64), segment_records=SEGMENT_RECORDS)
    model.check(log)
    for _ in range(rng.randint(0, 14)):
        lot = rng.random()
        if lot < 0.75:
            sizes = [rng.choice((0, 3, 40, 300)) for _ in range(rng.choice((1, 1, 2, 5, 20)))]
            model.trying = [rng.randbytes(size) for size in sizes]
            for sequence, payload in zip(log.append_many(model.trying), model.trying, strict=True):
                assert sequence >= model.end, "a sequence number was used twice"
                model.end = sequence + 1
                model.kept[sequence] = payload
            model.trying = []
        elif lot < 0.9 and model.kept:
            doomed = set(rng.sample(sorted(model.kept), min(3, len(model.kept))))
            model.shredding = doomed
            assert log.erase(doomed) == len(doomed)
            for sequence in doomed:
                del model.kept[sequence]
            model.shredded |= doomed
            model.shredding = set()
        else:
            log.close()
            log = open_log(storage, seed=rng.getrandbits(64), segment_records=SEGMENT_RECORDS)
        assert dict(log.read()) == model.kept
    if rng.random() < 0.3:
        log.close()


@pytest.mark.parametrize("batch", range(5))
def test_crashes_lose_nothing(batch: int, recorder: Recorder) -> None:
    for trial in range(batch * TRIALS // 5, (batch + 1) * TRIALS // 5):
        seed = 7919 * trial + 1
        rng = random.Random(seed)
        storage, model = PowerLossStorage(rng), Model()
        try:
            for _ in range(LIVES):
                storage.fuse = rng.choice((None, *range(1, 40)))
                with suppress(PowerLossError):
                    live(storage, model, rng)
                storage = storage.after_death()
            storage.fuse = None
            model.check(open_log(storage, seed=rng.getrandbits(64)))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
