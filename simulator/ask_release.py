"""How long does a new release take to reach 95 % of the phones?

Played: the device's real code fetches, checks and adopts what the cloud publishes. Beside it, for
many more phones than can be played, the model of availability with the two rules that decide: a
phone syncs in a window long enough to settle in, and rests between two syncs. A fleet in which 1 %
is a phone gets a release in stages, each as long as a usage round; that wait is added.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloud.actors.rollout import STAGES
from device.settings import Settings
from privacy.budget import PRODUCTION
from simulator.ask import Answer, silent
from simulator.availability import Track, draw_availability
from simulator.randomness import generator
from simulator.words import Both, days_said
from simulator.world import EPOCH, Options, run_world

__all__ = ["answer", "first_chance", "reached", "sync_times"]

_DAY = 86_400.0
_SYNC = 60.0
"""Seconds a sync is given."""
_SETTLING = Settings().settle_seconds
_REST = Settings().sync_interval_seconds
_STAGE = PRODUCTION.terms("usage").cadence
"""Seconds a stage of the rollout lasts."""
_HALF, _MOST = 0.5, 0.95
_SPAN = 42
"""Days that are drawn: one of warming up, a week of releases, and what is left to reach phones."""
_MOMENTS = 28
"""Releases, six hours apart from the second day on: a whole week of them."""
_SIX_HOURS = 6 * 3600.0
_YOUNG = 2.0
"""Days before the end of a played world from which on a release had no time to spread."""

Floats = NDArray[np.float64]


def answer(
    *,
    phones: int = 40,
    days: int = 5,
    seed: int = 0,
    drawn: int = 1_000,
    tell: Callable[[str], None] = silent,
) -> Answer:
    """The answer.

    Args:
        phones, days: of the fleet that is played.
        drawn: phones whose availability alone is drawn; 0 draws none.
        tell: hears of every step.
    """
    tell(f"a fleet of {phones} phones over {days} days")
    releases = run_world(Options(phones, days, seed))["releases"]
    played = [
        {"model": model, **one, "young": one["published_day"] > days - _YOUNG}
        for model, told in releases.items()
        for one in told["versions"]
    ]
    rows: list[tuple[str | Both, ...]] = [
        (
            f"{one['model']} {one['version']}",
            f"{phones}",
            _said(one["days_to_half"]),
            _TOO_YOUNG if one["young"] else _said(one["days_to_95"]),
        )
        for one in played
    ]
    figures: dict[str, Any] = {"phones": phones, "days": days, "seed": seed, "versions": played}
    spread: dict[str, Floats] = {}
    if drawn:
        tell(f"the availability of {drawn:,} phones over {_SPAN} days")
        spread = _spread(drawn, seed)
        rows += [
            (
                name,
                f"{drawn:,}",
                _said_of(spread[f"{key}_half"]),
                _said_of(spread[f"{key}_most"]),
            )
            for key, name in _DRAWN.items()
        ]
        figures["drawn"] = {"phones": drawn, "moments": _MOMENTS} | {
            key: {
                "median": _finite(np.median(values)),
                "least": _finite(values.min()),
                "most": _finite(values.max()),
            }
            for key, values in spread.items()
        }
    return Answer(
        "release-95",
        _sentence(played, spread),
        _basis(phones, days, drawn, seed),
        [
            Both("release", "版本"),
            Both("phones", "手机"),
            Both("half have it", "半数持有"),
            Both("95 % have it", "95 % 持有"),
        ],
        rows,
        figures,
    )


_DRAWN = {
    "at_once": Both("drawn, to all at once", "抽取，同时推送"),
    "staged": Both("drawn, in stages", "抽取，分阶段推送"),
}
_TOO_YOUNG = Both("too young to tell", "发布太晚，无从得知")


def first_chance(window: Track, at: float) -> float | None:
    """Seconds from `at` until a phone has had a window long enough to settle and sync; None: no
    such window."""
    spans = window.spans
    first = max(0, bisect_left(spans, (at, at)) - 1)
    for begin, end in spans[first:]:
        ready = max(begin + _SETTLING, at) + _SYNC
        if ready <= end:
            return ready - at
    return None


def sync_times(window: Track, at: float) -> Iterator[float]:
    """When the syncs of a phone begin that may first sync at `at` and rests after each."""
    while (wait := first_chance(window, at)) is not None:
        yield at + wait - _SYNC
        at += wait + _REST


def reached(syncs: Sequence[Floats], opened: Sequence[float], share: float) -> float:
    """Unix time at which `share` of the phones have synced, each at or after the time from which on
    the release is `opened` to it; infinite where fewer ever do."""
    took = []
    for times, since in zip(syncs, opened, strict=True):
        place = int(np.searchsorted(times, since))
        took.append(float(times[place]) if place < len(times) else math.inf)
    return sorted(took)[math.ceil(share * len(took)) - 1]


def _spread(phones: int, seed: int) -> dict[str, Floats]:
    """Days until a half and 95 % have a release, at once and in stages, for each of `_MOMENTS`."""
    syncs, places = [], []
    for phone in range(phones):
        rng = generator(seed, "ask release", phone)
        truth = draw_availability(rng, start=EPOCH, days=_SPAN, utc_offset=0.0)
        begin = EPOCH + float(rng.uniform(0.0, _REST))
        syncs.append(np.array(list(sync_times(truth.window, begin))))
        places.append(float(rng.uniform(0.0, 100.0)))
    stages = [next(n for n, percent in enumerate(STAGES) if place < percent) for place in places]
    found: dict[str, list[float]] = {}
    for moment in range(_MOMENTS):
        at = EPOCH + _DAY + moment * _SIX_HOURS
        opened = {"at_once": [at] * phones, "staged": [at + stage * _STAGE for stage in stages]}
        for name, since in opened.items():
            for key, share in (("half", _HALF), ("most", _MOST)):
                took = (reached(syncs, since, share) - at) / _DAY
                found.setdefault(f"{name}_{key}", []).append(took)
    return {name: np.array(values) for name, values in found.items()}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _said(days: float | None) -> Both:
    return Both("–", "–") if days is None else days_said(days)


def _said_of(values: Floats) -> Both:
    """The median, with the least and the most."""
    middle, least, most = (
        _said(_finite(value)) for value in (np.median(values), values.min(), values.max())
    )
    return Both(f"{middle.en} ({least.en} … {most.en})", f"{middle.zh}（{least.zh} … {most.zh}）")


def _basis(phones: int, days: int, drawn: int, seed: int) -> Both:
    rest = days_said(_REST / _DAY)
    return Both(
        f"Played: {phones} phones of the measured kind over {days} days, seed {seed}; – means not "
        f"by the end, though it had {_YOUNG:g} days. Drawn: {drawn:,} phones' availability, a sync "
        f"in the first window of enough length, {rest.en} of rest between two; median, least and "
        f"most of {_MOMENTS} releases spread over a week. Stages: {_percents()} of the phones, "
        f"{_STAGE / _DAY:.0f} days each, from 100 phones on under the production budget.",
        f"实际运行：{phones} 部按实测习惯的手机 {days} 天，种子 {seed}；– 表示发布已满 "
        f"{_YOUNG:g} 天仍未达到。抽取：{drawn:,} 部手机的可用性，在首个足够长的窗口同步，"
        f"两次同步间隔 {rest.zh}；一周内 {_MOMENTS} 次发布的中位数、最小与最大值。"
        f"分阶段：{_percents()} 的手机，每阶段 {_STAGE / _DAY:.0f} 天，"
        "production 预算下 100 部以上的机群如此。",
    )


def _percents() -> str:
    return ", ".join(f"{percent}" for percent in STAGES) + " %"


def _sentence(played: Sequence[dict[str, Any]], spread: dict[str, Floats]) -> Both:
    old = [one for one in played if not one["young"]]
    there = sorted(one["days_to_95"] for one in old if one["days_to_95"] is not None)
    if there:
        middle, longest = days_said(float(np.median(there))), days_said(there[-1])
        en = (
            f"{len(there)} of {len(old)} releases that had time reached 95 % of the phones, after "
            f"{middle.en} in the median and {longest.en} at most"
        )
        zh = (
            f"{len(old)} 个时间充足的版本中有 {len(there)} 个到达 95 % 的手机，"
            f"中位数 {middle.zh}，最长 {longest.zh}"
        )
    else:
        en = f"None of {len(old)} releases that had time reached 95 % of the phones"
        zh = f"{len(old)} 个时间充足的版本都未到达 95 % 的手机"
    if spread:
        at_once, staged = (
            _said(_finite(np.median(spread[f"{key}_most"]))) for key in ("at_once", "staged")
        )
        en += (
            f"; expected of a large fleet: {at_once.en} to all at once, {staged.en} with the "
            "stages that guard it"
        )
        zh += f"；大机群的预期：同时推送 {at_once.zh}，经护航的分阶段推送 {staged.zh}"
    return Both(en + ".", zh + "。")
