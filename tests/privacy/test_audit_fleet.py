"""Each lie a fleet can tell about itself is a finding of its own kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from privacy import PRODUCTION
from privacy.audit.books import LedgerAudit
from privacy.audit.evidence import FleetEvidence, ReleaseEvidence, RoundEvidence
from privacy.audit.fleet import FleetAudit, audit_fleet
from privacy.audit.replay import audit_ledger
from privacy.secagg.certificate import BatchCertificate, reports_digest
from tests.privacy.audit_parts import (
    CLOUD_KEY,
    DEVICE,
    OTHER_KEY,
    edited,
    ledger_on,
    other_value,
    receipt_for,
    rechained,
    release,
    reserve_local,
)
from tests.privacy.parts import DAY, START, MemoryLog

pytest.importorskip("dp_accounting")

HELPER_SECRET = bytes([5]) * 32
HELPER_KEY = Ed25519PrivateKey.from_private_bytes(HELPER_SECRET).public_key().public_bytes_raw()
IDS = tuple(bytes([n]) * 16 for n in range(120))
USAGE = PRODUCTION.terms("usage")


def certified(each: RoundEvidence, secret: bytes = HELPER_SECRET, **changes: Any) -> RoundEvidence:
    """The round with the helper's certificate of it, or of something else."""
    fields: dict[str, Any] = {
        "batch_id": b"b" * 16,
        "batch_digest": b"d" * 32,
        "reports_digest": reports_digest(each.report_ids),
        "half_digest": b"h" * 32,
        "count": each.reports,
        "task": each.task,
        "round": each.round,
        "dimension": each.dimension,
        "scale": each.scale,
        "clip": each.clip,
        "sigma": each.sigma,
        "n_min": each.n_min,
    }
    certificate = BatchCertificate(**(fields | changes))
    try:
        return replace(each, certificate=certificate.sign(secret))
    except OverflowError:  # no helper can sign absurd numbers
        return each


def usage_round(number: int = 1, **changes: Any) -> RoundEvidence:
    fields: dict[str, Any] = {
        "task": "usage",
        "round": number,
        "status": "closed",
        "dimension": 32,
        "scale": USAGE.scale,
        "clip": USAGE.clip,
        "sigma": USAGE.sigma,
        "n_min": USAGE.n_min,
        "epsilon": 0.0,
        "reports": len(IDS),
        "total_sigma": USAGE.sigma * math.sqrt(len(IDS) / USAGE.n_min + 1.0),
        "certificate": b"",
        "report_ids": tuple(bytes([number]) + each[1:] for each in IDS),
    }
    return certified(RoundEvidence(**(fields | changes)))


def local_round(**changes: Any) -> RoundEvidence:
    fields: dict[str, Any] = {
        "task": "local_usage",
        "round": 1,
        "status": "closed",
        "dimension": 4,
        "scale": 1,
        "clip": 1.0,
        "sigma": 0.0,
        "n_min": PRODUCTION.local.n_min,
        "epsilon": PRODUCTION.local.epsilon,
        "reports": 200,
        "total_sigma": 0.0,
        "certificate": b"",
    }
    return RoundEvidence(**(fields | changes))


RELEASE = ReleaseEvidence("router", 1, 6.0, 1e-5, 200, 3.5, 0.25)
"""It costs 4.644; opacus' bound, which a cloud may claim, is 4.98."""


@dataclass
class Phone:
    log: MemoryLog
    receipts: list[bytes]

    def audit(self) -> LedgerAudit:
        return audit_ledger(self.log.payloads, cloud_key=CLOUD_KEY.public)


def phone() -> Phone:
    """Two reports: one acknowledged to the phone, one only known to the cloud."""
    log = MemoryLog()
    ledger = ledger_on(log)
    receipts = []
    for number in (1, 2):
        at = START + 7 * DAY * number
        receipts.append(receipt_for(*release(ledger, "usage", number, at), at + 60.0))
        if number == 1:
            ledger.acknowledge(receipts[0], CLOUD_KEY.public, at + 90.0)
    return Phone(log, receipts)


def fleet(**changes: Any) -> FleetEvidence:
    fields: dict[str, Any] = {
        "cloud_key": CLOUD_KEY.public.hex(),
        "budget": "production",
        "helper_signing_key": HELPER_KEY.hex(),
        "rounds": (usage_round(1), usage_round(2), local_round()),
        "releases": (),  # each costs an accountant half a second
        "receipts": tuple(phone().receipts),
    }
    return FleetEvidence(**(fields | changes))


def judged(evidence: FleetEvidence, *ledgers: LedgerAudit, **options: Any) -> FleetAudit:
    return audit_fleet(evidence, ledgers, **({"helper_key": HELPER_KEY} | options))


