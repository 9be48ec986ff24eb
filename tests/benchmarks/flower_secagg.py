"""SecAgg+ of Flower (package flwr) on this machine: one phone's whole cost, and the server's.

Run as a script by an interpreter that has flwr; prints one JSON object. It drives Flower's own
client stages and the functions its server workflow is made of, in the workflow's order, in one
process: no messages, no serialisation of records, no network. One complete group of ``GROUP``
phones is what a phone meets in a fleet of any size, since its neighbours decide its cost; a few
vanish after the keys are shared, and the sum that comes out is checked. About a minute.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

GROUP = 67
"""Shares of a phone's secrets, itself included: what Bell et al. 2020 need at 1,000 phones for
2^-40 privacy and 2^-20 correctness with 5 % corrupt and 20 % dropped out."""

THRESHOLD = 34
"""Shares that rebuild a secret: just over half."""

VANISHED = 3
"""Phones of the group that share keys and never upload: 5 %."""

LONG, SHORT = 50_000, 30
"""Values in a vector: a model update, a set of counts."""

SAMPLED = 4
"""Phones timed for the short vector; the group is not summed a second time."""

CLIP = 8.0
TARGET = 1 << 22
MODULUS = 1 << 32
WEIGHT = 1_000.0


def _module(name: str) -> Any:
    return importlib.import_module(f"flwr.{name}")


class _Clock:
    """Seconds by name; a list, so that a median can be taken."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}

    def __call__(self, name: str, call: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = call()
        self.seconds.setdefault(name, []).append(time.perf_counter() - start)
        return result

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])


def _size(value: Any) -> int:
    """Bytes of a value without any framing; node ids are 8 bytes."""
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return 8


