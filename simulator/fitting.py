"""Fit the availability model to a trace of minutes, and say how well it fits.

Run by hand, where the trace is; only parameters and summary figures are written::

    python -m simulator.fitting extrasensory_phone_state.csv.gz

The trace has one row a minute and phone: user, t (unix seconds), charging, wifi, on_call, acc_std
(still below 0.01 g), as ExtraSensory's phones give it (Vaizman et al., IEEE Pervasive Computing
16(4), 2017). Hourly shares and rates that the file holds already are kept: worlds follow from
them. What is fitted here is the week — a logit for each weekday and one for each hour of the
weekend, by penalised maximum likelihood — and the goodness of the whole.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from simulator.availability import CONDITIONS, fitted_rhythms, minutes_on, window_share
from simulator.randomness import generator

__all__ = ["Minutes", "fit_week", "goodness", "ks_distance", "main", "read_minutes"]

Floats = NDArray[np.float64]

ZONE = ZoneInfo("America/Los_Angeles")
"""Where the phones of the trace were."""
STILL_G = 0.01
_HOURS, _DAYS, _WEEKEND = 24, 7, 5
_DAY = 86_400
_MINUTE = 60
_MINUTES_A_DAY = 1440
_GAP = 90
"""Seconds without a row after which a phone was not observed."""
_CORRELATED = 60.0
"""Minutes that count as one observation: spells are long, so minutes are not independent."""
_WEEKDAY_PRIOR, _WEEKEND_PRIOR = 0.5, 0.5
"""Standard deviations of the normal priors on the logits."""
_NEWTON_STEPS = 30
_DRAWS = 20
"""Phones drawn for each of the trace."""
_SEED = 1
_NUMBERS = re.compile(r"\[([^\[\]{}]*)\]")
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True)
class Minutes:
    """One phone's rows: local wall-clock seconds (ascending) and what held."""

    at: NDArray[np.int64]
    charging: NDArray[np.bool_]
    unmetered: NDArray[np.bool_]
    idle: NDArray[np.bool_]

    @property
    def window(self) -> NDArray[np.bool_]:
        """All three."""
        return self.charging & self.unmetered & self.idle

    @property
    def hours(self) -> NDArray[np.int64]:
        """Hours since Monday 00:00, 0 … 167."""
        return (self.at // 3600 - 4 * _HOURS) % (_DAYS * _HOURS)


def read_minutes(path: Path) -> list[Minutes]:
    """The trace by phone. Raises OSError, KeyError, ValueError for a file that is none."""
    rows: dict[str, dict[int, tuple[bool, bool, bool]]] = defaultdict(dict)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            local = datetime.fromtimestamp(int(row["t"]), ZONE)
            wall = int(local.replace(tzinfo=UTC).timestamp())
            charging, wifi, call = (_true(row[name]) for name in ("charging", "wifi", "on_call"))
            still = row["acc_std"] != "" and float(row["acc_std"]) < STILL_G
            rows[row["user"]][wall] = (charging, wifi, still and not call)
    return [
        Minutes(np.array(sorted(each)), *np.array([each[at] for at in sorted(each)]).T)
        for each in rows.values()
    ]


def fit_week(trace: list[Minutes]) -> dict[str, dict[str, list[float]]]:
    """For each condition ``weekday_logits`` (7,) and ``weekend_logits`` (24,)."""
    fitted = {}
    for name, (on, seen) in zip(CONDITIONS, _conditionals(trace), strict=True):
        weekday, weekend = _penalised(on / _CORRELATED, seen / _CORRELATED)
        fitted[name] = {
            "weekday_logits": [round(float(value), 3) for value in weekday],
            "weekend_logits": [round(float(value), 3) for value in weekend],
        }
    return fitted


def goodness(trace: list[Minutes]) -> dict[str, Any]:
    """The weekly model against the trace: shares by hour and weekday, and window lengths.

    Drawn phones are seen only in the minutes in which their real counterpart was, so that gaps cut
    both alike.
    """
    drawn = list(_seen_alike(trace))
    lengths = _lengths(trace), _lengths(drawn)
    model = window_share(fitted_rhythms("weekly")).reshape(_DAYS, _HOURS)
    shares = {
        "by_hour": {
            "trace": _rounded(_share(trace, lambda hours: hours % _HOURS, _HOURS)),
            "drawn": _rounded(_share(drawn, lambda hours: hours % _HOURS, _HOURS)),
            "model": _rounded(model.mean(axis=0)),
        },
        "by_weekday": {
            "trace": _rounded(_share(trace, lambda hours: hours // _HOURS, _DAYS)),
            "drawn": _rounded(_share(drawn, lambda hours: hours // _HOURS, _DAYS)),
            "model": _rounded(model.mean(axis=1)),
        },
    }
    return {
        "phones": len(trace),
        "minutes": int(sum(len(each.at) for each in trace)),
        "draws_a_phone": _DRAWS,
        **shares,
        "window_minutes": {
            "quantiles": list(_QUANTILES),
            "trace": _rounded(np.quantile(lengths[0], _QUANTILES), 1),
            "drawn": _rounded(np.quantile(lengths[1], _QUANTILES), 1),
            "windows_in_trace": len(lengths[0]),
            "ks": round(ks_distance(*lengths), 4),
        },
        "phone_share": {
            "quantiles": list(_QUANTILES),
            "trace": _rounded(np.quantile([each.window.mean() for each in trace], _QUANTILES)),
            "drawn": _rounded(np.quantile([each.window.mean() for each in drawn], _QUANTILES)),
            "ks": round(
                ks_distance(
                    np.array([each.window.mean() for each in trace]),
                    np.array([each.window.mean() for each in drawn]),
                ),
                4,
            ),
        },
    }


def ks_distance(left: Floats, right: Floats) -> float:
    """Kolmogorov and Smirnov's: the largest gap between two samples' distributions, 0 … 1."""
    points = np.union1d(left, right)
    shares = (np.searchsorted(np.sort(each), points, "right") / len(each) for each in (left, right))
    first, second = shares
    return float(np.abs(first - second).max())


def main(arguments: list[str]) -> int:
    """Fit the trace named, and write parameters and goodness into the file that ships."""
    (source,) = (Path(argument) for argument in arguments)
    target = Path(__file__).with_name("availability_fit.json")
    trace = read_minutes(source)
    parameters = json.loads(target.read_text("utf-8"))
    for name, fitted in fit_week(trace).items():
        parameters["tracks"][name].update(fitted)
    _write(target, parameters)
    parameters["goodness"] = goodness(trace)
    _write(target, parameters)
    return 0


def _write(target: Path, parameters: dict[str, Any]) -> None:
    spread = json.dumps(parameters, ensure_ascii=False, indent=1)
    text = _NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", spread)
    target.write_text(text + "\n", encoding="utf-8")


def _true(cell: str) -> bool:
    return cell in ("1", "1.0")


def _conditionals(trace: list[Minutes]) -> Iterator[tuple[Floats, Floats]]:
    """(7, 24) minutes on and seen: charging, Wi-Fi while charging, idle while both."""
    given = [np.ones(len(each.at), dtype=np.bool_) for each in trace]
    for name in CONDITIONS:
        on, seen = np.zeros(_DAYS * _HOURS), np.zeros(_DAYS * _HOURS)
        for index, each in enumerate(trace):
            holds = getattr(each, name) & given[index]
            np.add.at(seen, each.hours[given[index]], 1.0)
            np.add.at(on, each.hours[holds], 1.0)
            given[index] = holds
        yield on.reshape(_DAYS, _HOURS), seen.reshape(_DAYS, _HOURS)


def _penalised(on: Floats, seen: Floats) -> tuple[Floats, Floats]:
    """Logits of weekdays and weekend hours beside free hourly ones, by Newton's method."""
    design = _design()
    width = design.shape[1]
    precision = np.zeros(width)
    precision[_HOURS : _HOURS + _DAYS] = 1.0 / _WEEKDAY_PRIOR**2
    precision[_HOURS + _DAYS :] = 1.0 / _WEEKEND_PRIOR**2
    beta = np.zeros(width)
    ridge = 1e-6 * np.eye(width)
    for _ in range(_NEWTON_STEPS):
        mean = 1.0 / (1.0 + np.exp(-design @ beta))
        slope = design.T @ (on.reshape(-1) - seen.reshape(-1) * mean) - precision * beta
        weight = seen.reshape(-1) * mean * (1.0 - mean)
        curve = (design.T * weight) @ design + np.diag(precision) + ridge
        beta = beta + np.clip(np.linalg.solve(curve, slope), -1.0, 1.0)
    return beta[_HOURS : _HOURS + _DAYS], beta[_HOURS + _DAYS :]


def _design() -> Floats:
    """(168, 55) indicators: the hour, the weekday, the hour of a weekend."""
    hours = np.tile(np.eye(_HOURS), (_DAYS, 1))
    days = np.repeat(np.eye(_DAYS), _HOURS, axis=0)
    weekend = hours * (np.arange(_DAYS * _HOURS) >= _WEEKEND * _HOURS)[:, None]
    return np.hstack([hours, days, weekend])


def _seen_alike(trace: list[Minutes]) -> Iterator[Minutes]:
    """`_DRAWS` phones of the weekly model for each of the trace, seen in the same minutes."""
    rhythms = fitted_rhythms("weekly")
    for number, real in enumerate(trace):
        midnight = int(real.at[0]) // _DAY * _DAY
        minutes = (real.at - midnight) // _MINUTE
        days = int(minutes[-1]) // _MINUTES_A_DAY + 1
        for draw in range(_DRAWS):
            rng = generator(_SEED, "fitting", number, draw)
            on = minutes_on(rng, local_start=float(midnight), days=days, rhythms=rhythms)[minutes]
            yield Minutes(real.at, on, on, on)


def _share(phones: list[Minutes], key: Any, size: int) -> Floats:
    on, seen = np.zeros(size), np.zeros(size)
    for each in phones:
        np.add.at(seen, key(each.hours), 1.0)
        np.add.at(on, key(each.hours[each.window]), 1.0)
    return on / seen


def _lengths(phones: list[Minutes]) -> Floats:
    """Minutes of each run of window minutes without a gap in between."""
    found: list[float] = []
    for each in phones:
        apart = np.diff(each.at) > _GAP
        window = each.window
        breaks = np.flatnonzero(apart | (window[1:] != window[:-1])) + 1
        starts = np.concatenate(([0], breaks))
        ends = np.concatenate((breaks, [len(window)]))
        found += [float(e - s) for s, e in zip(starts, ends, strict=True) if window[s]]
    return np.array(found)


def _rounded(values: Any, digits: int = 4) -> list[float]:
    return [round(float(value), digits) for value in values]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
