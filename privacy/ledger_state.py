"""What a ledger's entries add up to: the one place where entries become spending.

Two dates. A charge is made at a moment nobody can prove: the phone's clock or the cloud's round
may lie. While one of the two is honest, the moment lies between ``at``, the earlier of the clock
and the round's opening, and ``latest``, the later of the clock and the round's closing. A charge
leaves the year only a year after its ``latest``, by the reckoning of the next charge's ``at``; so
any 365 days of real time that end with a charge hold no more than the ledger counted for it, which
is at most the cap. Turning the clock, or lying about rounds, renews nothing.

Quarantine. A restored or copied ledger misses charges. QUARANTINE, dated T no earlier than any
of them, charges each stream all that is left of its year, and holds: every charge without the
cloud's receipt, or whose ``at`` is over a year before T, counts until T + 365 days like the
quarantine itself. Claim: real spending, missed charges included, stays within the cap C in every
365 days.
  Let s be the moment of a later charge. If the year before s no longer reaches T, it holds nothing
  missed, and the ledger counts all the rest. Otherwise the counted year was full at T, so all
  charges since T together are at most R, the receipted charges that left since. Let m be the last
  charge, missed or not, before T; by induction the year before m holds at most C, of everybody's.
  R is part of that, being real to everybody and dated less than a year before T; and as R left, it
  is outside the year before s. So the year before s holds at most (C - R) + R = C.
The induction needs every missed charge to be known of by T: those the cloud has are shown by its
receipts before anything is sent, reports charged before a quarantine are never sent after it
(`Ledger.may_send`), and a restored ledger is shown by its anchor even if the cloud keeps silent.
Copies that keep no anchor under a cloud that hides their reports are beyond any phone.

Lifetime: a quarantine counts towards its cap, up to what is left. It bounds a missed tail of one
year; a longer one is counted, not proven.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from privacy.accounting import gdp_epsilon, mu_of
from privacy.anchor import Suspicion
from privacy.budget import YEAR, Budget, Stream
from privacy.chain import (
    GENESIS,
    Commit,
    Entry,
    GaussianMechanism,
    Open,
    Quarantine,
    ReceiptEntry,
    Reserve,
    decode_entry,
    entry_hash,
)
from privacy.errors import LedgerCorrupt

__all__ = ["LedgerState", "Reservation", "Spending"]


@dataclass(frozen=True, slots=True)
class Reservation:
    """A durable charge, made between ``at`` and ``latest`` (seconds UTC)."""

    seq: int
    task: str
    round: int
    rho_units: int
    at: float
    latest: float


@dataclass(frozen=True, slots=True)
class Spending:
    """What has been spent, forfeited charges and quarantines included.

    ``rho``: rho units per task; ``quarantined``: rho units per stream. ``epsilon``: of everything
    together, at ``delta``.
    """

    rho: Mapping[str, int]
    delta: float
    epsilon: float
    charges: int
    forfeited: int
    quarantined: Mapping[str, int]

    @property
    def rho_units(self) -> int:
        """Rho units over all tasks and quarantines."""
        return sum(self.rho.values()) + sum(self.quarantined.values())


@dataclass(slots=True)
class LedgerState:
    """The sums so far. Grows by `replay`, and by `fold` of what was just written."""

    head: str = GENESIS
    length: int = 0
    opened: tuple[str, float, str, str] | None = None
    """Budget, delta, device, key of the newest OPEN."""
    charges: dict[int, Reservation] = field(default_factory=dict)
    committed: dict[int, str] = field(default_factory=dict)
    receipted: set[int] = field(default_factory=set)
    """Charges whose very report the cloud signed for."""
    receipts: set[tuple[str, int, str]] = field(default_factory=set)
    receipt_blobs: set[bytes] = field(default_factory=set)
    """SHA-256 of each receipt's bytes: the same ones, offered again, need not be verified again."""
    quarantines: dict[int, Quarantine] = field(default_factory=dict)
    last_at: float = -math.inf
    last_round: dict[str, int] = field(default_factory=dict)
    helper: str = ""
    """Fingerprint of the first helper a charge named."""
    _seqs: dict[tuple[str, int], int] = field(default_factory=dict)
    _counts_from: dict[int, float] = field(default_factory=dict)
    """Charge or quarantine → the date a year after which it stops counting."""

    @property
    def quarantined_at(self) -> float | None:
        """Date of the newest quarantine."""
        return max((entry.at for entry in self.quarantines.values()), default=None)

    def charge(self, task: str, round: int) -> Reservation | None:  # noqa: A002
        """The charge of a round."""
        seq = self._seqs.get((task, round))
        return None if seq is None else self.charges[seq]

    def evidence(self, task: str, round: int, sha256: str) -> Suspicion:  # noqa: A002
        """What it says against this ledger that the cloud has this report."""
        charge = self.charge(task, round)
        if charge is None and round > self.last_round.get(task, 0):
            return "rolled back"
        if charge is None or self.committed.get(charge.seq) != sha256:
            return "cloned"
        return ""

    def quarantined_since(self, seq: int) -> bool:
        """Whether a quarantine came after entry ``seq``."""
        return any(quarantine > seq for quarantine in self.quarantines)

    def year(self, stream: Stream, at: float) -> int:
        """Rho units that count against ``stream``'s year at ``at``."""
        charged, missed = self.by_task(at - YEAR), self.by_stream(at - YEAR)
        return sum(charged.get(task, 0) for task in stream.tasks) + missed.get(stream.name, 0)

    def lifetime(self) -> int:
        """Rho units of everything, quarantines included."""
        return sum(self.by_task(-math.inf).values()) + sum(self.by_stream(-math.inf).values())

    def left(self, budget: Budget, stream: Stream, at: float) -> int:
        """Rho units that ``stream`` may still spend at ``at``."""
        yearly = stream.yearly_cap - self.year(stream, at)
        return max(0, min(yearly, budget.lifetime_cap - self.lifetime()))

    def missed(self, budget: Budget, at: float) -> dict[str, int]:
        """What a quarantine at ``at`` charges: all that is left, lifetime shared in order."""
        lifetime = budget.lifetime_cap - self.lifetime()
        units: dict[str, int] = {}
        for stream in budget.streams:
            units[stream.name] = max(0, min(lifetime, self.left(budget, stream, at)))
            lifetime -= units[stream.name]
        return units

    def spending(self, since: float, delta: float) -> Spending:
        """Everything that counts after ``since``."""
        rho = dict(sorted(self.by_task(since).items()))
        missed = dict(sorted(self.by_stream(since).items()))
        counted = [seq for seq in self.charges if self._counts_from[seq] > since]
        forfeited = sum(seq not in self.committed for seq in counted)
        epsilon = gdp_epsilon(mu_of(sum(rho.values()) + sum(missed.values())), delta)
        return Spending(rho, delta, epsilon, len(counted), forfeited, missed)

    def by_task(self, since: float) -> Mapping[str, int]:
        """Charges that count after ``since``, by task."""
        sums: defaultdict[str, int] = defaultdict(int)
        for seq, charge in self.charges.items():
            if self._counts_from[seq] > since:
                sums[charge.task] += charge.rho_units
        return sums

    def by_stream(self, since: float) -> Mapping[str, int]:
        """Quarantines that count after ``since``, by stream."""
        sums: defaultdict[str, int] = defaultdict(int)
        for seq, entry in self.quarantines.items():
            if self._counts_from[seq] > since:
                for stream, units in entry.units.items():
                    sums[stream] += units
        return sums

    def replay(self, payload: bytes) -> None:
        """Fold one entry in, verifying what it claims (LedgerCorrupt).

        Signatures are the auditor's business: the log below is sealed.
        """
        self.fold(decode_entry(payload), payload)

    def fold(self, entry: Entry, payload: bytes) -> None:
        """`replay` of an entry whose canonical bytes are `payload`."""
        if entry.seq != self.length or entry.prev != self.head:
            raise LedgerCorrupt(f"entry {self.length} does not continue the hash chain")
        if self.opened is None and not isinstance(entry, Open):
            raise LedgerCorrupt(f"entry {entry.seq} comes before any budget was opened")
        match entry:
            case Open():
                self.opened = (entry.budget, entry.delta, entry.device, entry.key)
            case Reserve():
                self._reserve(entry)
            case Commit():
                self._commit(entry)
            case ReceiptEntry():
                self._receipt(entry)
            case Quarantine():
                self._quarantine(entry)
        self.head = entry_hash(payload)
        self.length += 1

    def _reserve(self, entry: Reserve) -> None:
        if entry.round <= self.last_round.get(entry.task, 0):
            raise LedgerCorrupt(f"entry {entry.seq} charges a round twice")
        self._move_to(entry.seq, entry.at)
        latest = max(entry.at, entry.latest)
        self.charges[entry.seq] = Reservation(
            entry.seq, entry.task, entry.round, entry.rho, entry.at, latest
        )
        self.last_round[entry.task] = entry.round
        self._seqs[entry.task, entry.round] = entry.seq
        self._counts_from[entry.seq] = latest
        if not self.helper and isinstance(entry.mechanism, GaussianMechanism):
            self.helper = entry.mechanism.helper

    def _commit(self, entry: Commit) -> None:
        if entry.reserve not in self.charges:
            raise LedgerCorrupt(f"entry {entry.seq} commits what was never reserved")
        if entry.reserve in self.committed:
            raise LedgerCorrupt(f"entry {entry.seq} commits a charge twice")
        self.committed[entry.reserve] = entry.sha256

    def _receipt(self, entry: ReceiptEntry) -> None:
        self.receipts.add((entry.task, entry.round, entry.sha256))
        self.receipt_blobs.add(hashlib.sha256(bytes.fromhex(entry.blob)).digest())
        charge = self.charge(entry.task, entry.round)
        if charge is not None and self.committed.get(charge.seq) == entry.sha256:
            self.receipted.add(charge.seq)
        self.last_round[entry.task] = max(entry.round, self.last_round.get(entry.task, 0))

    def _quarantine(self, entry: Quarantine) -> None:
        self._move_to(entry.seq, entry.at)
        for seq, date in self._counts_from.items():
            if date > entry.at - YEAR and not self._is_sure(seq, entry.at - YEAR):
                self._counts_from[seq] = max(date, entry.at)
        self.quarantines[entry.seq] = entry
        self._counts_from[entry.seq] = entry.at

    def _is_sure(self, seq: int, since: float) -> bool:
        """Whether the cloud has this charge's report, and it was surely made after ``since``."""
        return seq in self.receipted and self.charges[seq].at > since

    def _move_to(self, seq: int, at: float) -> None:
        if at < self.last_at:
            raise LedgerCorrupt(f"entry {seq} goes back in time")
        self.last_at = at
