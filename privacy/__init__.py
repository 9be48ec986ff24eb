"""Privacy: what may leave a phone, and what it costs.

One vector's way out (law 1, one door):

    streams.py ─ usage answers → one-hot vector        budget.py ─ floors, caps, PRODUCTION, DEMO
                        │                                   │
                     gate.py ── check floors → ledger.reserve (durable) → mechanisms/clip → noise
                        │        → secagg/mask → store → ledger.commit → PrivateReport
                        ▼
    secagg/leader.py  sums masked vectors     secagg/helper.py  sums masks, adds noise, once
                        └──────── unmask ────────┘
                                   │
                             estimation.py ── shares with confidence intervals, mean updates

    ledger.py, chain.py  hash-chained charges      accounting.py  zCDP in integers, epsilon
    mechanisms/          exact integer samplers    audit/, cli.py `reverie-audit`
    lattice.py           what fits 32-bit sums
    errors.py            every refusal             bits.py        randomness is given

Imports nothing of ours, does no network I/O, and all noise is integers.
"""

from privacy.bits import BitSource
from privacy.budget import BUDGETS, DEMO, PRODUCTION, Budget
from privacy.errors import (
    BatchRefused,
    BudgetExceeded,
    FloorViolated,
    LedgerCorrupt,
    LedgerUnavailable,
    PrivacyError,
    RoundAlreadyCharged,
    RoundRefused,
)
from privacy.gate import Gate, GateRound, PrivateReport
from privacy.ledger import AppendLog, Ledger, Spending

__all__ = [
    "BUDGETS",
    "DEMO",
    "PRODUCTION",
    "AppendLog",
    "BatchRefused",
    "BitSource",
    "Budget",
    "BudgetExceeded",
    "FloorViolated",
    "Gate",
    "GateRound",
    "Ledger",
    "LedgerCorrupt",
    "LedgerUnavailable",
    "PrivacyError",
    "PrivateReport",
    "RoundAlreadyCharged",
    "RoundRefused",
    "Spending",
]
