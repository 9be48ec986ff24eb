"""Everything this room refuses, as typed errors with one plain line.

No message carries user text, vectors, keys or seeds: errors end up in logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

__all__ = [
    "BatchRefused",
    "BudgetExceeded",
    "CertificateInvalid",
    "FloorViolated",
    "LedgerCorrupt",
    "LedgerUnavailable",
    "PrivacyError",
    "ReceiptInvalid",
    "RefusalReason",
    "RoundAlreadyCharged",
    "RoundRefused",
]

RefusalReason = Literal["too_few", "floor", "overlap", "replay", "seal", "invalid", "malformed"]


class PrivacyError(Exception):
    """Base of every refusal made by the privacy room."""


class RoundRefused(PrivacyError):
    """The round's parameters are malformed or cannot be honoured by this phone."""


class FloorViolated(RoundRefused):
    """The round asks for less noise or a smaller batch than this phone's own budget allows."""


class BudgetExceeded(PrivacyError):
    """The charge would pass a cap of the budget; nothing was charged."""


class RoundAlreadyCharged(PrivacyError):
    """The task has already been charged for this round or a later one; nothing was charged."""


class LedgerCorrupt(PrivacyError):
    """The ledger's hash chain or its bookkeeping does not hold: nothing may leave the phone."""


class LedgerUnavailable(PrivacyError):
    """The ledger cannot be opened or written now; the message says what to do."""


class CertificateInvalid(PrivacyError):
    """A batch certificate is malformed, or not signed by the helper it is said to come from."""


class ReceiptInvalid(PrivacyError):
    """A receipt is malformed, not signed by the cloud, or not of this device."""


class BatchRefused(PrivacyError):
    """The helper answers nothing for this batch.

    ``reason``: "too_few" (under n_min), "floor" (below what the helper's own budget allows),
    "overlap" (a report was summed before), "replay" (the batch id was used for other content),
    "seal" (a sealed seed does not open under the batch's parameters), "invalid" (a report's proof
    does not hold), "malformed". ``report_ids`` names the reports at fault, where known, so that
    the leader may drop them and commit a new batch: a refused batch leaves no trace.
    """

    def __init__(
        self, reason: RefusalReason, detail: str = "", report_ids: Sequence[bytes] = ()
    ) -> None:
        super().__init__(f"batch refused ({reason}){': ' if detail else ''}{detail}")
        self.reason: RefusalReason = reason
        self.detail = detail
        self.report_ids = tuple(report_ids)

    def __reduce__(self) -> tuple[type[BatchRefused], tuple[object, ...]]:
        """Whole across processes: an exception's default pickle keeps only the message."""
        return type(self), (self.reason, self.detail, self.report_ids)
