"""The scores of a handful of memories, summed one by one.

Most questions meet a dozen postings in all, and then setting arrays up takes ten times as long as
the sums. What comes out is to the bit what `lexical.py` and `index.py` work out with arrays: every
step is rounded to single precision as theirs are, in the same order.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

__all__ = ["FEW", "Few", "Lending", "single"]

FEW = 64
"""Postings up to which a query is answered this way; from there on arrays are as fast."""
_SINGLE = struct.Struct("f")

Few = dict[int, float]
"""A value, in single precision, of each slot that has one."""


def single(value: float) -> float:
    """`value` in single precision."""
    nearest: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return nearest


class Lending:
    """How a match lifts what stands around it in its conversation, for few matches."""

    __slots__ = ("_episode", "_steps")

    def __init__(self, neighbours: Sequence[float], reply: float, episode: float) -> None:
        """Shares as in `index.Ranking`."""
        self._episode = single(episode)
        self._steps: list[tuple[int, float, float]] = []
        for distance, share in enumerate(neighbours, start=1):
            asking = share + (reply if distance == 1 else 0.0)
            before = single(share)
            self._steps += [(distance, share, asking), (-distance, before, before)]

    def lift(self, scores: Few, episodes: NDArray[Any], asks: NDArray[Any]) -> None:
        """Add to `scores` what its matches lend to the slots around them."""
        if not (scores and (self._steps or self._episode)):
            return
        lenders = [
            (slot, own, episodes.item(slot), asks.item(slot))
            for slot, own in sorted(scores.items())
        ]
        size = len(episodes)
        for distance, plain, asking in self._steps:
            for slot, own, episode, asked in lenders:
                place = slot + distance
                if 0 <= place < size and episodes.item(place) == episode:
                    gift = single(own * (asking if asked else plain))
                    scores[place] = single(scores.get(place, 0.0) + gift)
        if self._episode:
            self._lift_episodes(scores, lenders, episodes)

    def _lift_episodes(
        self, scores: Few, lenders: Sequence[tuple[int, float, int, bool]], episodes: NDArray[Any]
    ) -> None:
        """Add a share of each episode's best score to everything in it that has one."""
        tops: dict[int, float] = {}
        for _, own, episode, _ in lenders:
            tops[episode] = max(own, tops.get(episode, 0.0))
        gifts = {episode: single(self._episode * top) for episode, top in tops.items()}
        # What has a score stands in the episode of one that lent to it.
        for slot, score in scores.items():
            scores[slot] = single(score + gifts[episodes.item(slot)])