def test_an_honest_fleet_is_found_so() -> None:
    audit = judged(fleet(releases=(RELEASE,)), phone().audit())
    assert audit.findings == ()
    assert audit.notes == ()
    assert audit.verdict == (
        "OK: nothing contradicts what this fleet claims (3 closed rounds, 1 releases, 2 receipts)."
    )
    assert [row.certificate for row in audit.rounds] == ["valid", "valid", "not needed"]
    assert audit.releases[0].recomputed == pytest.approx(4.644, abs=0.001)
    assert audit.ledgers == (DEVICE,)


def one(**changes: Any) -> FleetEvidence:
    return fleet(rounds=(usage_round(**changes),))


def bad_certificate(**changes: Any) -> FleetEvidence:
    return fleet(rounds=(certified(usage_round(), **changes),))


LIES: dict[str, tuple[FleetEvidence, str, str]] = {
    "unknown budget": (fleet(budget="generous"), "budget", "none of ours"),
    "a key that is none": (fleet(helper_signing_key="zz"), "helper-key", "32-byte key"),
    "another helper": (
        fleet(helper_signing_key=OTHER_KEY.public.hex()),
        "helper-key",
        "another helper key",
    ),
    "no certificate": (
        fleet(rounds=(replace(usage_round(), certificate=b""),)),
        "certificate",
        "without a certificate",
    ),
    "a certificate by another": (
        bad_certificate(secret=bytes(32)),
        "certificate",
        "not signed by this helper",
    ),
    "junk for a certificate": (
        fleet(rounds=(replace(usage_round(), certificate=b"junk"),)),
        "certificate",
        "wrong length",
    ),
    "certified sigma": (bad_certificate(sigma=USAGE.sigma * 2), "certificate", "another sigma"),
    "certified clip": (bad_certificate(clip=9.0), "certificate", "another clip"),
    "certified scale": (bad_certificate(scale=512), "certificate", "another scale"),
    "certified dimension": (bad_certificate(dimension=33), "certificate", "another dimension"),
    "certified n_min": (bad_certificate(n_min=101), "certificate", "another n_min"),
    "certified task": (bad_certificate(task="router"), "certificate", "another task"),
    "certified round": (bad_certificate(round=7), "certificate", "another round"),
    "certified count": (bad_certificate(count=119), "certificate", "another count"),
    "certified reports": (
        bad_certificate(reports_digest=b"x" * 32),
        "certificate",
        "other reports",
    ),
    "too few reports": (
        one(reports=50, report_ids=IDS[:50], total_sigma=USAGE.sigma * math.sqrt(1.5)),
        "too-few",
        "50 reports were summed, n_min is 100",
    ),
    "a small batch allowed": (one(n_min=20), "floor", "as few as 20"),
    "too little noise": (one(sigma=10.0), "floor", "x clip of noise"),
    "a lattice too coarse": (one(scale=1), "floor", "too coarse"),
    "nonsense parameters": (one(clip=math.nan), "floor", "positive number"),
    "absurd numbers": (one(n_min=10**400), "floor", "larger than any round's"),
    "less than nobody": (one(reports=-5), "too-few", "-5 reports"),
    "ids missing": (one(report_ids=IDS[:110]), "count", "110 report ids for 120"),
    "less noise than claimed": (one(total_sigma=USAGE.sigma), "noise", "claims noise"),
    "noise that is no number": (one(total_sigma=math.nan), "noise", "claims noise"),
    "a report in two batches": (
        fleet(rounds=(usage_round(1), usage_round(2, report_ids=usage_round(1).report_ids))),
        "overlap",
        "summed in usage round 1 as well",
    ),
    "a report twice in one": (
        one(report_ids=(IDS[0], *IDS[:119])),
        "overlap",
        "summed twice",
    ),
    "a round twice": (fleet(rounds=(usage_round(), usage_round())), "round", "more than once"),
    "a small local round": (fleet(rounds=(local_round(reports=9),)), "too-few", "9 reports"),
    "a soft local round": (fleet(rounds=(local_round(epsilon=1.0),)), "floor", "epsilon 1 a"),
    "a local round without": (fleet(rounds=(local_round(epsilon=0.0),)), "floor", "epsilon 0 a"),
    "a local round of one": (fleet(rounds=(local_round(n_min=1),)), "floor", "n_min 1"),
    "an understated release": (
        fleet(releases=(replace(RELEASE, epsilon=4.5),)),
        "release",
        "independent accounting gives",
    ),
    "a release of no noise": (
        fleet(releases=(replace(RELEASE, noise_multiplier=0.0),)),
        "release",
        "mean nothing",
    ),
    "a release of infinity": (
        fleet(releases=(replace(RELEASE, epsilon=math.inf),)),
        "release",
        "mean nothing",
    ),
    "a release of no delta": (
        fleet(releases=(replace(RELEASE, delta=0.0),)),
        "release",
        "mean nothing",
    ),
    "a release twice": (fleet(releases=(RELEASE, RELEASE)), "release", "published twice"),
    "a forged receipt": (
        fleet(receipts=(receipt_for("usage", 1, b"h" * 32, START, signer=OTHER_KEY), b"junk")),
        "receipt",
        "2 receipts are not signed",
    ),
    "no key for receipts": (fleet(cloud_key="12"), "cloud-key", "32-byte key"),
    "two reports of one": (
        fleet(receipts=tuple(receipt_for("usage", 1, h * 32, START) for h in (b"a", b"b"))),
        "clone",
        "two different reports",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_found(name: str) -> None:
    evidence, kind, words = LIES[name]
    audit = judged(evidence)
    assert not audit.sound
    assert any(kind == each.kind and words in each.what for each in audit.findings), audit.findings
    assert audit.verdict.startswith("VIOLATION")


def test_a_larger_claim_is_no_lie() -> None:
    assert judged(fleet(releases=(replace(RELEASE, epsilon=99.0),))).sound
    assert judged(fleet(releases=(replace(RELEASE, epsilon=4.6),))).sound  # within 2 %
    assert judged(fleet(releases=(replace(RELEASE, steps=0, epsilon=0.0),))).sound


def test_rounds_that_were_never_summed_need_no_certificate() -> None:
    waiting = replace(usage_round(), status="open", certificate=b"", reports=3, report_ids=())
    expired = replace(waiting, round=2, status="expired")
    assert judged(fleet(rounds=(waiting, expired))).sound


def test_a_key_of_the_clouds_own_word_is_called_unpinned() -> None:
    audit = judged(fleet(), helper_key=b"")
    assert audit.sound
    assert any("--helper-key" in note for note in audit.notes)
    assert not judged(fleet(helper_signing_key=""), helper_key=b"").sound  # nothing to check under


def test_a_demo_fleet_is_called_not_private() -> None:
    audit = judged(fleet(budget="demo", rounds=()))
    assert "NOT PRIVATE" in audit.verdict
    assert any("protects nobody" in note for note in audit.notes)


def test_a_public_page_cannot_be_held_against_receipts() -> None:
    audit = judged(fleet(receipts=()), phone().audit(), receipts_shown=False)
    assert audit.sound
    assert any("public page" in note for note in audit.notes)


Change = Callable[[Phone], FleetEvidence]


def cut_the_ledger(subject: Phone) -> FleetEvidence:
    evidence = fleet(receipts=tuple(subject.receipts))
    del subject.log.payloads[4:]
    return evidence


def cut_the_commit(subject: Phone) -> FleetEvidence:
    evidence = fleet(receipts=tuple(subject.receipts))
    del subject.log.payloads[5:]
    return evidence


def send_another(subject: Phone) -> FleetEvidence:
    other = receipt_for("usage", 2, b"o" * 32, START)
    return fleet(receipts=(subject.receipts[0], other))


def forget_a_receipt(subject: Phone) -> FleetEvidence:
    return fleet(receipts=(subject.receipts[1],))


def tell_phones_apart(subject: Phone) -> FleetEvidence:
    noisier = usage_round(sigma=40.0, total_sigma=40.0 * math.sqrt(2.2))
    return fleet(rounds=(noisier,), receipts=tuple(subject.receipts))


def tamper(subject: Phone) -> FleetEvidence:
    subject.log.payloads[1] = edited(subject.log.payloads[1], ("rho",), other_value)
    subject.log.payloads = rechained(subject.log.payloads)
    return fleet(receipts=tuple(subject.receipts))


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (cut_the_ledger, "unpaid", "never charged"),
        (cut_the_commit, "unpaid", "never committed"),
        (send_another, "unpaid", "another report than the one committed"),
        (forget_a_receipt, "forgotten", "the cloud does not know"),
        (tell_phones_apart, "terms", "told another sigma"),
        (tamper, "ledger", "more than its noise costs"),
    ],
)
def test_ledgers_and_receipts_are_held_against_each_other(
    change: Change, kind: str, words: str
) -> None:
    subject = phone()
    assert judged(fleet(), subject.audit()).sound
    evidence = change(subject)
    findings = judged(evidence, subject.audit()).findings
    assert any(each.kind == kind and words in each.what for each in findings), findings


def test_a_local_report_is_held_against_its_round() -> None:
    log = MemoryLog()
    ledger = ledger_on(log)
    ledger.commit(reserve_local(ledger, 1, START), b"h" * 32)
    blob = receipt_for("local_usage", 1, b"h" * 32, START + 9.0)
    audit = audit_ledger(log.payloads)
    assert judged(fleet(receipts=(blob,)), audit).sound
    other = fleet(rounds=(local_round(epsilon=0.05),), receipts=(blob,))
    assert [each.kind for each in judged(other, audit).findings] == ["terms"]


def test_receipts_of_other_phones_are_not_this_ledgers_business() -> None:
    foreign = receipt_for("usage", 5, b"q" * 32, START, device="somebody-else")
    evidence = fleet(receipts=(*phone().receipts, foreign))
    assert judged(evidence, phone().audit()).sound
