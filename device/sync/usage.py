"""Counts of how the memory was used: all that may ever leave about use, and through the gate.

The log holds categories, never a query or an answer. One report says what happened since the last
one, as eight one-hot histograms (privacy/streams.py), or in a fleet without a helper as the answer
to the one histogram it was asked for; then all of it is forgotten.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgpack
import numpy as np
from numpy.typing import NDArray

from device.language import language_of
from device.memory.records import Answer
from device.vault import SealedLog
from privacy.streams import USAGE_HISTOGRAMS, usage_vector

__all__ = ["Usage", "UsageAnswers"]

QUERY_BINS = ((0, "0"), (5, "1-5"), (20, "6-20"), (50, "21-50"))
RECORD_BINS = ((99, "0-99"), (999, "100-999"), (9_999, "1000-9999"))
USEFUL_BINS = ((0.25, "0-25"), (0.50, "25-50"), (0.75, "50-75"), (1.0, "75-100"))
NONE = "none"


@dataclass(frozen=True, slots=True)
class UsageAnswers:
    """This phone's answer to every usage histogram, from which any report about use is made."""

    bins: Mapping[str, str]
    """Histogram → the one bin this phone is in."""
    through: int
    """The log position covered, for `Usage.forget` once a report is safely in the outbox."""

    def vector(self) -> NDArray[np.float64]:
        """All of them, one-hot, in the order of the streams."""
        return usage_vector(self.bins)

    def places(self) -> bytes:
        """The number of the bin in each histogram, a byte each, in the order of the streams."""
        return bytes(each.bins.index(self.bins[each.name]) for each in USAGE_HISTOGRAMS)


class Usage:
    """The only owner of the log it is given."""

    def __init__(self, log: SealedLog) -> None:
        self._log = log
        self._sequences = array("q", (sequence for sequence, _ in log.read()))
        """Where the events stand in the log, which alone knows what they were."""

    def answered(self, answer: Answer) -> None:
        """Count one recall: who decided, which layer came first, in which language.

        Public records are passed over: the count says which layer of the memory answers, and what
        everybody is told is in none of them.
        """
        own = [hit.layer.value for hit in answer.hits if hit.public is None]
        top = own[0] if own else NONE
        self._note(
            ("decided_by", answer.decided_by),
            ("top_layer", top),
            ("language", language_of(answer.query)),
        )

    def judged(self, *, useful: bool) -> None:
        """Count one piece of feedback: did any memory of the answer help?"""
        self._note(("useful", "yes" if useful else "no"))

    def adoption(self, model: str, outcome: str) -> None:
        """Count what became of a release: ``adopted`` or ``refused``."""
        self._note((f"{model}_adoption", outcome))

    def answers(self, records: int) -> UsageAnswers:
        """What a phone with `records` turns answers now."""
        counts: dict[str, Counter[str]] = {}
        for _, payload in self._log.read():
            said = iter(msgpack.unpackb(payload))
            for what, category in zip(said, said, strict=True):
                counts.setdefault(what, Counter())[category] += 1
        queries = sum(counts.get("decided_by", Counter()).values())
        bins = {
            name: _commonest(counts.get(name))
            for name in (
                "decided_by",
                "top_layer",
                "language",
                "router_adoption",
                "dedup_adoption",
            )
        }
        bins["queries"] = _bin(queries, QUERY_BINS, "51+")
        bins["records"] = _bin(records, RECORD_BINS, "10000+")
        bins["usefulness"] = _usefulness(counts.get("useful"))
        return UsageAnswers(bins, self._sequences[-1] if self._sequences else -1)

    def forget(self, through: int) -> None:
        """Erase every event up to log position `through`."""
        gone = bisect_right(self._sequences, through)
        if gone:
            self._log.erase(self._sequences[:gone])
            del self._sequences[:gone]

    def _note(self, *events: tuple[str, str]) -> None:
        """What is told together is one record: what, category, what, category, …"""
        record = msgpack.packb([part for event in events for part in event])
        self._sequences.append(self._log.append(record))


def _commonest(counts: Counter[str] | None) -> str:
    if not counts:
        return NONE
    return min(counts, key=lambda category: (-counts[category], category))


def _bin(value: int, bins: Sequence[tuple[int, str]], above: str) -> str:
    return next((name for limit, name in bins if value <= limit), above)


def _usefulness(counts: Counter[str] | None) -> str:
    if not counts:
        return NONE
    share = counts["yes"] / sum(counts.values())
    return next(name for limit, name in USEFUL_BINS if share <= limit)
