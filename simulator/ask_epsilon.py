"""What do ε = 1, 4 and 8 cost in router accuracy?

Phones earn their examples by really living; their training, clipping, the noise at the size of the
fleet they stand for, the server's step and the evaluator's verdict are the real ones. What is left
out is the cloud's refresh on its own corpus, which is the same at any ε, and its veto: how often it
would have let the result pass is told beside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from simulator.ask import Answer, silent
from simulator.ask_learning import Course, hits, live
from simulator.scenario import Scenario
from simulator.words import Both

__all__ = ["answer"]

_PERCENT = 100.0
_STRANGERS = 4
"""Every so manieth person's phones are kept for the test: nobody trains on them."""


def answer(
    *,
    phones: int = 24,
    days: int = 2,
    fleet: int = 10_000,
    rounds: int = 13,
    epsilons: Sequence[float] = (1.0, 4.0, 8.0),
    seed: int = 0,
    scenario: Scenario | None = None,
    tell: Callable[[str], None] = silent,
) -> Answer:
    """The answer for `rounds` rounds (13: two years) of a fleet of `fleet`.

    Args:
        phones, days: that really live; every fourth person's are the strangers it is tested on.
        tell: hears of every step.
    """
    owned = live(
        Scenario() if scenario is None else scenario,
        phones=phones,
        days=days,
        seed=seed,
        tell=lambda number: tell(f"phone {number + 1} of {phones} lived {days} days"),
    )
    people = sorted({one.person for one in owned})
    strangers = set(people[::_STRANGERS])
    test = [one for one in owned if one.person in strangers]
    trained = [one for one in owned if one.person not in strangers]
    tell("the first release")
    course = Course(seed)
    base, known = course.accuracy, hits(course.first, test)
    rows: list[Sequence[str | Both]] = [
        (Both("first release", "首个版本"), _percent(base), _percent(known), "", "")
    ]
    told = []
    for epsilon in (*sorted(epsilons), math.inf):
        tell(f"{rounds} rounds at ε = {epsilon:g}")
        end = course.run(trained, fleet, epsilon, rounds)
        asked = hits(end.parameters, test)
        said: str | Both = f"ε = {epsilon:g}"
        if math.isinf(epsilon):
            said = Both("no noise", "无噪声")
        rows.append(
            (said, _percent(end.accuracy), _percent(asked), f"{end.passed} / {rounds}",
             f"{end.noise:.2f}")
        )  # fmt: skip
        told.append(
            {
                "epsilon": epsilon if math.isfinite(epsilon) else None,
                "accuracy": end.accuracy,
                "accuracy_strangers": asked,
                "passed": end.passed,
                "noise_clips": end.noise,
            }
        )
    return Answer(
        "epsilon-cost",
        _sentence(told, fleet, rounds),
        Both(
            f"Real: examples of {len(trained)} phones that lived {days} days, their training, "
            f"clipping, noise of {fleet:,} phones, step and verdict, without the cloud's own "
            f"refresh. They stand for {fleet:,}, so "
            f"the fleet is less diverse than a real one; strangers: {len(test)} phones of "
            f"{len(strangers)} other people.",
            f"真实部分：{len(trained)} 部手机生活 {days} 天所得的样本，"
            f"其训练、裁剪、{fleet:,} 部手机的噪声、"
            f"更新与裁决，不含云端自身的再训练。它们代表 {fleet:,} 部，故多样性低于真实机群；"
            f"陌生人：另外 {len(strangers)} 人的 {len(test)} 部手机。",
        ),
        [
            Both("ε a year", "每年 ε"),
            Both("accuracy, built-in", "准确率，内置"),
            Both("accuracy, strangers", "准确率，陌生人"),
            Both("would be published", "可获发布"),
            Both("noise, clips", "噪声（裁剪单位）"),
        ],
        rows,
        {
            "fleet": fleet,
            "rounds": rounds,
            "phones": phones,
            "first": {"accuracy": base, "accuracy_strangers": known},
            "ends": told,
        },
    )


def _percent(share: float) -> str:
    return f"{_PERCENT * share:.1f} %"


def _sentence(told: Sequence[dict[str, float | None]], fleet: int, rounds: int) -> Both:
    best = told[-1]["accuracy_strangers"]
    assert best is not None
    losses = []
    for one in told[:-1]:
        reached = one["accuracy_strangers"]
        assert reached is not None
        losses.append(f"{_PERCENT * (reached - best):+.1f} (ε = {one['epsilon']:g})")
    listed = ", ".join(losses)
    return Both(
        f"Against no noise, {rounds} rounds of {fleet:,} phones end at {listed} points of router "
        "accuracy on strangers' questions.",
        f"与无噪声相比，{fleet:,} 部手机的 {rounds} 轮在陌生人提问上的"
        f"路由准确率相差（百分点）：{listed}。",
    )
