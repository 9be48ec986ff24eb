"""An examination plays only what may come out otherwise, and says what a whole run says."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from device.probing import Examiner, Models, Suite, load_suite, run
from device.probing import examiner as examiner_module
from device.probing.engine import play_dialogue
from device.probing.verdicts import Verdicts, key_of
from device.probing.watching import WatchedModels
from protocol.models import DEDUP, ROUTER, ModelSpec, forward, initial_weights
from protocol.params import Parameters

ENOUGH = 10_000
"""Turns of the loop in which three dialogues are played."""
THIRD = 3
PATHS = ("routing", "dedup", "working")


def made(spec: ModelSpec, seed: int, scale: float = 1.0) -> Parameters:
    rng = np.random.Generator(np.random.Philox(key=seed))
    weights = {name: array * scale for name, array in initial_weights(spec, rng).items()}
    return Parameters.of(weights, spec, version=seed)


def some() -> Suite:
    whole = load_suite()
    chosen = [d for path in PATHS for d in whole.only(path=path).dialogues]
    return Suite(dialogues=tuple({d.id: d for d in chosen}.values()))


@pytest.fixture(name="played")
def _played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the dialogues that examiners really played."""
    ids: list[str] = []

    async def counted(dialogue, models):  # type: ignore[no-untyped-def]
        ids.append(dialogue.id)
        return await play_dialogue(dialogue, models)

    monkeypatch.setattr(examiner_module, "play_dialogue", counted)
    return ids


async def test_a_verdict_is_that_of_a_whole_run_whatever_was_played_before() -> None:
    suite = some()
    examiner = Examiner(lambda: suite)
    silent = made(ROUTER, 9, scale=0.0)
    eager = Models(router=made(ROUTER, 1, scale=8.0), dedup=made(DEDUP, 1, scale=8.0))
    verdicts = set()
    for models in (
        Models(),
        eager,
        Models(router=eager.router),
        Models(router=silent, dedup=eager.dedup),
        Models(router=silent, policy={"floor_structured": 0.9, "floor_raw": 0.1}),
        Models(router=silent),
        Models(dedup=made(DEDUP, 2, scale=20.0)),
    ):
        passed = await examiner.passed(models)
        report = await run(suite, models)
        assert passed == {result.id for result in report.results if result.passed}
        verdicts.add(passed)
    assert len(verdicts) > 1


async def test_another_version_is_tried_only_where_it_is_looked_into(played: list[str]) -> None:
    suite = some()
    examiner = Examiner(lambda: suite)
    first = Models(router=made(ROUTER, 1), dedup=made(DEDUP, 1))
    await examiner.passed(first)
    assert len(played) == len(suite.dialogues)
    played.clear()
    await examiner.passed(Models(router=first.router, dedup=made(DEDUP, 2)))
    for_dedup = set(played)
    played.clear()
    await examiner.passed(Models(router=made(ROUTER, 2), dedup=first.dedup))
    assert 0 < len(played) < len(suite.dialogues)
    assert len(for_dedup) < len(suite.dialogues)
    assert for_dedup != set(played)


async def test_what_a_cancelled_examination_played_is_not_played_again(played: list[str]) -> None:
    suite = some()
    examiner = Examiner(lambda: suite)
    cut = asyncio.create_task(examiner.passed(Models()))
    for _ in range(ENOUGH):
        await asyncio.sleep(0)
        if len(played) == THIRD:
            break
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    await examiner.passed(Models())
    # The one under way was lost, no other.
    assert len(played) == len(suite.dialogues) + 1
    assert played.count(played[THIRD - 1]) == 1 + 1


def test_only_who_reads_weights_is_noted() -> None:
    models = WatchedModels()
    held = models.hold(made(ROUTER, 1))
    assert held.parameters.model == "router"
    assert models.read == set()
    forward(held.weights, np.zeros((1, ROUTER.layers[0]), np.float32), ROUTER)
    assert models.read == {"router"}
    copied = dict(models.hold(made(DEDUP, 1)).weights)
    assert models.read == {"router", "dedup"}
    assert set(copied) == set(DEDUP.shapes)


def test_none_and_some_are_never_taken_for_one_another() -> None:
    """A model that was not there was not looked into either, and yet a phone without differs."""
    dialogue = some().dialogues[0]
    verdicts = Verdicts(2)
    given = key_of(Models(router=made(ROUTER, 1), dedup=made(DEDUP, 1)))
    verdicts.keep(dialogue, given, set(), frozenset({"a"}))
    other = key_of(Models(router=made(ROUTER, 2), dedup=made(DEDUP, 2)))
    assert verdicts.find(dialogue, other) == frozenset({"a"})
    assert verdicts.find(dialogue, key_of(Models())) is None
    verdicts.keep(dialogue, key_of(Models()), set(), frozenset({"b"}))
    assert verdicts.find(dialogue, other) == frozenset({"a"})
    verdicts.keep(dialogue, other, {"router"}, frozenset({"c"}))
    assert len(verdicts) == 2
