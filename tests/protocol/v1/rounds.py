"""Round descriptors: what the cloud asks of phones, signed, in strictly increasing rounds.

The phone reads its privacy parameters from here and checks them against its own floors; windows
come from these signed documents and never from a wall clock alone.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from tests.protocol.v1.identity import SigningKey, open_envelope, signed_envelope
from tests.protocol.v1.messages import MAX_DESCRIPTOR, MAX_INTEGER, Key, ProtocolModel
from tests.protocol.v1.packing import pack, unpack_map, validated

__all__ = [
    "MAX_DIMENSION",
    "TASKS",
    "RoundDescriptor",
    "Task",
    "open_descriptor",
    "seal_descriptor",
]

Task: TypeAlias = Literal["usage", "router", "dedup"]
TASKS: tuple[Task, ...] = ("usage", "router", "dedup")
MAX_DIMENSION = 65_536
MAX_SCALE = 2**24
_PURPOSE = "round"


class RoundDescriptor(ProtocolModel):
    """One aggregation round.

    ``scale`` is integer lattice units per 1.0 of the clipped value; ``clip`` the L2 bound and
    ``sigma`` the standard deviation of the total noise, both in real units; the round is usable
    with at least ``n_min`` reports. ``base_version`` is the model version the update starts from
    (0 for usage). ``opens`` and ``closes`` are unix seconds.
    """

    task: Task
    round: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    dimension: Annotated[int, Field(ge=1, le=MAX_DIMENSION)]
    scale: Annotated[int, Field(ge=1, le=MAX_SCALE)]
    clip: Annotated[float, Field(gt=0.0)]
    sigma: Annotated[float, Field(gt=0.0)]
    n_min: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    base_version: Annotated[int, Field(ge=0, le=MAX_INTEGER)]
    helper_key: Key
    opens: float
    closes: float
    budget: Literal["production", "demo"]

    @model_validator(mode="after")
    def _opens_before_it_closes(self) -> Self:
        if not self.opens < self.closes:
            raise ValueError("a round opens before it closes")
        return self


def seal_descriptor(descriptor: RoundDescriptor, signing_key: SigningKey) -> bytes:
    """The signed descriptor as it travels in a Plan."""
    return signed_envelope(pack(descriptor.model_dump()), signing_key, purpose=_PURPOSE)


def open_descriptor(blob: bytes, cloud_public_key: bytes) -> RoundDescriptor:
    """The descriptor, signature checked before it is parsed.

    Raises SignatureInvalid, or WireError when the cloud itself signed something malformed.
    """
    payload = open_envelope(blob, cloud_public_key, purpose=_PURPOSE)
    return validated(RoundDescriptor, unpack_map(payload, max_size=MAX_DESCRIPTOR))
