"""Round descriptors: what the cloud asks of phones, signed, in strictly increasing rounds.

The phone reads its privacy parameters from here and checks them against its own floors; windows
come from these signed documents and never from a wall clock alone. Two kinds: a vector shared
between leader and helper (`RoundDescriptor`), or, in a fleet without a helper, one answer that
the phone randomises alone (`LocalRound`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from protocol.identity import SigningKey, open_envelope, signed_envelope
from protocol.messages import MAX_DESCRIPTOR, MAX_INTEGER, Key, Name, ProtocolModel
from protocol.packing import pack, unpack_map, validated

__all__ = [
    "LOCAL_TASK",
    "MAX_DIMENSION",
    "MODEL_TASKS",
    "SHARED_TASKS",
    "TASKS",
    "LocalRound",
    "Round",
    "RoundDescriptor",
    "SharedTask",
    "Task",
    "open_descriptor",
    "seal_descriptor",
]

SharedTask: TypeAlias = Literal["usage", "router", "dedup"]
Task: TypeAlias = Literal["usage", "router", "dedup", "local_usage"]

SHARED_TASKS: tuple[SharedTask, ...] = ("usage", "router", "dedup")
"""Tasks whose reports are shared between leader and helper."""
MODEL_TASKS: tuple[SharedTask, ...] = ("router", "dedup")
"""…of these, the ones that carry model updates."""
LOCAL_TASK: Literal["local_usage"] = "local_usage"
TASKS: tuple[Task, ...] = (*SHARED_TASKS, LOCAL_TASK)
"""Every task; its place here is its number in a report, so the order never changes."""

MAX_DIMENSION = 65_536
MAX_SCALE = 2**24
_PURPOSE = "round"
_CACHED_ROUNDS = 16
"""Rounds remembered: a plan names the same few again and again, and its models are immutable."""


class _Timed(ProtocolModel):
    """What every round has: a number, a fewest of reports, a span and the budget it is under."""

    round: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    n_min: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    opens: float
    closes: float
    budget: Literal["production", "demo"]

    @model_validator(mode="after")
    def _opens_before_it_closes(self) -> Self:
        if not self.opens < self.closes:
            raise ValueError("a round opens before it closes")
        return self


class RoundDescriptor(_Timed):
    """One round of two-server aggregation.

    ``scale`` is integer lattice units per 1.0 of the clipped value; ``clip`` the L2 bound and
    ``sigma`` the standard deviation of the total noise, both in real units; the round is usable
    with at least ``n_min`` reports. ``base_version`` is the model version the update starts from
    (0 for usage). ``opens`` and ``closes`` are unix seconds.
    """

    task: SharedTask
    dimension: Annotated[int, Field(ge=1, le=MAX_DIMENSION)]
    scale: Annotated[int, Field(ge=1, le=MAX_SCALE)]
    clip: Annotated[float, Field(gt=0.0)]
    sigma: Annotated[float, Field(gt=0.0)]
    base_version: Annotated[int, Field(ge=0, le=MAX_INTEGER)]
    helper_key: Key


class LocalRound(_Timed):
    """One round of a fleet without a helper: one histogram, answered under local privacy.

    Every phone reports its answer to ``histogram`` through a randomiser of ``epsilon`` (pure,
    per report); shares are published from at least ``n_min`` reports. Times in unix seconds.
    """

    task: Literal["local_usage"] = LOCAL_TASK
    histogram: Name
    epsilon: Annotated[float, Field(gt=0.0)]


Round: TypeAlias = RoundDescriptor | LocalRound


def seal_descriptor(descriptor: Round, signing_key: SigningKey) -> bytes:
    """The signed descriptor as it travels in a Plan."""
    return signed_envelope(pack(descriptor.model_dump()), signing_key, purpose=_PURPOSE)


@lru_cache(maxsize=_CACHED_ROUNDS)
def open_descriptor(blob: bytes, cloud_public_key: bytes) -> Round:
    """The descriptor, signature checked before it is parsed.

    Raises SignatureInvalid, or WireError when the cloud itself signed something malformed.
    """
    payload = open_envelope(blob, cloud_public_key, purpose=_PURPOSE)
    fields = unpack_map(payload, max_size=MAX_DESCRIPTOR)
    if fields.get("task") == LOCAL_TASK:
        return validated(LocalRound, fields)
    return validated(RoundDescriptor, fields)
