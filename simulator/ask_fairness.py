"""What does a population half of which is never on Wi-Fi do to the fairness of the model?

Two things, told apart. What such phones get is played: a world in which they never sync. What the
model is worth to them, had they a way to get it, is learnt: the halves speak different languages
by `skew`, one half teaches or both do, and strangers' questions of either half say how good the
result is. Seeds give the spread: each has a first release, strangers and halves of its own. As a
control the halves are drawn alike: what then remains is the price of fewer teachers, not of bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from protocol.params import Parameters
from simulator.ask import Answer, silent
from simulator.ask_learning import Course, Lived, hits, live, parted, spread
from simulator.habits import HabitName
from simulator.randomness import generator
from simulator.scenario import Scenario, load_scenario
from simulator.words import Both
from simulator.world import Options, run_world

__all__ = ["answer", "halves"]

_PERCENT = 100.0
_EPSILON = 8.0
_UNHEARD, _HEARD = "en", "zh"
"""Language that most of the half never on Wi-Fi speak, and of most others."""
_ALIKE = 0.5
_NORMAL_95 = 1.96
_LIVED_DAYS = 2
_ARMS = ("first", "half", "all", "alike", "half taught", "all taught", "alike taught")

_Worth = dict[str, tuple[float, float]]
"""Arm → accuracy on strangers' questions of the unheard half, and of the heard one."""


def answer(
    *,
    phones: int = 44,
    days: int = 3,
    lived: int = 64,
    fleet: int = 10_000,
    rounds: int = 6,
    skew: float = 0.85,
    seed: int = 0,
    seeds: int = 8,
    tell: Callable[[str], None] = silent,
) -> Answer:
    """The answer.

    Args:
        phones, days: of the world that is played.
        lived: phones that live two days for the examples of the learning part.
        fleet: phones that all of them stand for, at ε = 8 a year.
        rounds: of the router; 6 are a year.
        skew: share of the half never on Wi-Fi that speaks English, and of the other that speaks
            Chinese; 0.5 makes them alike.
        seeds: from `seed` on, 2 to 10.
    """
    world = load_scenario("half-offline")
    world = world.model_copy(update={"phones": phones, "days": days, "seed": seed})
    tell(f"{phones} phones over {days} days, half of them never on Wi-Fi")
    played = run_world(Options.of(world, "inproc", 1))
    tell(f"{lived} phones, for the examples they earn")
    owned = live(Scenario(), phones=lived, days=_LIVED_DAYS, seed=seed, tell=lambda _: None)
    worths = []
    for number in range(seed, seed + seeds):
        tell(f"seed {number}: {rounds} rounds taught by one half, and by all")
        worths.append(_worth(owned, number, fleet, rounds, skew))
    rows = [*_group_rows(played["groups"]), *_learnt_rows(worths)]
    return Answer(
        "never-wifi",
        _sentence(played["groups"], worths),
        _basis(phones, days, lived, fleet, rounds, skew, seed, seeds),
        [
            Both("", ""),
            Both("never on Wi-Fi", "从不连 Wi-Fi"),
            Both("the others", "其他人"),
        ],
        rows,
        {
            "groups": played["groups"],
            "violated": played["invariants"]["violated"],
            "skew": skew,
            "rounds": rounds,
            "fleet": fleet,
            "seeds": list(range(seed, seed + seeds)),
            "accuracy": {
                arm: {
                    "offline": _mean(worths, arm, 0),
                    "online": _mean(worths, arm, 1),
                }
                for arm in _ARMS
            },
            "cost": {
                arm: {"offline": _cost(worths, arm, 0), "online": _cost(worths, arm, 1)}
                for arm in _ARMS
                if arm.startswith(("half", "alike"))
            },
        },
    )


