"""What a fleet shows an auditor: rounds, batches, releases and receipts, as plain values.

The cloud fills these in (entry-point group ``reverie.fleets``); nothing in them is believed until
`privacy.audit.fleet` has checked it. Unknown or absent values are empty, zero or False-like, so
that a public page and a database are the same kind of evidence, one of them thinner.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FleetEvidence", "ReleaseEvidence", "RoundEvidence"]


@dataclass(frozen=True, slots=True)
class RoundEvidence:
    """One aggregation round as the cloud tells it.

    ``scale``: lattice units per real unit. ``clip``, ``sigma``, ``total_sigma``: real units, of
    one report's L2 norm, of one source's noise, and of all noise in the sum. ``epsilon``: of one
    report of a local round, else 0.0. ``reports``: how many were summed. ``certificate``: the
    helper's signed statement of the batch, or b"". ``report_ids``: only from a database.
    """

    task: str
    round: int
    status: str
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int
    epsilon: float
    reports: int
    total_sigma: float
    certificate: bytes
    report_ids: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleaseEvidence:
    """One published model version and the guarantee claimed for its central training.

    ``steps`` of Poisson-sampled Gaussian noise: ``noise_multiplier`` (noise over clip) at
    ``sample_rate``, at neighbours that differ by one zeroed device, claimed (epsilon, delta)-DP.
    """

    model: str
    version: int
    epsilon: float
    delta: float
    steps: int
    noise_multiplier: float
    sample_rate: float


@dataclass(frozen=True, slots=True)
class FleetEvidence:
    """All that one cloud shows. Keys are hex, "" where there is none.

    ``receipts``: blobs as `privacy.receipts.sign_receipt` makes them; only from a database,
    because they name devices.
    """

    cloud_key: str
    budget: str
    helper_signing_key: str
    rounds: tuple[RoundEvidence, ...]
    releases: tuple[ReleaseEvidence, ...]
    receipts: tuple[bytes, ...] = ()
