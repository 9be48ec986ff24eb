from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulator.virtual import VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    """Actors and windows are tested where time costs nothing; the code is the same."""
    virtual = VirtualLoop()
    yield virtual
    virtual.close()
