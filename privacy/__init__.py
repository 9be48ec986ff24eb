"""Privacy: what may leave a phone, and what it costs.

One vector's way out (law 1, one door):

    streams.py ─ usage answers → one-hot vector        budget.py ─ floors, caps, PRODUCTION, DEMO
                        │                                   │   local_plan.py ─ without a helper
                     gate.py ── check floors → ledger.reserve (durable) → mechanisms/clip → noise
                        │        → secagg/sharing → store → ledger.commit → PrivateReport
                        ▼          (local round: one answer → mechanisms/local → store → commit)
    secagg/leader.py  sums its shares         secagg/helper.py  sums its own, adds noise, once
                        └──────── join ──────────┘
                                   │
                             estimation.py ── shares with confidence intervals, mean updates

    ledger.py      charges, receipts, quarantine       accounting.py  zCDP in integers, epsilon
    ledger_state.py  entries → spending, and why       allowance.py   what n phones may learn
    chain.py       entries and their hash chain        mechanisms/    exact integer samplers
    anchor.py      the mark outside the phone          lattice.py     what fits the sums
    receipts.py    the cloud's word                    audit/, cli/   `reverie-audit`
    errors.py      every refusal                       bits.py        randomness is given

Imports nothing of ours, does no network I/O, and all noise is integers.
"""

from privacy.anchor import Anchor, AppendLog, Mark
from privacy.bits import BitSource
from privacy.budget import BUDGETS, DEMO, PRODUCTION, Budget, LocalPlan
from privacy.errors import (
    BatchRefused,
    BudgetExceeded,
    FloorViolated,
    LedgerCorrupt,
    LedgerUnavailable,
    PrivacyError,
    ReceiptInvalid,
    RoundAlreadyCharged,
    RoundRefused,
)
from privacy.gate import Gate, GateRound, LocalRoundParameters, PrivateReport
from privacy.ledger import Ledger
from privacy.ledger_state import Reservation, Spending
from privacy.receipts import Receipt, Signer, open_receipt, sign_receipt

__all__ = [
    "BUDGETS",
    "DEMO",
    "PRODUCTION",
    "Anchor",
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
    "LocalPlan",
    "LocalRoundParameters",
    "Mark",
    "PrivacyError",
    "PrivateReport",
    "Receipt",
    "ReceiptInvalid",
    "Reservation",
    "RoundAlreadyCharged",
    "RoundRefused",
    "Signer",
    "Spending",
    "open_receipt",
    "sign_receipt",
]
