from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The public data sets that tests may read and the project never ships."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public data sets (../shared/data) are not on this machine")
    return SHARED_DATA


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test, and no process a test starts, writes into the user's own state folder."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REVERIE_STATE_HOME", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def own_logs() -> Iterator[None]:
    """What a test sets up for logs ends with it: a captured stream is closed afterwards, and a
    later line of another test must not go there."""
    yield
    structlog.reset_defaults()