class _Group:
    """One group of phones and the server between them."""

    def __init__(self) -> None:
        self.mod = _module("client.mod.secure_aggregation.secaggplus_mod")
        self.key = _module("common.secure_aggregation.secaggplus_constants").Key
        self.crypto = _module("common.secure_aggregation.crypto.symmetric_encryption")
        self.shamir = _module("common.secure_aggregation.crypto.shamir")
        self.sums = _module("common.secure_aggregation.ndarrays_arithmetic")
        self.masks = _module("common.secure_aggregation.secaggplus_utils")
        self.quantization = _module("common.secure_aggregation.quantization")
        self.asymmetric = _module("supercore.primitives.asymmetric")
        self.common = _module("common")
        self.clock = _Clock()
        self.up, self.down = 0, 0
        self.phones: dict[int, Any] = {}
        self.mail: dict[int, tuple[list[int], list[bytes]]] = {}
        self.shares: dict[int, list[bytes]] = {}
        self.active: list[int] = []
        self.dead: list[int] = []

    def share_keys(self) -> None:
        """Stages 0 and 1, the same for vectors of any length."""
        key = self.key
        setup = {
            key.SAMPLE_NUMBER: GROUP,
            key.SHARE_NUMBER: GROUP,
            key.THRESHOLD: THRESHOLD,
            key.CLIPPING_RANGE: CLIP,
            key.TARGET_RANGE: TARGET,
            key.MOD_RANGE: MODULUS,
            key.MAX_WEIGHT: WEIGHT,
        }
        for number in range(1, GROUP + 1):
            phone = self.mod.SecAggPlusState()
            phone.nid = number
            said = self.clock("setup", partial(self.mod._setup, phone, setup))
            self.phones[number] = phone
        self.up += _size(said)
        keys = {str(number): (each.pk1, each.pk2) for number, each in self.phones.items()}
        self.mail = {number: ([], []) for number in self.phones}
        for number, phone in self.phones.items():
            said = self.clock("keys", partial(self.mod._share_keys, phone, keys))
            pairs = zip(said[key.DESTINATION_LIST], said[key.CIPHERTEXT_LIST], strict=True)
            for to, ciphertext in pairs:
                self.mail[to][0].append(number)
                self.mail[to][1].append(ciphertext)
        self.up += _size(said)
        self.down += _size(keys) + _size(self.mail[1])

    def aggregate(self) -> dict[str, float]:
        """Stages 2 and 3 of the whole group for long vectors, the sum checked."""
        vector = np.linspace(-1.0, 1.0, LONG)
        self.dead = list(range(1, VANISHED + 1))
        self.active = [number for number in self.phones if number not in self.dead]
        total, arrays = self._collect(self.active, vector)
        self._ask_for_shares()
        total = self._unmask(total, self.active, self.dead)
        self._check(total, len(self.active), vector)
        return self._costs(arrays)

    def sample(self) -> dict[str, float]:
        """What the same costs a few phones and the server for short vectors."""
        for name in ("mask", "add", "alive", "dead"):
            del self.clock.seconds[name]
        some = self.active[:SAMPLED]
        total, arrays = self._collect(some, np.linspace(-1.0, 1.0, SHORT))
        self._unmask(total, some, self.dead[:1])
        return self._costs(arrays)

    def _collect(self, numbers: Sequence[int], vector: Any) -> tuple[Any, list[bytes]]:
        parameters = self.common.ndarrays_to_parameters([vector])
        total: Any = None
        for number in numbers:
            sources, ciphertexts = self.mail[number]
            letter = {self.key.CIPHERTEXT_LIST: ciphertexts, self.key.SOURCE_LIST: sources}
            stage = self.mod._collect_masked_vectors
            phone = self.phones[number]
            said = self.clock("mask", partial(stage, phone, letter, int(WEIGHT), parameters))
            arrays = said[self.key.MASKED_PARAMETERS]
            total = self.clock("add", partial(self._add, total, arrays))
        return total, arrays

    def _ask_for_shares(self) -> None:
        self.shares = {number: [] for number in self.phones}
        ask = {self.key.ACTIVE_NODE_ID_LIST: self.active, self.key.DEAD_NODE_ID_LIST: self.dead}
        for number in self.active:
            said = self.clock("unmask", partial(self.mod._unmask, self.phones[number], ask))
            pairs = zip(said[self.key.NODE_ID_LIST], said[self.key.SHARE_LIST], strict=True)
            for owner, share in pairs:
                self.shares[owner].append(share)
        self.up += _size(said)
        self.down += _size(ask)

    def _unmask(self, total: Any, active: Sequence[int], dead: Sequence[int]) -> Any:
        for number in active:
            total = self.clock("alive", partial(self._unveil, total, number))
        for number in dead:
            total = self.clock("dead", partial(self._mend, total, number))
        return total

    def _costs(self, arrays: list[bytes]) -> dict[str, float]:
        stages = ("setup", "keys", "mask", "unmask")
        return {
            "phone_seconds": sum(map(self.clock.median, stages)),
            "alive_seconds": self.clock.median("alive") + self.clock.median("add"),
            "dead_seconds": self.clock.median("dead"),
            "bytes": self.up + self.down + _size(arrays),
            "vector_bytes": _size(arrays),
        }

    def _add(self, total: Any, arrays: list[bytes]) -> Any:
        vectors = [self.common.bytes_to_ndarray(each) for each in arrays]
        return vectors if total is None else self.sums.parameters_addition(total, vectors)

    def _unveil(self, total: Any, number: int) -> Any:
        shapes = self.sums.get_parameters_shape(total)
        seed = self.shamir.combine_shares(self.shares[number])
        mask = self.masks.pseudo_rand_gen(seed, MODULUS, shapes)
        return self.sums.parameters_subtraction(total, mask)

    def _mend(self, total: Any, number: int) -> Any:
        shapes = self.sums.get_parameters_shape(total)
        secret = self.shamir.combine_shares(self.shares[number])
        for neighbour, phone in self.phones.items():
            if neighbour == number:
                continue
            shared = self.crypto.generate_shared_key(
                self.asymmetric.bytes_to_private_key(secret),
                self.asymmetric.bytes_to_public_key(phone.pk1),
            )
            mask = self.masks.pseudo_rand_gen(shared, MODULUS, shapes)
            join = self.sums.parameters_addition
            join = join if number > neighbour else self.sums.parameters_subtraction
            total = join(total, mask)
        return total

    def _check(self, total: Any, count: int, vector: Any) -> None:
        """The mean that SecAgg+ arrives at must be the vector every phone sent."""
        factor, sums = self.sums.factor_extract(self.sums.parameters_mod(total, MODULUS))
        mean = self.quantization.dequantize(sums, CLIP, TARGET)[0]
        mean = (mean - (count - 1) * CLIP) * TARGET / factor
        if not np.allclose(mean, vector, atol=1e-3):
            raise AssertionError("SecAgg+ was not driven as it should be: the sum is wrong")


def measure() -> dict[str, dict[str, float]]:
    """Costs of long and short vectors; times in seconds, sizes in bytes, both ways together."""
    group = _Group()
    group.share_keys()
    return {"long": group.aggregate(), "short": group.sample()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure()))
