"""A cloud's storage with a signing key, and aggregates as the rounds actor would store them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from sqlalchemy import insert

from cloud.actors.evaluator import Evaluator
from cloud.actors.publisher import Publisher
from cloud.actors.trainers import Trainer
from cloud.storage import Database
from cloud.storage.tables import aggregates
from cloud.training.config import TRAINING
from cloud.training.releases import Shelf
from protocol.identity import SigningKey

SCALE = 1 << 12
SEED = 11


@dataclass(frozen=True)
class House:
    """Where one test's cloud keeps its state."""

    url: str
    blobs: Path
    key_path: Path

    @property
    def public(self) -> bytes:
        return SigningKey(self.key_path.read_bytes()).public

    def trainer(
        self, model: Literal["router", "dedup"] = "dedup", seed: int | None = SEED, **changes: Any
    ) -> Trainer:
        changes = {"steps": 12, "refresh_steps": 6, "refresh_share": 2.0} | changes
        return Trainer(model, self.url, self.blobs, seed, replace(TRAINING[model], **changes))

    def evaluator(self) -> Evaluator:
        return Evaluator(self.url, self.blobs)

    def publisher(self) -> Publisher:
        return Publisher(self.url, self.blobs, self.key_path)

    def shelf(self) -> Shelf:
        return Shelf(self.url, self.blobs)

    def aggregate(
        self,
        mean: np.ndarray[Any, Any],
        *,
        task: str = "dedup",
        number: int = 1,
        n: int = 1000,
        sigma: float = 0.0,
        clip: float = 1.0,
        base_version: int = 1,
        estimates: dict[str, Any] | None = None,
    ) -> int:
        row = {
            "task": task,
            "round": number,
            "base_version": base_version,
            "n": n,
            "scale": SCALE,
            "clip": clip,
            "sigma": sigma,
            "total": np.rint(mean * n * SCALE).astype("<i8").tobytes(),
            "estimates": estimates or {},
            "created": 0.0,
        }
        database = Database(self.url)
        with database.write() as connection:
            key = connection.execute(insert(aggregates).values(**row)).inserted_primary_key
        database.close()
        assert key is not None
        return int(key[0])


@pytest.fixture
def house(tmp_path: Path) -> House:
    key_path = tmp_path / "signing.key"
    key_path.write_bytes(os.urandom(32))
    return House(f"sqlite:///{tmp_path / 'cloud.db'}", tmp_path / "blobs", key_path)
