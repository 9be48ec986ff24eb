"""What a new round asks of phones: its descriptor, from budget and fleet."""

from __future__ import annotations

from typing import Any, Final, cast

from cloud.actors.sums import HISTOGRAMS
from privacy.budget import Budget
from privacy.secagg.batch import LARGEST_BATCH
from privacy.streams import USAGE_DIMENSION
from protocol.models.spec import SPECS, head_dimension
from protocol.rounds import LocalRound, Round, RoundDescriptor, SharedTask

__all__ = ["columns_of", "local_round", "shared_round", "shown_until"]

CLOSING_SECONDS: Final = 120.0
CLOSING_SHARE: Final = 0.05
"""A round is shown no more so long before it closes, or for this share of its length if shorter."""


def shared_round(
    budget: Budget,
    helper_key: bytes,
    task: SharedTask,
    number: int,
    *,
    base: int,
    expected: int,
    now: float,
) -> RoundDescriptor:
    """A round of two-server aggregation. `base`: model version (0 for usage); `expected`: phones
    that came last time; `now`: unix seconds at which it opens."""
    terms = budget.terms(task, min(expected, LARGEST_BATCH))
    return RoundDescriptor(
        task=task,
        round=number,
        dimension=USAGE_DIMENSION if task == "usage" else head_dimension(SPECS[task]),
        scale=terms.scale,
        clip=terms.clip,
        sigma=terms.sigma,
        n_min=terms.n_min,
        base_version=base,
        helper_key=helper_key,
        opens=now,
        closes=now + terms.cadence,
        budget=cast(Any, budget.name),
    )


def local_round(budget: Budget, number: int, now: float) -> LocalRound:
    """A round without a helper. The histograms take turns: a phone answers one question a round,
    so that no answer is drowned by sharing one epsilon among all."""
    plan, names = budget.local, list(HISTOGRAMS)
    return LocalRound(
        round=number,
        histogram=names[(number - 1) % len(names)],
        epsilon=plan.epsilon,
        n_min=plan.n_min,
        opens=now,
        closes=now + plan.cadence,
        budget=cast(Any, budget.name),
    )


def columns_of(descriptor: Round) -> dict[str, Any]:
    """The descriptor as columns of the rounds table."""
    columns = descriptor.model_dump(exclude={"helper_key"})
    if isinstance(descriptor, LocalRound):
        bins = len(HISTOGRAMS[descriptor.histogram].bins)
        columns |= {"dimension": bins, "scale": 1, "clip": 1.0, "sigma": 0.0, "base_version": 0}
    return columns


def shown_until(opens: float, closes: float) -> float:
    """When a round is shown for the last time, between when it opens and closes (unix seconds).

    A phone pays for a report before it offers it, and the payment stands whatever becomes of the
    offer: what left the phone is spent. So a round must not be on show when a report of a phone
    that begins now could find it closed: it would have paid for nothing. The margin is longer than
    a phone takes from its plan to its upload, than a gateway's snapshot is old and than the clocks
    of two machines differ. A phone that is slower still is refused with "stale_round" and keeps its
    count of what it paid; no report that was acknowledged is ever lost.
    """
    return closes - min(CLOSING_SECONDS, CLOSING_SHARE * (closes - opens))
