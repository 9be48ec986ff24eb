"""Law 8 of one phone: what it may put on the wire, and what it may hold on its flash.

The law's 20 KB a device-day are an average over a phone's life, so a world of a few days is allowed
what every life has once, and what each fault costs: a session that broke, a process that forgot
when to sync next, a clock that was set. After a break an upload goes on where it stopped, so a
session more costs its handshakes, the plan, and at most the piece that was on its way. The demo
budget asks for a report of every task each day or oftener, which no deployed fleet does, and is
allowed what these take.
"""

from __future__ import annotations

from typing import Final

from privacy.budget import DAY, Budget
from simulator.laws import SMALL, Tally
from simulator.network import Traffic

__all__ = ["check_stored", "check_traffic"]

_A_DAY: Final = 20_000
"""Bytes up and down, with all that TLS, TCP and IP add: the law."""
_ONCE: Final = 60_000
"""Bytes of enrolment, the trusted role files, and the first full models."""
_RETRY: Final = 24_000
"""Bytes of a session more: connection 4.6 kB, greetings and plan up to 10 kB with every role file,
and a piece of an upload or a release."""
_ROUND: Final = 10_000
"""Bytes of one report of 1,300 values, and the difference of the release that follows from it."""

_STORED: Final = 128 << 10
"""Bytes of what no record is: two versions of both models, keys, ledger, outbox."""
_STORED_A_RECORD: Final = 4 << 10
"""Bytes of a turn with all that is drawn from it, its index, and the segments it lies in."""


def check_traffic(
    tally: Tally, who: str, traffic: Traffic, *, days: float, budget: Budget, retries: int
) -> None:
    """`days`: length of the world; `retries`: sessions that broke, and faults that cost one."""
    asked = 0.0
    if not budget.private:
        asked = sum(
            _ROUND * DAY / stream.cadence for stream in budget.streams for _ in stream.tasks
        )
    most = _ONCE + days * (_A_DAY + asked) + retries * _RETRY
    spent = traffic.up + traffic.down
    said = f"{spent} bytes in {days:g} days with {retries} retries, {most:.0f} at most"
    tally.check(SMALL, spent <= most, who, said)


def check_stored(tally: Tally, who: str, stored: int, *, records: int) -> None:
    """`stored`: bytes on the phone's flash; `records`: turns its owner tried to tell it."""
    most = _STORED + records * _STORED_A_RECORD
    said = f"{stored} bytes are stored for {records} records, {most} at most"
    tally.check(SMALL, stored <= most, who, said)
