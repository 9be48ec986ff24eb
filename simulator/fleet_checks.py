"""What only the whole fleet can tell: the cloud's books against what its phones know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import pairwise

from simulator.faults.lies import Lie
from simulator.laws import ACKED_ONCE, FORGED, RISING, Tally

__all__ = ["check_counts", "check_published"]


def check_counts(
    tally: Tally,
    *,
    acked: Sequence[bytes],
    released: Iterable[bytes],
    held: Mapping[bytes, int],
    counted: Mapping[tuple[str, int], int],
    held_by_round: Mapping[tuple[str, int], int],
    lies: Sequence[Lie] = (),
    summed: Set[bytes] = frozenset(),
) -> None:
    """Law 3 across the fleet.

    Args:
        tally: where the checks are counted.
        acked: upload ids the phones hold acknowledgements for.
        released: every id that any phone released.
        held: how often the cloud holds each upload id.
        counted: reports summed in each closed round (task, round).
        held_by_round: uploads the cloud holds for those rounds.
        lies: uploads of malicious phones; summed: upload ids that are in a sum.
    """
    for upload_id in acked:
        times = held.get(upload_id, 0)
        said = f"{upload_id.hex()} is held {times} times"
        tally.check(ACKED_ONCE, times == 1, "cloud", said)
    known = {*released, *(lie.upload_id for lie in lies)}
    for upload_id in sorted(held):
        tally.check(ACKED_ONCE, upload_id in known, "cloud", f"{upload_id.hex()} came from nowhere")
    left_out = Counter((lie.task, lie.round) for lie in lies if lie.upload_id in held)
    for task, number in sorted(counted):
        rows = held_by_round.get((task, number), 0) - left_out[task, number]
        count = counted[task, number]
        said = f"{task} round {number} summed {count} reports of {rows} held"
        tally.check(ACKED_ONCE, count == rows, "cloud", said)
    for lie in lies:
        name = lie.upload_id.hex()
        holds = not (lie.refused and lie.upload_id in held)
        tally.check(FORGED, holds, "cloud", f"{name} should have been refused")
        counts = lie.upload_id in summed
        tally.check(FORGED, not counts, "cloud", f"{name} is in {lie.task} round {lie.round}")


def check_published(tally: Tally, model: str, versions: Sequence[int]) -> None:
    """Law 7 at the source: a model's published versions strictly rise."""
    for before, after in pairwise(versions):
        tally.check(RISING, after > before, "cloud", f"{model} published {after} after {before}")
