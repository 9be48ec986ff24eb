"""A plan on the wire: one frame where it fits, else a Plan and the Metadata that follows it."""

from __future__ import annotations

from typing import Final

from protocol.errors import SessionError
from protocol.messages import MAX_DOCUMENTS, MAX_METADATA_FILES, Metadata, Plan
from protocol.session_events import PlanReceived
from protocol.wire import MAX_FRAME

__all__ = ["PlanParts", "split_plan"]

FIELD_COST: Final = 8
"""Bytes that msgpack adds to one binary string at most, with some to spare."""
HEAD_COST: Final = 256
"""Bytes of a frame around its lists: names, numbers, flags."""


def split_plan(plan: Plan, version: int) -> list[Plan | Metadata]:
    """The messages that carry a whole ``plan`` in a session of ``version``, in order.

    Rounds, releases and receipts always fit the first. Version 1 knows nothing but these.
    """
    if version == 1:
        return [plan]
    room = MAX_FRAME - HEAD_COST - _cost(plan.rounds) - _cost(plan.releases) - _cost(plan.receipts)
    if not plan.more and _cost(plan.metadata) + _cost(plan.documents) <= room:
        return [plan]
    batches: list[tuple[list[bytes], list[bytes]]] = [([], [])]
    labelled = [(0, blob) for blob in plan.metadata] + [(1, blob) for blob in plan.documents]
    for kind, blob in labelled:
        if _cost((blob,)) > room:
            batches.append(([], []))
            room = MAX_FRAME - HEAD_COST
        batches[-1][kind].append(blob)
        room -= _cost((blob,))
    (metadata, documents), *rest = batches
    first = plan.model_copy(
        update={"metadata": tuple(metadata), "documents": tuple(documents), "more": bool(rest)}
    )
    following = [
        Metadata(metadata=tuple(files), documents=tuple(blobs), more=number < len(rest))
        for number, (files, blobs) in enumerate(rest, 1)
    ]
    return [first, *following]


def _cost(blobs: tuple[bytes, ...]) -> int:
    return sum(map(len, blobs)) + FIELD_COST * len(blobs)


class PlanParts:
    """A plan as it arrives."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._metadata = list(plan.metadata)
        self._documents = list(plan.documents)
        self.whole = not plan.more

    def add(self, part: Metadata) -> None:
        """Take the next part; SessionError when there is none to come, or it is one too many."""
        if self.whole or not (part.metadata or part.documents):
            raise SessionError("bad_message", "a part of a plan that is whole, or an empty one")
        self._metadata += part.metadata
        self._documents += part.documents
        if len(self._metadata) > MAX_METADATA_FILES or len(self._documents) > MAX_DOCUMENTS:
            raise SessionError("too_large", "a plan with more files than one may have")
        self.whole = not part.more

    def event(self, server_time: float, version: int) -> PlanReceived:
        """The plan, once it is whole."""
        plan = self._plan
        return PlanReceived(
            plan.rounds,
            plan.releases,
            plan.retry_after,
            server_time,
            plan.receipts,
            tuple(self._metadata),
            tuple(self._documents),
            plan.mail,
            version,
        )
