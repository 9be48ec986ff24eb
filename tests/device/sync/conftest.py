from __future__ import annotations

import os

import numpy as np
import pytest

from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector
from privacy import BUDGETS, Gate, Ledger
from protocol.identity import SigningKey
from protocol.rounds import RoundDescriptor

NOW = 1_780_000_000.0


class Vault:
    """A store in RAM whose logs can be opened again as after a restart."""

    def __init__(self) -> None:
        self.storage = MemoryStorage()
        self.protector = StaticProtector(b"k" * 32)

    def log(self, name: str) -> SealedLog:
        keyring = Keyring.open(self.storage, self.protector, os.urandom)
        return SealedLog.open(self.storage, name, keyring, clock_now=lambda: NOW)

    def bytes_stored(self) -> bytes:
        return b"".join(self.storage.read(name) for name in self.storage.names())


@pytest.fixture
def vault() -> Vault:
    return Vault()


@pytest.fixture
def cloud_key() -> SigningKey:
    return SigningKey.generate(os.urandom)


def descriptor(task: str = "usage", round_: int = 1, dimension: int = 33) -> RoundDescriptor:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

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
        helper_key=X25519PrivateKey.generate().public_key().public_bytes_raw(),
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
