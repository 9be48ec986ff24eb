"""Published counts held against the truth, which the simulator knows and a cloud never does."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cloud.training.usage import noise_of
from privacy.streams import USAGE_HISTOGRAMS

__all__ = ["UsageSum", "estimates"]

_PLACES = {histogram.name: place for place, histogram in enumerate(USAGE_HISTOGRAMS)}
_BINS = {histogram.name: histogram.bins for histogram in USAGE_HISTOGRAMS}
_DIGITS = 6


@dataclass(frozen=True)
class UsageSum:
    """One published round of counts: the cloud's entries (histogram, bin, estimate, low, high) and
    the ids of the reports in it."""

    task: str
    number: int
    reports: int
    entries: Sequence[Mapping[str, Any]]
    ids: Sequence[bytes]


def estimates(sums: Sequence[UsageSum], tallied: Mapping[bytes, bytes]) -> dict[str, Any]:
    """The report's ``estimates``.

    Args:
        sums: every published round of counts.
        tallied: report id → what it says without its noise, as `device.observer.Tallied` has it.
    """
    rounds = [_round(one, tallied) for one in sums]
    errors = [each for one in rounds for bins in one["histograms"].values() for each in bins]
    sigmas = [each["sigmas"] for each in errors if each["sigmas"] is not None]
    mean_square = math.fsum(value**2 for value in sigmas) / len(sigmas) if sigmas else None
    return {
        "bins": len(errors),
        "covered": sum(each["covered"] for each in errors),
        "rms_sigmas": None if mean_square is None else round(math.sqrt(mean_square), _DIGITS),
        "worst": max((abs(each["error"]) for each in errors), default=None),
        "rounds": rounds,
    }


def _round(one: UsageSum, tallied: Mapping[bytes, bytes]) -> dict[str, Any]:
    known = [tallied[name] for name in one.ids if name in tallied]
    histograms: dict[str, list[dict[str, Any]]] = {}
    truths: dict[str, Counter[int]] = {}
    for entry in one.entries if known else ():
        name = entry["histogram"]
        if name not in truths:
            truths[name] = Counter(places[_PLACES[name]] for places in known)
        held = truths[name][_BINS[name].index(entry["bin"])]
        histograms.setdefault(name, []).append(_bin(entry, held / len(known)))
    return {
        "task": one.task,
        "round": one.number,
        "reports": one.reports,
        "known": len(known),
        "histograms": histograms,
    }


def _bin(entry: Mapping[str, Any], truth: float) -> dict[str, Any]:
    low, high, estimate = (float(entry[name]) for name in ("low", "high", "estimate"))
    noise = noise_of(entry)
    error = estimate - truth
    return {
        "bin": entry["bin"],
        "truth": round(truth, _DIGITS),
        "estimate": round(estimate, _DIGITS),
        "low": round(low, _DIGITS),
        "high": round(high, _DIGITS),
        "covered": low <= truth <= high,
        "error": round(error, _DIGITS),
        "sigmas": round(error / noise, _DIGITS) if 0.0 < noise < math.inf else None,
    }
