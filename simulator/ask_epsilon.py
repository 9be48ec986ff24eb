"""What do ε = 1, 4 and 8 cost in router accuracy?

Phones earn their examples by really living. Then a year of rounds is run over them at every ε and
fleet size, and once without noise, everything else being the same: first release, strangers, order
of training. The difference is what noise costs. Seeds give it a spread: each has a first release,
strangers and noise of its own. A cost inside the spread is called none that can be measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privacy.budget import LARGEST_UPDATE_NOISE
from simulator.ask import Answer, silent
from simulator.ask_learning import Course, commonest, hits, live, parted, spread
from simulator.scenario import Scenario
from simulator.words import Both

__all__ = ["FLEETS", "answer"]

_PERCENT = 100.0
_EPSILONS = (1.0, 4.0, 8.0)
FLEETS = (1_000, 10_000, 100_000)
"""Sizes told unless others are asked for."""


@dataclass(frozen=True)
class _Cost:
    """One fleet at one ε, over seeds. Accuracy on strangers' questions, 0 … 1: what was
    `published` and, with no evaluator between, `taught`; each less the same without noise."""

    fleet: int
    epsilon: float
    noise: float
    published: float
    published_cost: float
    published_spread: float
    taught: float
    taught_cost: float
    taught_spread: float

    @property
    def refused(self) -> bool:
        """Whether the cloud would rather wait for more phones than take such a step."""
        return self.noise > LARGEST_UPDATE_NOISE


def answer(
    *,
    phones: int = 48,
    days: int = 2,
    fleets: Sequence[int] = FLEETS,
    rounds: int = 6,
    epsilons: Sequence[float] = _EPSILONS,
    seed: int = 0,
    seeds: int = 8,
    scenario: Scenario | None = None,
    tell: Callable[[str], None] = silent,
) -> Answer:
    """The answer for `rounds` rounds (6: a year of one model).

    Args:
        phones, days: that really live.
        seeds: from `seed` on, 2 to 10; each with a first release, strangers and noise of its own.
        tell: hears of every step.
    """
    owned = live(
        Scenario() if scenario is None else scenario,
        phones=phones,
        days=days,
        seed=seed,
        tell=lambda number: tell(f"phone {number + 1} of {phones} lived {days} days"),
    )
    arms = [(fleet, epsilon) for fleet in sorted(fleets) for epsilon in sorted(epsilons)]
    found: dict[tuple[int, float], list[tuple[float, float, float]]] = {arm: [] for arm in arms}
    bare: list[tuple[float, float]] = []
    firsts, plain = [], []
    for number in range(seed, seed + seeds):
        trained, strangers = parted(owned, number)
        tell(f"seed {number}: the first release")
        course = Course(number)
        firsts.append(hits(course.first, strangers))
        plain.append(commonest(strangers))

        def worth(fleet: int, epsilon: float) -> tuple[float, float, float]:
            ends = [
                course.run(trained, fleet, epsilon, rounds, gated=gated)  # noqa: B023
                for gated in (True, False)
            ]
            published, taught = (hits(end.parameters, strangers) for end in ends)  # noqa: B023
            return published, taught, ends[0].noise

        tell(f"seed {number}: {rounds} rounds without noise")
        bare.append(worth(max(fleets), math.inf)[:2])
        for fleet, epsilon in arms:
            tell(f"seed {number}: {rounds} rounds of {fleet:,} phones at ε = {epsilon:g}")
            found[fleet, epsilon].append(worth(fleet, epsilon))
    costs = [_cost(fleet, epsilon, found[fleet, epsilon], bare) for fleet, epsilon in arms]
    first, common = float(np.mean(firsts)), float(np.mean(plain))
    ends = np.mean(bare, axis=0)
    rows: list[Sequence[str | Both]] = [
        (Both("the layer that helps most, always", "总选最常有用的层"), "", "", _share(common), ""),
        (Both("first release", "首个版本"), "", "", _share(first), _share(first)),
        (Both("no noise", "无噪声"), "", "0", _share(ends[0]), _share(ends[1])),
    ]
    rows += [
        (
            f"ε = {one.epsilon:g}",
            f"{one.fleet:,}",
            f"{one.noise:.2f}",
            _REFUSED
            if one.refused
            else _with(one.published, one.published_cost, one.published_spread),
            _with(one.taught, one.taught_cost, one.taught_spread),
        )
        for one in costs
    ]
    return Answer(
        "epsilon-cost",
        _sentence(costs, first, ends, seeds),
        _basis(phones, days, len({one.person for one in owned}), rounds, seed, seeds),
        [
            Both("ε a year", "每年 ε"),
            Both("phones", "手机"),
            Both("noise, clips", "噪声（裁剪单位）"),
            Both("as published", "实际发布"),
            Both("as taught, no gate", "所教，不经裁决"),
        ],
        rows,
        {
            "rounds": rounds,
            "phones_lived": phones,
            "seeds": list(range(seed, seed + seeds)),
            "commonest_layer": common,
            "first_release": first,
            "no_noise": {"published": float(ends[0]), "taught": float(ends[1])},
            "costs": [
                {
                    "epsilon": one.epsilon,
                    "fleet": one.fleet,
                    "noise_clips": one.noise,
                    "refused": one.refused,
                    "published": one.published,
                    "published_cost": one.published_cost,
                    "published_spread": one.published_spread,
                    "taught": one.taught,
                    "taught_cost": one.taught_cost,
                    "taught_spread": one.taught_spread,
                }
                for one in costs
            ],
        },
    )


_REFUSED = Both("no step: too noisy", "不更新：噪声过大")


def _cost(
    fleet: int,
    epsilon: float,
    worth: Sequence[tuple[float, float, float]],
    bare: Sequence[tuple[float, float]],
) -> _Cost:
    published = [one[0] for one in worth]
    taught = [one[1] for one in worth]
    # Paired: the same seed with and without noise.
    less = [now - free[0] for now, free in zip(published, bare, strict=True)]
    unlearnt = [now - free[1] for now, free in zip(taught, bare, strict=True)]
    return _Cost(
        fleet,
        epsilon,
        worth[0][2],
        float(np.mean(published)),
        float(np.mean(less)),
        spread(less),
        float(np.mean(taught)),
        float(np.mean(unlearnt)),
        spread(unlearnt),
    )


def _share(value: float) -> str:
    return f"{_PERCENT * value:.1f} %"


def _points(cost: float, margin: float) -> str:
    return f"{_PERCENT * cost:+.1f} ± {_PERCENT * margin:.1f}"


def _with(value: float, cost: float, margin: float) -> str:
    return f"{_share(value)}  ({_points(cost, margin)})"


def _basis(phones: int, days: int, people: int, rounds: int, seed: int, seeds: int) -> Both:
    last = seed + seeds - 1
    return Both(
        f"Real: the examples that {phones} phones of {people} people earned in {days} days, their "
        f"training, clipping, the noise of the fleet they stand for, the server's step, the "
        f"evaluator; {rounds} rounds. Accuracy: on questions of the quarter of people that no "
        f"phone trains on. In brackets the difference to no noise in points, ± 95 % over seeds "
        f"{seed} … {last}. {people} people are far fewer kinds of use than a fleet has; the "
        "cloud's own refresh is left out.",
        f"真实部分：{people} 人的 {phones} 部手机 {days} 天所得样本、其训练与裁剪、所代表机群的"
        f"噪声、服务器更新与裁决；{rounds} 轮。准确率：在无手机训练过的四分之一人群的提问上。"
        f"括号内为与无噪声之差（百分点），± 为种子 {seed} … {last} 上的 95 % 区间。"
        f"{people} 人的使用方式远少于真实机群；不含云端自身的再训练。",
    )


def _sentence(costs: Sequence[_Cost], first: float, ends: Sequence[float], seeds: int) -> Both:
    """What is refused, what costs more than its spread, and how small the rest is."""
    refused = [one for one in costs if one.refused]
    taken = [one for one in costs if not one.refused]
    seen = [one for one in taken if -one.taught_cost > one.taught_spread]
    hidden = [one for one in taken if one not in seen]
    en, zh, bound = [], [], f"{LARGEST_UPDATE_NOISE:g}"
    if refused:
        en.append(f"{_named(refused, 'en')} means no step at all (noise over {bound} clips)")
        zh.append(f"{_named(refused, 'zh')}根本不允许更新（噪声超过 {bound} 个裁剪单位）")
    for one in seen:
        cost = _points(one.taught_cost, one.taught_spread)
        en.append(f"{_named([one], 'en')} costs {cost} points")
        zh.append(f"{_named([one], 'zh')}代价 {cost} 个百分点")
    if hidden:
        worst = max(0.0, *(one.taught_spread - one.taught_cost for one in hidden))
        most = f"{_PERCENT * worst:.1f}"
        en.append(f"elsewhere nothing that {seeds} seeds can tell (at most {most} points)")
        zh.append(f"其余情形的代价在 {seeds} 个种子下测不出（至多 {most} 个百分点）")
    gained = f"{_share(first)} → {_share(ends[1])}"
    return Both(
        f"Of what phones teach without noise ({gained} of strangers' questions; "
        f"{_share(ends[0])} once the evaluator has let through what harms nobody), "
        f"{'; '.join(en)}.",
        f"无噪声时手机所教（陌生人提问 {gained}；经裁决放行后为 {_share(ends[0])}）之中，"
        f"{'；'.join(zh)}。",
    )


def _named(costs: Sequence[_Cost], language: str) -> str:
    """`ε = 4 and 8 at 1,000 phones, ε = 1, 4 and 8 at 10,000`."""
    said = []
    for fleet in sorted({one.fleet for one in costs}):
        values = [f"{one.epsilon:g}" for one in costs if one.fleet == fleet]
        listed = values[0]
        if len(values) > 1:
            joint = " and " if language == "en" else "、"
            comma = ", " if language == "en" else "、"
            listed = comma.join(values[:-1]) + joint + values[-1]
        phones = f"at {fleet:,} phones" if language == "en" else f"（{fleet:,} 部）"
        said.append(f"ε = {listed} {phones}" if language == "en" else f"ε = {listed}{phones}")
    return ", ".join(said) if language == "en" else "，".join(said)
