"""All checks, in the order in which their findings are printed."""

from __future__ import annotations

from cloud.doctor.gateways import clock, gateways, tls
from cloud.doctor.helper import helper
from cloud.doctor.keys import keys, role_files
from cloud.doctor.ports import ports
from cloud.doctor.record import alarms, database, ticker
from cloud.doctor.running import Check
from cloud.doctor.stores import blobs, disk
from cloud.doctor.versions import installed, ray

__all__ = ["CHECKS"]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("installed", installed),
    ("clock", clock),
    ("disk", disk),
    ("database", database),
    ("blobs", blobs),
    ("keys", keys),
    ("metadata", role_files),
    ("helper", helper),
    ("ticker", ticker),
    ("gateway", gateways),
    ("tls", tls),
    ("ports", ports),
    ("ray", ray),
    ("alarms", alarms),
)
"""Name, for one that fails or takes too long; and the check."""
