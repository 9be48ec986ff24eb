"""Memory probes: how many a phone passes without a release and with a first one, and their cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from cloud.actors.trainers import Trainer
from cloud.training.releases import Shelf
from device.probing import Language, Models, Report, load_suite, run
from protocol.models import SPECS
from protocol.params import Parameters
from tests.benchmarks.row import Row

SEED = 1
SUITE_BOUND_MS = 2000.0
"""CPU time that the whole suite may take before a release is adopted."""


def rows() -> Iterator[Row]:
    """Passed by language and parameters; the bound of each is every probe."""
    suite = load_suite()
    with TemporaryDirectory() as folder:
        first = {model: _first_release(model, folder) for model in SPECS}
        trained = Models(router=first["router"], dedup=first["dedup"])
    start = time.process_time()
    bare = asyncio.run(run(suite, Models()))
    spent = (time.process_time() - start) * 1000.0
    yield from _passed(bare, "no release")
    yield from _passed(asyncio.run(run(suite, trained)), "a first release")
    yield Row("probes: CPU time of one", spent / len(suite), "ms")
    yield Row("probes: CPU time of the suite", spent, "ms", target=SUITE_BOUND_MS)


def _passed(report: Report, parameters: str) -> Iterator[Row]:
    for language in Language:
        results = [result for result in report.results if result.language == language]
        passed = sum(result.passed for result in results)
        yield Row(
            f"probes passed, {language}, {parameters}",
            passed,
            "probes",
            bound=len(results),
            target=len(results),
            better="high",
        )


def _first_release(model: str, folder: str) -> Parameters:
    """What a new cloud publishes first."""
    url, blobs = f"sqlite:///{folder}/{model}.db", Path(folder) / model
    trainer = Trainer(model, url, blobs, SEED)  # type: ignore[arg-type]
    shelf = Shelf(url, blobs)
    try:
        return shelf.parameters_of(shelf.get(trainer.bootstrap(0.0)))
    finally:
        trainer.close()
        shelf.close()
