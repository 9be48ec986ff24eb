"""One cloud that has lived is made once; each test that changes it takes a copy."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cloud.admin.house import House, live, opened


@pytest.fixture(scope="session")
def lived(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder of a cloud that has lived."""
    state = Path(shutil.copytree(published, tmp_path_factory.mktemp("lived") / "cloud"))
    asyncio.run(live(state))
    return state


@pytest.fixture(scope="module")
def house(lived: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A served copy, for tests that only look."""
    state = Path(shutil.copytree(lived, tmp_path_factory.mktemp("house") / "cloud"))
    with opened(state) as house:
        yield house


@pytest.fixture
def own_house(lived: Path, tmp_path: Path) -> Iterator[House]:
    """A served copy of the test's own."""
    with opened(Path(shutil.copytree(lived, tmp_path / "cloud"))) as house:
        yield house
