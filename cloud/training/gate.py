"""Whether one version may take another's place: worse nowhere beyond chance, and better over all.

Both versions answer the same examples, so only those count on which they differ. Rows of one
template stand or fall together, so the unit is the template: were both versions equally good, each
unit's difference would be as likely the other way round. The test counts all those ways exactly;
where every unit is one example it is McNemar's (1947) exact test, one-sided.

A candidate is looked at through many slices, and one of them will look bad by chance. Tarone's
(1990) correction divides the level among those slices alone that could tell at all: where versions
differ on k units no result is rarer than 2^-k.

Falls too small to tell add up. So the candidate is also held against the best that any version
still published has reached, slice by slice, and its accuracy never lies more than MOST_FALL below
theirs: twenty small falls end where one large one would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloud.training.scoring import Answers, Board, Scores

__all__ = ["LEVEL", "MOST_FALL", "Comparison", "Rival", "compare", "objection", "worst"]

LEVEL = 0.05
"""Chance that a candidate as good as the published version is called worse."""
GUARD_LEVEL = 0.01
"""The same for the best so far: the best of many owes some of its lead to luck."""
MOST_FALL = 0.01
"""Held-out accuracy that all releases together may lose against the best of them."""


@dataclass(frozen=True)
class Rival:
    """A version the candidate is held against, and its answers."""

    version: int
    answers: Answers
    scores: Scores


@dataclass(frozen=True)
class Comparison:
    """The candidate and a rival on one slice.

    lost, won: examples that only the rival, or only the candidate, gets right. units: templates on
    which their numbers differ. chance: of such a fall, or a deeper one, were they equally good.
    """

    name: str
    rival: int
    examples: int
    before: float
    after: float
    lost: int
    won: int
    units: int
    chance: float

    @property
    def fall(self) -> float:
        """Accuracy lost, in 0–1."""
        return self.before - self.after


def objection(candidate: Answers, published: Rival, others: Iterable[Rival], board: Board) -> str:
    """Why the candidate may not replace the published version, in one line; empty when it may.

    Args:
        others: the further versions whose best it must not fall behind.
    """
    found = worst(compare(candidate, [published], board), LEVEL)
    if found is not None:
        return _line(found, f"the published {found.before:.3f}")
    rivals = [published, *others]
    found = worst(compare(candidate, rivals, board), GUARD_LEVEL)
    if found is not None:
        return _line(found, f"the best so far, version {found.rival}'s {found.before:.3f}")
    return _not_better(Scores.of(candidate, board), published.scores, rivals)


def compare(candidate: Answers, rivals: Sequence[Rival], board: Board) -> list[Comparison]:
    """The candidate and, slice by slice, the best of the rivals there (the first at a tie)."""
    found = []
    for name, rows in board.slices.items():
        best = max(rivals, key=lambda rival: int(rival.answers.hits[rows].sum()))
        found.append(_compared(name, rows, candidate, best, board))
    return found


def worst(comparisons: Iterable[Comparison], level: float) -> Comparison | None:
    """The deepest fall that chance does not explain, given how many slices were looked at."""
    known = list(comparisons)
    bound = _bound([one.units for one in known], level)
    real = [one for one in known if one.chance <= bound]
    return max(real, key=lambda one: one.fall, default=None)


def _bound(units: Sequence[int], level: float) -> float:
    """The chance from which a fall is called real (Tarone 1990)."""
    for share in range(1, len(units) + 1):
        if sum(2.0**-count <= level / share for count in units) <= share:
            return level / share
    return level / max(len(units), 1)


def _compared(
    name: str, rows: NDArray[np.bool_], candidate: Answers, rival: Rival, board: Board
) -> Comparison:
    old, new = rival.answers.hits[rows], candidate.hits[rows]
    _, place = np.unique(board.units[rows], return_inverse=True)
    nets = np.bincount(place, weights=new.astype(float) - old).astype(np.int64)
    return Comparison(
        name=name,
        rival=rival.version,
        examples=len(old),
        before=float(old.mean()),
        after=float(new.mean()),
        lost=int((old & ~new).sum()),
        won=int((new & ~old).sum()),
        units=int(np.count_nonzero(nets)),
        chance=_chance(nets),
    )


def _chance(nets: NDArray[np.int64]) -> float:
    """The share of all ways to turn the signs of `nets` round whose sum is no larger."""
    sizes = np.abs(nets[nets != 0])
    most = int(sizes.sum())
    ways = np.zeros(2 * most + 1)
    ways[most] = 1.0
    for size in sizes:
        # Nothing wraps round: no partial sum of the sizes is beyond `most`.
        ways = (np.roll(ways, size) + np.roll(ways, -size)) / 2.0
    return float(min(1.0, ways[: most + int(nets.sum()) + 1].sum()))


def _line(found: Comparison, before: str) -> str:
    return (
        f"worse on {found.name}: accuracy {found.after:.3f} is under {before} "
        f"({found.examples} examples, {found.lost} lost, {found.won} won, p {found.chance:.1g})"
    )


def _not_better(scores: Scores, known: Scores, rivals: Sequence[Rival]) -> str:
    best = max(rivals, key=lambda rival: rival.scores.accuracy)
    if scores.accuracy < best.scores.accuracy - MOST_FALL:
        return (
            f"accuracy {scores.accuracy:.4f} is more than {MOST_FALL} under the best so far, "
            f"version {best.version}'s {best.scores.accuracy:.4f}"
        )
    if scores.accuracy > known.accuracy or scores.loss < known.loss:
        return ""
    falls = f"and the loss {scores.loss:.4f} is not under {known.loss:.4f}"
    if scores.accuracy == known.accuracy:
        return f"accuracy {scores.accuracy:.4f} ties with the published {falls}"
    return f"accuracy {scores.accuracy:.4f} is under the published {known.accuracy:.4f} {falls}"
