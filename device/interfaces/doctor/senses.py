"""The three conditions, with what was read for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from device.conditions import Finding
from device.interfaces.doctor.patient import Patient

__all__ = ["senses"]


@runtime_checkable
class _Diagnosing(Protocol):
    async def diagnose(self) -> list[Finding]: ...


async def senses(patient: Patient) -> Sequence[Finding]:
    """Of the source itself, where it can tell; else the bare answers, as of a script."""
    source = patient.conditions
    if isinstance(source, _Diagnosing):
        return [*await source.diagnose(), *await _battery(patient)]
    reading = await source.read()
    found = []
    for name in ("idle", "charging", "unmetered"):
        holds: bool | None = getattr(reading, name)
        code = "unknown" if holds is None else "yes" if holds else "no"
        state = "unknown" if holds is None else "ok"
        found.append(patient.finding(name, state, f"condition {code}"))  # type: ignore[arg-type]
    return found


async def _battery(patient: Patient) -> Sequence[Finding]:
    level, floor = (await patient.conditions.read()).battery, patient.settings.min_battery
    if level is None or level >= floor:
        return []
    return [patient.finding("charge", "warning", "battery low", level=level, floor=floor)]
