"""What the pages and their JSON share: who may come in, what they read, how they steer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Connection

from cloud.admin.entry import Entry
from cloud.admin.operators import Operator, Operators
from cloud.admin.patience import Patience
from cloud.config import CloudConfig
from cloud.gateway.metrics import Metrics
from cloud.identity import read_key
from cloud.storage import Database
from cloud.storage.facts import alarms_page, fleet, holder, open_rounds, recent_reports
from privacy import BUDGETS, Budget
from protocol.errors import RefusalCode

__all__ = ["Counts", "Desk"]

T = TypeVar("T")

COUNTS_KEPT_SECONDS: Final = 10.0
"""Counting a million phones takes about a second: once for so long is enough."""
ALARMS_COUNTED: Final = 200


@dataclass(frozen=True, slots=True)
class Counts:
    """What is counted rather than listed, at one moment."""

    fleet: dict[str, int]
    reports: dict[str, int]
    open_rounds: list[dict[str, Any]]
    alarms: list[dict[str, Any]]
    """Those that hold."""
    holder: dict[str, Any] | None


_REFUSED: Final[Mapping[int, RefusalCode]] = {400: "bad_message", 413: "too_large"}
"""HTTP statuses as the protocol calls what they answer."""


async def _nothing() -> None:
    """What is done after a change when the caller gives nothing."""


class Desk:
    """One gateway's side of the operators.

    Args:
        config: the cloud's.
        metrics: the gateway's own.
        clock: unix seconds.
        bits: n -> n random bytes.
        secure: phones and operators come over TLS: cookies say so, and browsers are told to stay.
        open_metrics: whether `/metrics` asks for no token (an address of this machine only).
        changed: called after something was steered, so that phones are shown it at once.
    """

    def __init__(
        self,
        config: CloudConfig,
        metrics: Metrics,
        clock: Callable[[], float],
        bits: Callable[[int], bytes],
        *,
        secure: bool = False,
        open_metrics: bool = True,
        changed: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self.config, self.metrics, self.clock, self.bits = config, metrics, clock, bits
        self.secure, self.open_metrics = secure, open_metrics
        self.database = Database(config.database_url)
        self.operators = Operators(self.database)
        self.entry = Entry(read_key(Path(config.signing_key)), bits)
        self.patience = Patience()
        self._changed = changed
        self._counts: tuple[float, Counts] | None = None

    @property
    def budget(self) -> Budget:
        """The one this cloud's rounds keep to."""
        return BUDGETS[self.config.budget]

    @property
    def by_hand(self) -> bool:
        """Whether what passed the gate waits for an operator's word."""
        return self.config.publish == "by-hand"

    async def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` finds in one snapshot of the database, read beside the event loop."""
        return await asyncio.to_thread(self._read, work)

    async def counts(self) -> Counts:
        """The counts of a moment at most ten seconds ago."""
        now = self.clock()
        if self._counts is None or not 0.0 <= now - self._counts[0] < COUNTS_KEPT_SECONDS:
            self._counts = (now, await self.read(lambda connection: _count(connection, now)))
        return self._counts[1]

    async def admitted(self, token: str, address: str) -> Operator | None:
        """The active operator with this token; a wrong one is counted against the address."""
        now = self.clock()
        operator = await asyncio.to_thread(self.operators.holding, token, now)
        if operator is None:
            self.patience.failed(address, now)
        outcome = "refused" if operator is None else "admitted"
        self.metrics.admin_logins.labels(outcome=outcome).inc()
        return operator

    def count_refusal(self, status: int) -> None:
        """Count an answer to what was malformed or too large; wrong tokens are counted apart."""
        if code := _REFUSED.get(status):
            self.metrics.refusals.labels(code=code).inc()

    async def changed(self) -> None:
        """Something was steered: counts are made anew, and phones are shown what is now."""
        self._counts = None
        await self._changed()

    def close(self) -> None:
        """Give the database's handles back."""
        self.database.close()

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self.database.read() as connection:
            return work(connection)


def _count(connection: Connection, now: float) -> Counts:
    holding = [row for row in alarms_page(connection, ALARMS_COUNTED) if row["cleared"] is None]
    return Counts(
        fleet(connection),
        recent_reports(connection, now),
        open_rounds(connection, now),
        holding,
        holder(connection),
    )
