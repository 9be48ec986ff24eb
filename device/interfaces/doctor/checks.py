"""All checks, in the order in which their findings are printed."""

from __future__ import annotations

from device.interfaces.doctor.cloud import clock, cloud, tls
from device.interfaces.doctor.keys import key
from device.interfaces.doctor.life import daemon
from device.interfaces.doctor.place import permissions, space, writing
from device.interfaces.doctor.running import Check
from device.interfaces.doctor.senses import senses
from device.interfaces.doctor.store import budget, sealed_logs
from device.interfaces.doctor.versions import services, versions

__all__ = ["CHECKS"]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("versions", versions),
    ("clock", clock),
    ("permissions", permissions),
    ("space", space),
    ("writing", writing),
    ("key", key),
    ("store", sealed_logs),
    ("budget", budget),
    ("daemon", daemon),
    ("conditions", senses),
    ("cloud", cloud),
    ("tls", tls),
    ("services", services),
)
"""Name, for one that fails or takes too long; and the check."""
