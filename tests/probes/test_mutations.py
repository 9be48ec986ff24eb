"""Do the probes bite? Each case breaks one behaviour of the phone; probes must fail for it.

A case that names what the phone no longer has fails too: name what does that work now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from device import in_use, phone
from device.language import events
from device.language.times import TimeExpression
from device.memory import StructuredMemory, WorkingMemory, consolidation
from device.phone import Phone
from device.probing import Models, load_suite, run
from device.readings import forget_readings
from device.recall import Judge, layers, recall, router
from device.recall.candidates import Candidate
from device.recall.folding import fold
from device.settings import Settings

DAY = 86_400.0
Break = Callable[[pytest.MonkeyPatch], None]


def cancelled_is_recalled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(layers, "_recallable", lambda item: not item.replaced_by)


def replaced_is_recalled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(layers, "_recallable", lambda item: True)
    patch.setattr(layers, "PAST_STATES", frozenset())


def what_is_over_stands(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(layers, "PAST_STATES", frozenset())


def times_are_a_day_late(patch: pytest.MonkeyPatch) -> None:
    at = events._at

    def late(draft: events.Draft, time: TimeExpression) -> events.Draft:
        right = at(draft, time)
        assert right.starts is not None
        assert right.ends is not None
        return replace(right, starts=right.starts + DAY, ends=right.ends + DAY)

    patch.setattr(events, "_at", late)


def everything_folds(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(in_use, "judge_with", lambda weights: lambda a, b: True)


def nothing_folds(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(in_use, "judge_with", lambda weights: lambda a, b: False)


def items_outlive_forgetting(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StructuredMemory, "_forget", lambda memory, ids, turns: 0)


def values_outlive_forgetting(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(WorkingMemory, "_forget_turns", lambda memory, ids: 0)


def machine_talk_is_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(events, "worth_remembering", lambda text, speaker="user", kind="dialogue": True)


def it_means_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(consolidation, "event_meant", lambda desk, change: None)


def nothing_fades(patch: pytest.MonkeyPatch) -> None:
    async def kept(*_: object, **__: object) -> tuple[int, int]:
        return 0, 0

    patch.setattr(phone, "let_fade", kept)


def no_rule_routes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(router, "coarse", lambda query, at: ())


def the_floor_is_one(patch: pytest.MonkeyPatch) -> None:
    def floored(**fields: object) -> Settings:
        return Settings.model_validate({**fields, "layer_floor": 1.0})

    patch.setattr("device.probing.stage.Settings", floored)


def the_ring_is_empty(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(WorkingMemory, "_recent", lambda memory, wanted: [])


def best_comes_last(patch: pytest.MonkeyPatch) -> None:
    def backwards(candidates: Iterable[Candidate], judge: Judge, k: int) -> list[Candidate]:
        return fold(candidates, judge, k)[::-1]

    patch.setattr(recall, "fold", backwards)


def dreams_do_nothing(patch: pytest.MonkeyPatch) -> None:
    async def nothing(slept: Phone) -> None:
        return None

    patch.setattr(Phone, "dream", nothing)


CASES: tuple[tuple[Break, str], ...] = (
    (cancelled_is_recalled, "changes"),
    (replaced_is_recalled, "preferences"),
    (what_is_over_stands, "changes"),
    (times_are_a_day_late, "times"),
    (everything_folds, "dedup"),
    (nothing_folds, "dedup"),
    (items_outlive_forgetting, "forgetting"),
    (values_outlive_forgetting, "forgetting"),
    (machine_talk_is_kept, "restraint"),
    (it_means_nothing, "anaphora"),
    (nothing_fades, "forgetting"),
    (no_rule_routes, "routing"),
    (the_floor_is_one, "routing"),
    (the_ring_is_empty, "working"),
    (best_comes_last, "raw"),
    (dreams_do_nothing, "events"),
)


@pytest.mark.parametrize(
    ("breaks", "path"), CASES, ids=lambda case: getattr(case, "__name__", case)
)
async def test_probes_catch_it(breaks: Break, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = load_suite().only(path=path)
    sound = {result.id for result in (await run(suite, Models())).results if result.passed}
    breaks(monkeypatch)
    forget_readings()  # what was read while all was sound
    broken = {result.id for result in (await run(suite, Models())).results if result.passed}
    forget_readings()  # no other test may meet what was read while it was broken
    assert sound - broken, f"no probe along {path} noticed"
