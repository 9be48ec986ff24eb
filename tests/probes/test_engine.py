"""The engine: pure, sliced, and hard to stop by what it tests."""

from __future__ import annotations

import asyncio
import os
import random
import time
from contextlib import aclosing

import numpy as np
import pytest

from device.phone import Phone
from device.probing import Examiner, Models, Suite, load_suite, play, run
from device.probing import examiner as examiner_module
from device.recall import Recaller
from protocol.models import ROUTER, initial_weights
from protocol.params import Parameters
from tests.probes.conftest import TINY, WriteSuite


def router(seed: int) -> Parameters:
    rng = np.random.Generator(np.random.Philox(key=seed))
    return Parameters.of(initial_weights(ROUTER, rng), ROUTER, version=1)


async def test_says_what_passed_and_why_the_rest_did_not(tiny: Suite) -> None:
    report = await run(tiny, Models())
    assert (report.total, report.passed) == (3, 2)
    (failed,) = report.failed
    assert (failed.id, failed.kind, failed.language, failed.path) == (
        "en-shed/wrong",
        "raw",
        "en",
        "raw",
    )
    assert "in the attic" in failed.reason
    assert report.as_json()["failed"] == [
        {
            "id": "en-shed/wrong",
            "kind": "raw",
            "language": "en",
            "path": "raw",
            "reason": failed.reason,
        }
    ]


async def test_a_known_failure_still_counts_as_failed(write_suite: WriteSuite) -> None:
    text = TINY.replace('says = ["in the attic"]', 'says = ["in the attic"], known = "no attic"')
    report = await run(write_suite(text), Models())
    (failed,) = report.failed
    assert failed.known == "no attic"
    assert report.as_json()["passed"] == 2


async def test_the_same_parameters_give_the_same_results() -> None:
    suite = load_suite().only(path="events")
    models = Models(router=router(1))
    assert await run(suite, models) == await run(suite, models)


async def test_takes_no_time_randomness_or_storage_of_the_machine(
    tiny: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 6: a running phone plays it without touching its own clock, rng or store."""
    expected = await run(tiny, Models())

    def taken(*_: object) -> None:
        raise AssertionError("taken from the machine")

    for module, name in ((time, "time"), (os, "urandom"), (os, "open"), (random, "random")):
        monkeypatch.setattr(module, name, taken)
    assert await run(tiny, Models()) == expected


async def test_the_loop_runs_between_probes_and_a_stop_closes_the_phone(
    tiny: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Phone] = []
    close = Phone.close

    async def noted(phone: Phone) -> None:
        closed.append(phone)
        await close(phone)

    monkeypatch.setattr(Phone, "close", noted)
    asked, first = 0, asyncio.Event()

    async def watch() -> None:
        nonlocal asked
        async with aclosing(play(tiny, Models())) as played:
            async for _ in played:
                asked += 1
                first.set()

    task = asyncio.create_task(watch())
    await first.wait()
    assert not closed
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert asked == len(closed) == 1


async def test_a_phone_that_breaks_fails_the_probe_and_the_rest_goes_on(
    tiny: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    recall = Recaller.recall

    async def breaks(recaller: Recaller, query: str, k: int = 10) -> object:
        if "ladder" in query:
            raise ZeroDivisionError("by design")
        return await recall(recaller, query, k)

    monkeypatch.setattr(Recaller, "recall", breaks)
    report = await run(tiny, Models())
    assert [result.id for result in report.results if result.passed] == ["zh-shed/ladder"]
    assert "ZeroDivisionError: by design" in report.failed[0].reason


class Counted:
    """Reads a suite and counts how often it was read."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.reads = 0
        self.begun = asyncio.Event()

    def __call__(self) -> Suite:
        self.reads += 1
        self.begun.set()
        return self.suite


async def test_a_verdict_is_worked_out_once_for_each_pair_of_parameters(tiny: Suite) -> None:
    counted = Counted(tiny)
    examiner = Examiner(counted)
    one, same, other = Models(router=router(1)), Models(router=router(1)), Models(router=router(2))
    first = await examiner.passed(one)
    assert first == {"en-shed/ladder", "zh-shed/ladder"}
    assert await examiner.passed(same) == first
    assert counted.reads == 1
    await examiner.passed(other)
    assert counted.reads == 2


async def test_phones_that_ask_at_once_share_one_run(tiny: Suite) -> None:
    counted = Counted(tiny)
    examiner = Examiner(counted)
    verdicts = await asyncio.gather(*(examiner.passed(Models()) for _ in range(5)))
    assert counted.reads == 1
    assert len(set(verdicts)) == 1


async def test_a_run_cut_short_leaves_no_verdict_and_the_next_in_line_goes_on(tiny: Suite) -> None:
    counted = Counted(tiny)
    examiner = Examiner(counted)
    first = asyncio.create_task(examiner.passed(Models()))
    second = asyncio.create_task(examiner.passed(Models()))
    await counted.begun.wait()
    first.cancel()
    assert await second == {"en-shed/ladder", "zh-shed/ladder"}
    assert first.cancelled()
    assert counted.reads == 2


async def test_old_verdicts_make_room(tiny: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examiner_module, "VERDICTS", 2)
    counted = Counted(tiny)
    examiner = Examiner(counted)
    for seed in (1, 2, 3, 3, 1):
        await examiner.passed(Models(router=router(seed)))
    assert counted.reads == 4


async def test_a_fleet_may_remember_more(tiny: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examiner_module, "VERDICTS", 1)
    counted = Counted(tiny)
    examiner = Examiner(counted, remembered=3)
    for seed in (1, 2, 3, 3, 1):
        await examiner.passed(Models(router=router(seed)))
    assert counted.reads == 3
