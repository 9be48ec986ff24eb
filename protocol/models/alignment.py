"""What two sequences share and where they part: pure functions of two lists of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "Alignment",
    "Gap",
    "align",
    "common_prefix",
    "common_subsequence",
    "longest_run",
]


class Gap(NamedTuple):
    """A stretch between two matches: places of either side that have no partner anywhere."""

    left: list[int]
    right: list[int]


class Alignment(NamedTuple):
    """How two sequences lie over each other; every number is a place in its sequence."""

    in_order: list[tuple[int, int]]
    """Partners of a longest common subsequence."""
    moved: list[tuple[int, int]]
    """Partners that stand in another order."""
    gaps: list[Gap]
    """Where something has no partner, from the beginning to the end."""


def align(a: Sequence[str], b: Sequence[str]) -> Alignment:
    """Partners in order, partners moved, and what is left over on either side."""
    in_order = _subsequence(a, b)
    taken_a = {place for place, _ in in_order}
    taken_b = {place for _, place in in_order}
    waiting: dict[str, list[int]] = {}
    for place in range(len(b) - 1, -1, -1):
        if place not in taken_b:
            waiting.setdefault(b[place], []).append(place)
    moved = []
    for place, word in enumerate(a):
        if place not in taken_a and waiting.get(word):
            moved.append((place, waiting[word].pop()))
    taken_a.update(place for place, _ in moved)
    taken_b.update(place for _, place in moved)
    gaps = []
    start_a = start_b = 0
    for end_a, end_b in [*in_order, (len(a), len(b))]:
        left = [place for place in range(start_a, end_a) if place not in taken_a]
        right = [place for place in range(start_b, end_b) if place not in taken_b]
        if left or right:
            gaps.append(Gap(left, right))
        start_a, start_b = end_a + 1, end_b + 1
    return Alignment(in_order, moved, gaps)


def common_prefix(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the common beginning."""
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return index
    return min(len(a), len(b))


def common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    return len(a) - _rows(a, b)[-1].bit_count()


def longest_run(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest stretch both have: places are ANDed with those of one unit before."""
    places = _places(a)
    ends, longest = [0], 0
    for unit in b:
        here = places.get(unit, 0)
        # ends[n]: bits of the places in a where a run of more than n units ends with this unit.
        runs = [here]
        for before in ends:
            grown = before << 1 & here
            if not grown:
                break
            runs.append(grown)
        ends = runs if here else [0]
        longest = max(longest, len(runs) if here else 0)
    return longest


def _subsequence(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    rows = _rows(a, b)
    i, j = len(a), len(b)
    pairs = []
    while i and j:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif rows[j] >> (i - 1) & 1:
            # A set bit: the subsequence is no longer with a[i - 1] than without.
            i -= 1
        else:
            j -= 1
    pairs.reverse()
    return pairs


def _rows(a: Sequence[str], b: Sequence[str]) -> list[int]:
    """The matrix of the longest common subsequence, bit-parallel (Hyyrö 2004): a row an integer.

    Row j holds a zero at each place of `a` where the subsequence with the first j of `b` grows.
    """
    places = _places(a)
    full = (1 << len(a)) - 1
    row = full
    rows = [row]
    for unit in b:
        matched = row & places.get(unit, 0)
        row = (row + matched | row - matched) & full
        rows.append(row)
    return rows


def _places(units: Sequence[str]) -> dict[str, int]:
    """Unit → the bits of its places."""
    places: dict[str, int] = {}
    for index, unit in enumerate(units):
        places[unit] = places.get(unit, 0) | 1 << index
    return places