def halves(phones: Sequence[Lived], skew: float, seed: int) -> tuple[list[Lived], list[Lived]]:
    """(never on Wi-Fi, the others): English speakers are in the first with chance `skew`, all
    others with the rest of it."""
    rng = generator(seed, "halves", f"{skew:g}")
    draws = rng.random(len(phones))
    chances = [skew if one.language == _UNHEARD else 1.0 - skew for one in phones]
    unheard = [one for one, u, p in zip(phones, draws, chances, strict=True) if u < p]
    heard = [one for one, u, p in zip(phones, draws, chances, strict=True) if u >= p]
    return unheard, heard


def _worth(owned: Sequence[Lived], seed: int, fleet: int, rounds: int, skew: float) -> _Worth:
    trained, strangers = parted(owned, seed)
    course = Course(seed)
    groups = {
        "half": (halves(trained, skew, seed)[1], fleet // 2),
        "all": (trained, fleet),
        "alike": (halves(trained, _ALIKE, seed)[1], fleet // 2),
    }

    def of(parameters: Parameters) -> tuple[float, float]:
        by_language = {
            language: hits(parameters, [one for one in strangers if one.language == language])
            for language in (_UNHEARD, _HEARD)
        }
        unheard, heard = by_language[_UNHEARD], by_language[_HEARD]
        return skew * unheard + (1 - skew) * heard, skew * heard + (1 - skew) * unheard

    worth = {"first": of(course.first)}
    for name, (teachers, size) in groups.items():
        for gated, said in ((True, name), (False, f"{name} taught")):
            end = course.run(teachers, size, _EPSILON, rounds, gated=gated)
            worth[said] = of(end.parameters)
    return worth


def _mean(worths: Sequence[_Worth], arm: str, side: int) -> float:
    return float(np.mean([one[arm][side] for one in worths]))


def _cost(worths: Sequence[_Worth], arm: str, side: int) -> tuple[float, float]:
    """Accuracy less that of the model all have taught, and its 95 % margin, paired by seed."""
    other = "all taught" if arm.endswith("taught") else "all"
    less = [one[arm][side] - one[other][side] for one in worths]
    return float(np.mean(less)), spread(less)


_NAMES = {
    "first": Both("first release, on the questions of", "首个版本，在其提问上"),
    "all": Both("published, taught by all", "实际发布，由所有人教"),
    "half": Both("published, taught by the others alone", "实际发布，仅由其他人教"),
    "alike": Both("  the same, halves alike", "  同上，两半相同"),
    "all taught": Both("no gate, taught by all", "不经裁决，由所有人教"),
    "half taught": Both("no gate, taught by the others alone", "不经裁决，仅由其他人教"),
    "alike taught": Both("  the same, halves alike", "  同上，两半相同"),
}


def _learnt_rows(worths: Sequence[_Worth]) -> list[Sequence[str | Both]]:
    rows: list[Sequence[str | Both]] = []
    for arm, name in _NAMES.items():
        cells = []
        for side in (0, 1):
            cell = _share(_mean(worths, arm, side))
            if arm.startswith(("half", "alike")):
                cell += f"  ({_points(*_cost(worths, arm, side))})"
            cells.append(cell)
        rows.append((name, *cells))
    return rows


def _group_rows(groups: Mapping[str, Any]) -> list[Sequence[str | Both]]:
    offline, online = _sides(groups)

    def row(said: Both, value: Callable[[Mapping[str, Any]], str]) -> Sequence[str | Both]:
        return (said, value(offline), value(online))

    return [
        row(Both("phones", "手机"), lambda one: f"{one['phones']}"),
        row(
            Both("hours of window, all phones", "窗口小时数，全部手机"),
            lambda one: f"{one['window_hours']:,.0f}",
        ),
        row(
            Both("reports the cloud counted", "云端计入的报告"),
            lambda one: f"{one['uploads_acked']}",
        ),
        row(
            Both("recalls that helped", "有用的回忆"),
            lambda one: f"{_share(_useful(one)[0])}  (± {_PERCENT * _useful(one)[1]:.1f})",
        ),
    ]


def _sides(groups: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    offline = groups[HabitName.NEVER_ON_WIFI]
    (online,) = (one for habit, one in groups.items() if habit != HabitName.NEVER_ON_WIFI)
    return offline, online


def _useful(group: Mapping[str, Any]) -> tuple[float, float]:
    """Share of recalls that helped, and its 95 % margin were they independent."""
    share = group["useful"] / max(group["answered"], 1)
    return share, _NORMAL_95 * math.sqrt(share * (1 - share) / max(group["answered"], 1))


def _share(value: float) -> str:
    return f"{_PERCENT * value:.1f} %"


def _points(cost: float, margin: float) -> str:
    return f"{_PERCENT * cost:+.1f} ± {_PERCENT * margin:.1f}"


def _basis(
    phones: int,
    days: int,
    lived: int,
    fleet: int,
    rounds: int,
    skew: float,
    seed: int,
    seeds: int,
) -> Both:
    last, share = seed + seeds - 1, f"{_PERCENT * skew:.0f} %"
    return Both(
        f"Upper rows, played: the scenario half-offline, {phones} phones, {days} days, "
        f"seed {seed}, demo budget. Lower rows, learnt: examples of {lived} phones that "
        f"lived {_LIVED_DAYS} days, {share} of those never on Wi-Fi speaking English and "
        f"{share} of the others Chinese; {rounds} rounds at ε = 8 a year for {fleet:,} phones; "
        "accuracy on strangers' questions mixed as each half speaks. In brackets the difference "
        f"to a model taught by all, in points, ± 95 % over seeds {seed} … {last}.",
        f"上方各行为实际运行：情景 half-offline，{phones} 部手机 {days} 天，种子 {seed}，"
        "demo 预算。"
        f"下方各行为学习：{lived} 部手机生活 {_LIVED_DAYS} 天的样本，"
        f"从不连 Wi-Fi 者 {share} 说英语，"
        f"其他人 {share} 说中文；每年 ε = 8，{fleet:,} 部手机的 {rounds} 轮；准确率在按各半语言比例"
        f"混合的陌生人提问上。括号内为与由所有人教出的模型之差（百分点），"
        f"± 为种子 {seed} … {last} 上的 95 % 区间。",
    )


def _sentence(groups: Mapping[str, Any], worths: Sequence[_Worth]) -> Both:
    offline, online = _sides(groups)
    helped = [f"{_PERCENT * _useful(one)[0]:.0f} %" for one in (offline, online)]
    published, taught = (_verdict(worths, arm) for arm in ("half", "half taught"))
    return Both(
        f"The half never on Wi-Fi sent {offline['uploads_acked']} of "
        f"{offline['uploads_acked'] + online['uploads_acked']} reports and gets no release at all; "
        f"its recalls still help in {helped[0]} against {helped[1]}. Brought to it, the model "
        f"that the others alone teach would be {published.en} for it than one taught by all as "
        f"published, and {taught.en} without the evaluator's veto.",
        f"从不连 Wi-Fi 的一半发出 {offline['uploads_acked'] + online['uploads_acked']} 份报告中的 "
        f"{offline['uploads_acked']} 份，也得不到任何版本；其回忆有用率仍为 {helped[0]}，另一半 "
        f"{helped[1]}。若把仅由其他人教出的模型带给它，实际发布者比由所有人教出的{published.zh}，"
        f"不经裁决者{taught.zh}。",
    )


def _verdict(worths: Sequence[_Worth], arm: str) -> Both:
    cost, margin = _cost(worths, arm, 0)
    points = _points(cost, margin)
    if abs(cost) <= margin:
        return Both(
            f"neither better nor worse that {len(worths)} seeds can tell ({points} points)",
            f"在 {len(worths)} 个种子下测不出优劣（{points} 个百分点）",
        )
    if cost < 0:
        return Both(f"worse by {points} points", f"差 {points} 个百分点")
    return Both(f"better by {points} points", f"好 {points} 个百分点")
