from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.laws.world import World, world

OpenWorld = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture(scope="session")
def trained_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cloud's state folder after its first training, made once."""
    folder = tmp_path_factory.mktemp("trained") / "state"

    async def train() -> None:
        async with world(folder):
            pass

    asyncio.run(train())
    return folder


@pytest.fixture
def open_world(trained_state: Path, tmp_path: Path) -> OpenWorld:
    """Opens a world over a copy of that state; `local` is one without a helper."""

    def opener(*, local: bool = False) -> AbstractAsyncContextManager[World]:
        folder = tmp_path / "state"
        shutil.copytree(trained_state, folder)
        return world(folder, "local" if local else "two-server")

    return opener
