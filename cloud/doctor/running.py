"""Runs the checks: each with a time limit, and none can stop another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from cloud.doctor.findings import Finding, RecordUnread, Scene

__all__ = ["LIMIT", "Check", "Report", "aside", "examine"]

T = TypeVar("T")

LIMIT = 30.0
"""Seconds one check may take; a look at a Ray cluster imports Ray first."""

Check = Callable[[Scene], Awaitable[Sequence[Finding]]]


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
        return {"well": self.exit_code == 0, "findings": [asdict(each) for each in self.findings]}


async def examine(
    scene: Scene, checks: Sequence[tuple[str, Check]], limit: float = LIMIT
) -> Report:
    """The findings of every check, in the order of the checks."""
    found = await asyncio.gather(*(_one(scene, *check, limit) for check in checks))
    return Report(tuple(finding for each in found for finding in each))


async def _one(scene: Scene, name: str, check: Check, limit: float) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(limit):
            return await check(scene)
    except TimeoutError:
        said = f"this check did not end within {limit:g} s"
        return [Finding(name, "unknown", said, "look for a disk, server or network that hangs")]
    except RecordUnread:
        return [Finding(name, "unknown", "the database cannot be read", "mend the database first")]
    except Exception as error:
        # Its text may hold an address with a password, or a row.
        said = f"this check itself failed ({type(error).__name__})"
        return [Finding(name, "unknown", said, "report this line")]


async def aside(work: Callable[[], T]) -> T:
    """Run what may block, such as a server that hangs, in a thread nobody waits for in the end."""
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
