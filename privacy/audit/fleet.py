"""Judges what a fleet shows of itself: batches, sums, releases, and receipts against ledgers.

Nothing the cloud claims is believed that can be recomputed: certificates are opened under the
helper's key, parameters held against the budget's floors, noise and guarantees recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privacy.audit.books import LedgerAudit
from privacy.audit.evidence import FleetEvidence
from privacy.audit.findings import Finding, Findings
from privacy.audit.matching import match_receipts
from privacy.audit.releases import ReleaseRow, check_releases
from privacy.audit.rounds import CLOSED, RoundRow, check_uniqueness, round_row
from privacy.budget import BUDGETS

__all__ = ["Finding", "FleetAudit", "ReleaseRow", "RoundRow", "audit_fleet"]


@dataclass(frozen=True, slots=True)
class FleetAudit:
    """The verdict on one fleet."""

    budget: str
    private: bool
    cloud_key: str
    helper_signing_key: str
    rounds: tuple[RoundRow, ...]
    releases: tuple[ReleaseRow, ...]
    ledgers: tuple[str, ...]
    """Devices whose ledgers were compared."""
    receipts: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def verdict(self) -> str:
        """One plain sentence."""
        if self.findings:
            count = len(self.findings)
            return f"VIOLATION: {count} finding{'s' if count > 1 else ''} in this fleet."
        closed = sum(row.status == CLOSED for row in self.rounds)
        kept = f"{closed} closed rounds, {len(self.releases)} releases, {self.receipts} receipts"
        if not self.private:
            return f"OK by its own rules, but NOT PRIVATE: the {self.budget} budget ({kept})."
        return f"OK: nothing contradicts what this fleet claims ({kept})."


def audit_fleet(
    evidence: FleetEvidence,
    ledgers: Sequence[LedgerAudit] = (),
    *,
    helper_key: bytes = b"",
    receipts_shown: bool = True,
) -> FleetAudit:
    """Check everything `evidence` shows, and its receipts against the given ledgers both ways.

    ``helper_key``: the helper's Ed25519 key, known from elsewhere; without it the key the cloud
    itself shows is used, and said to be unpinned. ``receipts_shown``: False for a public page,
    which names no device. LedgerUnavailable when releases must be recomputed without
    dp-accounting.
    """
    found = Findings()
    notes: list[str] = []
    budget = BUDGETS.get(evidence.budget)
    if budget is None:
        found.report("budget", "fleet", "the budget named here is none of ours")
    key = _helper_key(evidence, helper_key, found, notes)
    check_uniqueness(evidence.rounds, found)
    rounds = tuple(round_row(each, budget, key, found) for each in evidence.rounds)
    releases = check_releases(evidence.releases, found)
    match_receipts(evidence, ledgers, receipts_shown, found.report, notes)
    if budget is not None and not budget.private:
        notes.append(f"the {budget.name} budget protects nobody: it is for demonstrations")
    return FleetAudit(
        budget=evidence.budget,
        private=budget.private if budget else False,
        cloud_key=evidence.cloud_key,
        helper_signing_key=key.hex(),
        rounds=rounds,
        releases=releases,
        ledgers=tuple(audit.device or "(not enrolled)" for audit in ledgers),
        receipts=len(evidence.receipts),
        findings=tuple(found),
        notes=tuple(notes),
    )


def _helper_key(evidence: FleetEvidence, pinned: bytes, found: Findings, notes: list[str]) -> bytes:
    shown = _unhex(evidence.helper_signing_key)
    if shown is None:
        found.report("helper-key", "fleet", "the helper key shown is not a 32-byte key in hex")
        shown = b""
    if pinned:
        if shown and shown != pinned:
            found.report("helper-key", "fleet", "the cloud shows another helper key than the given")
        return pinned
    if shown:
        notes.append(
            f"helper key {shown.hex()[:16]}… is the cloud's own word: "
            "give --helper-key to check certificates under a key you know"
        )
    return shown


def _unhex(text: str) -> bytes | None:
    """32 bytes, or b"" for none; None when it is neither."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        return None
    return key if len(key) in (0, 32) else None
