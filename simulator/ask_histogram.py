"""How many phones until a published histogram is within ±1 %?

The error has a closed form, from the noise that the budget asks for; it is held against the
mechanism itself (exact samplers, the cloud's estimator) at the size it names, and against a fleet
that is really played and knows the truth. A fleet of that size is not played: it would take hours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from privacy.budget import BUDGETS, Budget
from privacy.estimation import estimate_histograms, total_noise
from privacy.lattice import share_variance, total_variance
from privacy.mechanisms.table import gaussian_table
from privacy.streams import USAGE_DIMENSION, USAGE_HISTOGRAMS
from simulator.ask import Answer, silent
from simulator.randomness import KeyedBits, generator
from simulator.words import Both
from simulator.world import Options, run_world

__all__ = ["answer", "fewest"]

_NORMAL_95 = 1.959963984540054
_ROUNDS = 40
"""Rounds drawn at a size: 1,280 bins."""
_SIZES = (500, 1_000, 2_000, 5_000, 10_000, 100_000)
_LARGEST = 1 << 40
_PERCENT = 100.0
_CONCENTRATION = 1.0
"""Dirichlet α from which a round's true shares are drawn: some bins nearly empty, some full."""


@dataclass(frozen=True)
class _Drawn:
    """What the mechanism itself did at one size: shares of bins, 0 … 1."""

    within: float
    covered: float


def answer(
    *,
    within: float = 1.0,
    budget: Literal["demo", "production"] = "production",
    phones: int = 24,
    days: int = 2,
    seed: int = 0,
    tell: Callable[[str], None] = silent,
) -> Answer:
    """The answer for ±`within` percent of the fleet at 95 %.

    Args:
        phones, days: of the fleet that is played under the demo budget; 0 phones plays none.
        tell: hears of every step.
    """
    plan, limit = BUDGETS[budget], within / _PERCENT
    shared = fewest(partial(_shared_error, plan), limit)
    local = fewest(partial(_local_error, plan), limit)
    tell(f"{_ROUNDS} rounds of {shared:,} phones through the mechanism")
    sizes = sorted({*_SIZES, shared})
    drawn = {n: _draw(plan, n, limit, seed) for n in sizes if n >= plan.stream("usage").n_min}
    played = None
    if phones:
        tell(f"a fleet of {phones} phones over {days} days")
        played = run_world(Options(phones, days, seed))["estimates"]
    rows = [
        (
            f"{n:,}",
            f"± {_PERCENT * _shared_error(plan, n):.2f} %",
            f"{_PERCENT * drawn[n].within:.1f} %" if n in drawn else "–",
            f"{_PERCENT * drawn[n].covered:.1f} %" if n in drawn else "–",
            f"± {_PERCENT * _local_error(plan, n):.2f} %",
        )
        for n in sizes
    ]
    return Answer(
        "histogram-error",
        Both(
            f"From {shared:,} phones in one round every bin is within ±{within:g} % of the "
            f"fleet at 95 %; without a helper it takes {local:,}.",
            f"一轮有 {shared:,} 部手机时，每个区间以 95 % 的概率落在全体的 ±{within:g} % 之内；"
            f"没有辅助服务器则需 {local:,} 部。",
        ),
        _basis(played, phones, days),
        [
            Both("phones in a round", "每轮手机数"),
            Both("error, 95 %", "误差，95 %"),
            Both(f"bins within {within:g} %", f"误差在 {within:g} % 内的区间"),
            Both("intervals that hold", "含真相的区间"),
            Both("local mode, 95 %", "本地模式，95 %"),
        ],
        rows,
        {
            "within_percent": within,
            "budget": budget,
            "phones_two_server": shared,
            "phones_local": local,
            "sizes": [
                {
                    "phones": n,
                    "error_95": _shared_error(plan, n),
                    "drawn_within": drawn[n].within if n in drawn else None,
                    "drawn_covered": drawn[n].covered if n in drawn else None,
                    "local_error_95": _local_error(plan, n),
                }
                for n in sizes
            ],
            "played": None if played is None else {k: played[k] for k in _FIGURES},
        },
    )


_FIGURES = ("bins", "covered", "rms_sigmas", "worst")


def fewest(error: Callable[[int], float], limit: float) -> int:
    """The fewest phones whose error, falling with their number, is at most `limit`."""
    high = 1
    while error(high) > limit and high < _LARGEST:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if error(middle) > limit else (low, middle)
    return high


def _shared_error(plan: Budget, n: int) -> float:
    return _NORMAL_95 * plan.allowance(n).counts_error


def _local_error(plan: Budget, n: int) -> float:
    return _NORMAL_95 * plan.local.error(n)


def _draw(plan: Budget, n: int, limit: float, seed: int) -> _Drawn:
    """`_ROUNDS` rounds of `n` phones: true counts, the round's noise, the cloud's estimates."""
    terms = plan.terms("usage", n)
    variance = n * share_variance(terms.sigma, terms.scale, terms.n_min)
    variance += total_variance(terms.sigma, terms.scale)
    rng, bits = generator(seed, "ask", n), KeyedBits(seed, "ask", n)
    noise = gaussian_table(variance).sample(_ROUNDS * USAGE_DIMENSION, bits)
    sigma = total_noise(terms.sigma, n, terms.n_min)
    within = covered = 0
    for drawn in noise.reshape(_ROUNDS, USAGE_DIMENSION):
        counts = np.concatenate(
            [
                rng.multinomial(n, rng.dirichlet([_CONCENTRATION] * len(each.bins)))
                for each in USAGE_HISTOGRAMS
            ]
        )
        total = counts.astype(np.int64) * terms.scale + drawn
        for told, truth in zip(
            estimate_histograms(total, n, terms.scale, sigma), counts / n, strict=True
        ):
            within += abs(told.estimate - truth) <= limit
            covered += told.low <= truth <= told.high
    bins = _ROUNDS * USAGE_DIMENSION
    return _Drawn(within / bins, covered / bins)


def _basis(played: dict[str, Any] | None, phones: int, days: int) -> Both:
    en = (
        "Errors: 1.96 standard deviations of the budget's noise. Bins: "
        f"{_ROUNDS} rounds a size, drawn by the real samplers and read by the cloud's estimator, "
        "not a fleet of phones."
    )
    zh = (
        f"误差：预算噪声的 1.96 个标准差。区间：每个规模 {_ROUNDS} 轮，由真实采样器抽取、"
        "云端估计器读取，并非真正的机群。"
    )
    if played is None or played["rms_sigmas"] is None:
        return Both(en, zh)
    share = f"{_PERCENT * played['covered'] / played['bins']:.0f} %"
    rms, bins = f"{played['rms_sigmas']:.2f}", f"{played['bins']:,}"
    return Both(
        f"{en} Played: {phones} phones over {days} days under the demo budget; of {bins} bins "
        f"{share} of the intervals held the truth, error {rms} standard errors.",
        f"{zh} 实际运行：{phones} 部手机 {days} 天，demo 预算；{bins} 个区间中 {share} 含有真相，"
        f"误差为 {rms} 个标准误。",
    )
