from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The public data sets that tests may read and the project never ships."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public data sets (../shared/data) are not on this machine")
    return SHARED_DATA
