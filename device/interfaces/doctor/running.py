"""Runs the checks: each with a time limit, and none can stop another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from device.conditions import Finding
from device.interfaces.doctor.patient import Patient

__all__ = ["LIMIT", "Check", "Report", "aside", "examine"]

T = TypeVar("T")

LIMIT = 20.0
"""Seconds one check may take."""

Check = Callable[[Patient], Awaitable[Sequence[Finding]]]


@dataclass(frozen=True, slots=True)
class Report:
    """What all checks found."""

    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        """0: all is well; 1: something to do."""
        return 0 if all(each.state == "ok" for each in self.findings) else 1

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "well": self.exit_code == 0,
            "findings": [asdict(each) for each in self.findings],
        }


async def examine(
    patient: Patient, checks: Sequence[tuple[str, Check]], limit: float = LIMIT
) -> Report:
    """The findings of every check, in the order of the checks."""
    found = await asyncio.gather(*(_one(patient, *check, limit) for check in checks))
    return Report(tuple(finding for each in found for finding in each))


async def _one(patient: Patient, name: str, check: Check, limit: float) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(limit):
            return await check(patient)
    except TimeoutError:
        return [patient.finding(name, "unknown", "late", seconds=f"{limit:g}")]
    except Exception as error:
        # Its text may name a path, or hold what was read.
        return [patient.finding(name, "unknown", "broken", kind=type(error).__name__)]


async def aside(work: Callable[[], T]) -> T:
    """Run what may block, such as a disk that hangs, in a thread nobody waits for in the end."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is None:
            outcome.set_result(value)  # type: ignore[arg-type]
        else:
            outcome.set_exception(error)

    def run() -> None:
        value, failed = None, None
        try:
            value = work()
        except Exception as error:
            failed = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, failed)

    threading.Thread(target=run, daemon=True).start()
    return await outcome
