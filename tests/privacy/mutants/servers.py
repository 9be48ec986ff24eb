"""Faults of the helper, and of what leader and helper share."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from privacy.lattice import total_variance
from privacy.secagg import helper
from privacy.secagg.batch import Batch
from privacy.secagg.certificate import BatchCertificate
from privacy.secagg.helper import Helper, MemoryHelperStore
from privacy.secagg.mask import SealContext
from privacy.secagg.sharing import RingSharing, Share
from tests.privacy.mutants.surgery import Mutant, edit, rebind

__all__ = ["SERVER_MUTANTS"]


class _Silent:
    def __init__(self, variance: int) -> None:
        self.variance = variance

    def sample(self, n: int, bits: object) -> np.ndarray:
        return np.zeros(n, dtype=np.int64)


def helper_noise_missing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(helper, "gaussian_table", _Silent)


def helper_noise_short(patch: pytest.MonkeyPatch) -> None:
    rebind(patch, total_variance, lambda sigma, scale: int(total_variance(sigma, scale) * 0.95**2))


def n_min_ignored(patch: pytest.MonkeyPatch) -> None:
    edit(patch, Helper, "sum_masks", "len(batch.shares) < batch.n_min", "not batch.shares")


def overlapping_batch_accepted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryHelperStore, "seen", lambda self, report_ids: ())


def replayed_id_accepted(patch: pytest.MonkeyPatch) -> None:
    edit(patch, helper, "_repeat", "reply.batch_digest != batch.digest()", "False")


def repeat_is_noised_again(patch: pytest.MonkeyPatch) -> None:
    """A store that forgets."""
    overlapping_batch_accepted(patch)
    patch.setattr(MemoryHelperStore, "reply_for", lambda self, batch_id: None)
    patch.setattr(MemoryHelperStore, "record", lambda self, batch_id, report_ids, reply: None)


def answer_before_the_store(patch: pytest.MonkeyPatch) -> None:
    """A store that fails is taken for one that will catch up."""
    record = "self._store.record(batch.batch_id, batch.report_ids, reply.encode())"
    edit(
        patch,
        Helper,
        "sum_masks",
        f"    {record}",
        f"    try:\n        {record}\n    except OSError:\n        pass",
    )


def helper_floors_ignored(patch: pytest.MonkeyPatch) -> None:
    edit(patch, Helper, "_check_floors", "self._budget.check(batch)", "pass")


def proof_not_checked(patch: pytest.MonkeyPatch) -> None:
    edit(
        patch,
        Helper,
        "_verified",
        "not sharing.accepts(sealed.verifier, mine, query)",
        "False",
    )


def seal_binds_no_terms(patch: pytest.MonkeyPatch) -> None:
    edit(patch, SealContext, "aad", "list(reals)", "list(reals[:5])")


def seal_binds_no_share(patch: pytest.MonkeyPatch) -> None:
    edit(patch, SealContext, "aad", "list(reals)", "list(reals[:3] + reals[4:])")


def query_key_is_public(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Helper, "query_key", lambda self, task, number: self.public_key)


def query_key_of_the_day(patch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count()
    patch.setattr(Helper, "query_key", lambda self, task, number: next(numbers).to_bytes(32, "big"))


def certificate_by_another_key(patch: pytest.MonkeyPatch) -> None:
    sign = BatchCertificate.sign
    patch.setattr(BatchCertificate, "sign", lambda self, secret: sign(self, bytes(32)))


def certificate_unverified(patch: pytest.MonkeyPatch) -> None:
    edit(
        patch,
        BatchCertificate,
        "open",
        "except (InvalidSignature, ValueError):",
        "except InvalidSignature:\n        pass\n    except ValueError:",
    )


def report_twice_in_a_batch(patch: pytest.MonkeyPatch) -> None:
    edit(
        patch,
        Batch,
        "__post_init__",
        "len({share.report_id for share in self.shares}) == len(self.shares)",
        "True",
    )


def every_report_counted_twice(patch: pytest.MonkeyPatch) -> None:
    total = RingSharing.total

    def doubled(self: RingSharing, shares: Iterable[Share]) -> Share:
        once = total(self, shares)
        return once + once

    patch.setattr(RingSharing, "total", doubled)


SERVER_MUTANTS = (
    Mutant("helper noise missing", helper_noise_missing, ("helper",), "do not follow", 0.1),
    Mutant("helper sigma x 0.95", helper_noise_short, ("helper",), "of what is stated", 0.25),
    Mutant("n_min ignored", n_min_ignored, ("helper",), "answers a batch under n_min"),
    Mutant("overlapping batch accepted", overlapping_batch_accepted, ("helper",), "summed before"),
    Mutant("replayed id accepted", replayed_id_accepted, ("helper",), "under a used id"),
    Mutant("re-noised repeat", repeat_is_noised_again, ("helper",), "with the same bytes"),
    Mutant("answer before the store", answer_before_the_store, ("helper",), "its store failed"),
    Mutant("helper's floors ignored", helper_floors_ignored, ("helper",), "helper's own floors"),
    Mutant("proof not checked", proof_not_checked, ("helper",), "whose proof does not hold"),
    Mutant("seal without terms", seal_binds_no_terms, ("helper",), "noise than sealed"),
    Mutant("seal without share", seal_binds_no_share, ("helper",), "moved to other shares"),
    Mutant("query key public", query_key_is_public, ("helper",), "before its round is closed"),
    Mutant("query key changes", query_key_of_the_day, ("helper",), "two query keys"),
    Mutant("certificate unsigned", certificate_by_another_key, ("helper",), "under its own key"),
    Mutant("certificate unverified", certificate_unverified, ("helper",), "forged certificate"),
    Mutant("report twice in a batch", report_twice_in_a_batch, ("helper",), "a report twice"),
    Mutant("double counting", every_report_counted_twice, ("canaries",), "not by 1", 0.2),
)
