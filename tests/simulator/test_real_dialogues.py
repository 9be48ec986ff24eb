"""The same loop over public dialogues, where they lie beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.world import Options, run_world


@pytest.mark.parametrize("corpus", ["locomo", "memorybank"])
def test_a_fleet_lives_on_public_dialogues(shared_data: Path, corpus: str) -> None:
    report = run_world(Options(phones=3, days=1, seed=2, data=shared_data / corpus))
    assert report["invariants"]["violated"] == 0, report["invariants"]["violations"]
    assert report["records"] > 100
    recall = report["recall"]
    assert recall["answered"] > 0
    assert recall["useful"] >= recall["answered"] / 2
