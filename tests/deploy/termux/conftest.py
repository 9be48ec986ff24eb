from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.termux.fake import OF_TERMUX, FakeTermux


@pytest.fixture
def termux() -> Iterator[FakeTermux]:
    """A Termux of a test's own, at a short path: a phone's socket in it has at most 107 bytes."""
    missing = [program for program in OF_TERMUX if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not on this machine: {', '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="termux-") as folder:
        yield FakeTermux(Path(folder))
