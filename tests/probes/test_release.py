"""A first router beside none: the fine stage must not cost what rules and the fallback gave."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cloud.actors.trainers import Trainer
from cloud.training.config import TRAINING
from cloud.training.releases import Shelf
from device.probing import Models, load_suite, run
from protocol.params import Parameters

SEED = 11
STEPS = 60
"""Fewer than a cloud takes: enough for a router that knows its layers."""
LOST_SHARE = 0.03


def first_router(folder: Path) -> Parameters:
    url, blobs = f"sqlite:///{folder / 'cloud.db'}", folder / "blobs"
    trainer = Trainer("router", url, blobs, SEED, replace(TRAINING["router"], steps=STEPS))
    shelf = Shelf(url, blobs)
    try:
        return shelf.parameters_of(shelf.get(trainer.bootstrap(0.0)))
    finally:
        trainer.close()
        shelf.close()


async def test_a_first_router_passes_nearly_all_that_no_release_passes(tmp_path: Path) -> None:
    suite = load_suite()
    models = Models(router=first_router(tmp_path))
    bare = {result.id for result in (await run(suite, Models())).results if result.passed}
    report = await run(suite, models)
    lost = bare - {result.id for result in report.results if result.passed}
    assert len(lost) <= LOST_SHARE * len(suite), sorted(lost)
