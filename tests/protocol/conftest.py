"""Fixtures of the protocol's tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def research_data() -> Path:
    """The folder of research data sets beside the checkout, or the test is skipped."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("REVERIE_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no research data at {folder} (set REVERIE_DATA)")
    return folder
