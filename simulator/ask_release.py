"""How long does a new release take to reach 95 % of the phones?

Played: the device's real code fetches, checks and adopts what the cloud publishes. Beside it, for
many more phones than can be played, the time from a moment to the end of a phone's first window
long enough to sync in, from the model of availability alone: no phone can be faster than that.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np

from device.settings import Settings
from simulator.ask import Answer, silent
from simulator.availability import Track, draw_availability
from simulator.randomness import generator
from simulator.words import Both, days_said
from simulator.world import EPOCH, Options, run_world

__all__ = ["answer", "first_chance"]

_DAY = 86_400.0
_SYNC = 60.0
"""Seconds a sync is given."""
_SETTLING = Settings().settle_seconds
_SHARES = (0.5, 0.9, 0.95, 0.99)
_SPAN = 28
"""Days within which a chance is looked for."""
_PERCENT = 100.0


def answer(
    *,
    phones: int = 40,
    days: int = 4,
    seed: int = 0,
    drawn: int = 400,
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
    tell(f"the availability of {drawn} phones")
    waits = _waits(drawn, seed)
    rows: list[tuple[str | Both, ...]] = []
    played = []
    for model, told in releases.items():
        for one in told["versions"]:
            played.append({"model": model, **one})
            rows.append(
                (
                    f"{model} {one['version']}",
                    f"{phones}",
                    _said(one["days_to_half"]),
                    _said(one["days_to_95"]),
                )
            )
    expected = {share: _quantile(waits, share) for share in _SHARES} if drawn else {}
    if drawn:
        rows.append(
            (
                Both("first chance, by availability", "最早机会，按可用性"),
                f"{drawn}",
                _said(expected[0.5]),
                _said(expected[0.95]),
            )
        )
    reached = [one["days_to_95"] for one in played if one["days_to_95"] is not None]
    return Answer(
        "release-95",
        _sentence(reached, len(played), days),
        Both(
            f"Played: {phones} phones of the measured kind, {days} days; – means not within them. "
            "The last row draws availability only and is a lower bound; a fleet of 100 phones or "
            "more also waits for the rollout's stages (1, 10, 100 %).",
            f"实际运行：{phones} 部按实测习惯的手机，{days} 天；– 表示期间未达到。"
            "末行只抽取可用性，为下界；100 部以上的机群还要等待分阶段推送（1、10、100 %）。",
        ),
        [
            Both("release", "版本"),
            Both("phones", "手机"),
            Both("half have it", "半数持有"),
            Both("95 % have it", "95 % 持有"),
        ],
        rows,
        {
            "phones": phones,
            "days": days,
            "versions": played,
            "first_chance_days": {f"{share:g}": each for share, each in expected.items()},
        },
    )


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


def _waits(phones: int, seed: int) -> list[float]:
    """Days until each phone's first chance, from a moment of its own in the first week; infinite
    where it has none."""
    waits = []
    for phone in range(phones):
        rng = generator(seed, "ask release", phone)
        truth = draw_availability(rng, start=EPOCH, days=_SPAN, utc_offset=0.0)
        seconds = first_chance(truth.window, EPOCH + float(rng.uniform(0.0, 7.0 * _DAY)))
        waits.append(math.inf if seconds is None else seconds / _DAY)
    return sorted(waits)


def _quantile(waits: Sequence[float], share: float) -> float | None:
    value = waits[math.ceil(share * len(waits)) - 1]
    return None if math.isinf(value) else value


def _said(days: float | None) -> Both:
    return Both("–", "–") if days is None else days_said(days)


def _sentence(reached: Sequence[float], versions: int, days: int) -> Both:
    if not reached:
        return Both(
            f"None of the {versions} releases reached 95 % within {days} days.",
            f"{versions} 个版本都未在 {days} 天内到达 95 %。",
        )
    middle, longest = days_said(float(np.median(reached))), days_said(max(reached))
    return Both(
        f"A release reached 95 % of the phones after {middle.en} (median of {len(reached)} that "
        f"did, of {versions}; the slowest took {longest.en}).",
        f"新版本在 {middle.zh} 后到达 95 % 的手机"
        f"（{versions} 个版本中到达的 {len(reached)} 个之中位数；最慢 {longest.zh}）。",
    )
