"""Whether a daemon runs for this phone."""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Sequence
from pathlib import Path

from device.conditions import Finding
from device.interfaces.doctor.patient import Patient
from device.interfaces.service import reach
from device.vault import store_folder
from device.vault.folder import LOCK_FILE

__all__ = ["daemon", "daemon_answers", "store_is_held"]

ANSWER_SECONDS = 10.0


async def daemon(patient: Patient) -> Sequence[Finding]:
    """By its lock and by whether it answers."""
    if not store_is_held(patient.home):
        if patient.environ.get("TERMUX_VERSION"):
            return [patient.finding("daemon", "ok", "daemon by job")]
        return [patient.finding("daemon", "warning", "daemon none")]
    if await daemon_answers(patient):
        return [patient.finding("daemon", "ok", "daemon fine")]
    return [patient.finding("daemon", "fault", "daemon mute")]


async def daemon_answers(patient: Patient) -> bool:
    """Whether the daemon at this phone's socket answers a small question."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS), reach(patient.home, patient.settings) as phone:
            return phone is not None and await phone.unknown() is not None
    except (TimeoutError, OSError):
        return False


def store_is_held(home: Path) -> bool:
    """Whether another process has the store's lock; takes it for no longer than the look."""
    try:
        with (store_folder(home) / LOCK_FILE).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
