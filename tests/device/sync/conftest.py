from __future__ import annotations

import os

import numpy as np
import pytest

from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector
from privacy import BUDGETS, Gate, Ledger
from protocol.identity import SigningKey
from protocol.rounds import LocalRound, RoundDescriptor

NOW = 1_780_000_000.0
HELPER_KEY = bytes([9, *bytes(31)])
"""The base point of Curve25519: a valid public key whose secret nobody needs here."""


class Vault:
    """A store in RAM whose logs can be opened again as after a restart."""

    def __init__(self) -> None:
        self.storage = MemoryStorage()
        self.protector = StaticProtector(b"k" * 32)

    def log(self, name: str) -> SealedLog:
        return self.logs(name)[name]

    def logs(self, *names: str) -> dict[str, SealedLog]:
        """Logs that are written side by side share one keyring, as on a phone."""
        keyring = Keyring.open(self.storage, self.protector, os.urandom)
        return {
            name: SealedLog.open(self.storage, name, keyring, clock_now=lambda: NOW)
            for name in names
        }

    def bytes_stored(self) -> bytes:
        return b"".join(self.storage.read(name) for name in self.storage.names())


@pytest.fixture
def vault() -> Vault:
    return Vault()


@pytest.fixture
def cloud_key() -> SigningKey:
    return SigningKey.generate(os.urandom)


def descriptor(
    task: str = "usage", round_: int = 1, dimension: int = 33, helper_key: bytes = HELPER_KEY
) -> RoundDescriptor:
    terms = BUDGETS["demo"].terms(task)
    return RoundDescriptor(
        task=task,  # type: ignore[arg-type]
        round=round_,
        dimension=dimension,
        scale=terms.scale,
        clip=terms.clip,
        sigma=terms.sigma,
        n_min=terms.n_min,
        base_version=0,
        helper_key=helper_key,
        opens=NOW - 10,
        closes=NOW + 86_400,
        budget="demo",
    )


def local_round(histogram: str = "language", round_: int = 1, **changes: float) -> LocalRound:
    plan = BUDGETS["demo"].local
    fields = {"epsilon": plan.epsilon, "n_min": plan.n_min} | changes
    return LocalRound(
        round=round_,
        histogram=histogram,
        epsilon=fields["epsilon"],
        n_min=int(fields["n_min"]),
        opens=NOW - 10,
        closes=NOW + 86_400,
        budget="demo",
    )


@pytest.fixture
def gate(vault: Vault) -> Gate:
    return Gate(Ledger(vault.log("ledger"), BUDGETS["demo"]), os.urandom)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=7))
