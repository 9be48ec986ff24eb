"""Every kind of edit to every field of every kind of entry turns the replay red."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path as FilePath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy import PRODUCTION, BudgetExceeded, Ledger, ReceiptInvalid, RoundAlreadyCharged
from privacy.audit import replay
from privacy.audit.replay import audit_ledger
from privacy.chain import (
    Commit,
    Entry,
    Open,
    commit_statement,
    decode_entry,
    encode_entry,
    entry_hash,
)
from tests.privacy.audit_parts import (
    CLOUD_KEY,
    DEVICE,
    DEVICE_KEY,
    OTHER_KEY,
    Path,
    edited,
    encoded,
    find,
    leaves,
    other_value,
    receipt_for,
    rechained,
    reserve_local,
    rich_ledger,
    without,
)
from tests.privacy.parts import DAY, START, Key, MemoryAnchor, MemoryLog

RICH = rich_ledger()
UNSIGNED = rich_ledger(signed=False)
FIELDS = [(index, path) for index, payload in enumerate(RICH) for path in leaves(payload)]
LINKS = (("seq",), ("prev",))


def named(value: object) -> str:
    return ".".join(value) if isinstance(value, tuple) else str(value)


def sound(payloads: list[bytes], cloud_key: bytes = CLOUD_KEY.public) -> bool:
    return audit_ledger(payloads, cloud_key=cloud_key).sound


def test_the_ledger_of_these_tests_is_sound_and_holds_every_kind() -> None:
    for payloads in (RICH, UNSIGNED):
        audit = audit_ledger(payloads, cloud_key=CLOUD_KEY.public)
        assert audit.problems == ()
    kinds = {decode_entry(payload).kind for payload in RICH}
    assert kinds == {"open", "reserve", "commit", "receipt", "quarantine"}
    assert rechained(RICH) == RICH  # the forger's tool itself changes nothing
    assert isinstance(decode_entry(RICH[-1]), Commit)  # so its signature covers all before it


@pytest.mark.parametrize(("index", "path"), FIELDS, ids=named)
def test_a_changed_field_is_found(index: int, path: Path) -> None:
    forged = list(RICH)
    forged[index] = edited(forged[index], path, other_value)
    assert not sound(forged, b"")  # the chain, or the signature of the last COMMIT


@pytest.mark.parametrize(
    ("index", "path"), [(i, path) for i, path in FIELDS if path not in LINKS], ids=named
)
def test_a_changed_field_is_found_though_the_chain_was_mended(index: int, path: Path) -> None:
    forged = list(RICH)
    forged[index] = edited(forged[index], path, other_value)
    forged = rechained(forged)
    assert not sound(forged, b"")


@pytest.mark.parametrize(("index", "path"), FIELDS, ids=named)
def test_a_missing_field_is_found(index: int, path: Path) -> None:
    forged = list(RICH)
    forged[index] = without(forged[index], path)
    assert not sound(forged, b"")


@pytest.mark.parametrize("mend", [False, True], ids=["as is", "chain mended"])
@pytest.mark.parametrize("index", range(len(RICH)))
def test_a_dropped_repeated_or_moved_entry_is_found(index: int, mend: bool) -> None:
    for change in (dropped, repeated, moved):
        forged = change(list(RICH), index)
        if forged is not None:
            assert not sound(rechained(forged) if mend else forged, b"")


def dropped(payloads: list[bytes], index: int) -> list[bytes] | None:
    if index == len(payloads) - 1:
        return None  # a cut tail: see below
    del payloads[index]
    return payloads


def repeated(payloads: list[bytes], index: int) -> list[bytes] | None:
    payloads.insert(index, payloads[index])
    return payloads


def moved(payloads: list[bytes], index: int) -> list[bytes] | None:
    payloads.insert((index + 1) % len(payloads), payloads.pop(index))
    return payloads


Forge = Callable[[list[bytes]], Any]


def set_to(kind: str, nth: int, path: Path, change: Callable[[Any], Any]) -> Forge:
    def forge(payloads: list[bytes]) -> None:
        at = find(payloads, kind, nth)
        payloads[at] = edited(payloads[at], path, change)

    return forge


def drop(kind: str, nth: int = 0) -> Forge:
    return lambda payloads: payloads.pop(find(payloads, kind, nth))


def repeat(kind: str, nth: int = 0) -> Forge:
    return lambda payloads: payloads.append(payloads[find(payloads, kind, nth)])


# What no signature protects must be caught by the rules of the books themselves.
RULES: dict[str, tuple[Forge, str]] = {
    "a smaller charge": (set_to("reserve", 0, ("rho",), lambda v: v - 1), "less than its noise"),
    "a larger charge": (set_to("reserve", 0, ("rho",), lambda v: v + 1), "more than its noise"),
    "less noise": (
        set_to("reserve", 0, ("mechanism", "sigma"), lambda v: v * 0.95),
        "charged less",
    ),
    "a larger clip": (set_to("reserve", 0, ("mechanism", "clip"), lambda v: v * 2), "charged less"),
    "a smaller batch": (set_to("reserve", 0, ("mechanism", "n_min"), lambda v: v - 1), "as few as"),
    "a coarse lattice": (set_to("reserve", 0, ("mechanism", "scale"), lambda v: 1), "coarse"),
    "another vector": (set_to("reserve", 0, ("mechanism", "dimension"), lambda v: 33), "32 values"),
    "no such task": (set_to("reserve", 0, ("task",), lambda v: "location"), "no such task"),
    "an earlier date": (set_to("reserve", 1, ("at",), lambda v: v - 30 * DAY), "back in time"),
    "dates crossed": (set_to("reserve", 1, ("latest",), lambda v: v - 30 * DAY), "latest date"),
    "a round again": (set_to("reserve", 1, ("round",), lambda v: 1), "charged twice"),
    "an older round": (set_to("reserve", 5, ("round",), lambda v: 8), "comes after round 9"),
    "local epsilon up": (set_to("reserve", 3, ("mechanism", "epsilon"), lambda v: 1.0), "allows"),
    "huge local epsilon": (
        set_to("reserve", 3, ("mechanism", "epsilon"), lambda v: 99.0),
        "allows",
    ),
    "other bins": (set_to("reserve", 3, ("mechanism", "bins"), lambda v: 40), "number of bins"),
    "the whole set": (set_to("reserve", 3, ("mechanism", "size"), lambda v: 4), "a size"),
    "local as shared": (set_to("reserve", 3, ("task",), lambda v: "usage"), "may report locally"),
    "shared as local": (set_to("reserve", 0, ("task",), lambda v: "local_usage"), "shared noise"),
    "absurd numbers": (set_to("reserve", 0, ("mechanism", "n_min"), lambda v: 10**400), "larger"),
    "another budget": (set_to("open", 0, ("budget",), lambda v: "generous"), "none of ours"),
    "a softer delta": (set_to("open", 0, ("delta",), lambda v: 0.1), "delta 0.1"),
    "a commit of nothing": (set_to("commit", 0, ("reserve",), lambda v: 900), "no RESERVE"),
    "another report": (set_to("commit", 0, ("sha256",), lambda v: "0" * 64), "never paid for"),
    "no charge": (drop("reserve", 0), "no RESERVE"),
    "no commit": (drop("commit", 0), "never paid for"),
    "no opening": (drop("open"), "before any budget"),
    "no quarantine": (drop("quarantine"), "no quarantine covers it"),
    "half a quarantine": (
        set_to("quarantine", 0, ("units", "counts"), lambda v: v // 2),
        "leaves part of the year's counts",
    ),
    "too much quarantine": (
        set_to("quarantine", 0, ("units", "models"), lambda v: v + 1),
        "over its yearly cap",
    ),
    "an early quarantine": (set_to("quarantine", 0, ("at",), lambda v: START), "back in time"),
    "a quarantine of nothing": (
        set_to("quarantine", 0, ("units",), lambda v: v | {"other": 1}),
        "does not have",
    ),
    "a receipt of other bytes": (
        set_to("receipt", 0, ("sha256",), lambda v: "0" * 64),
        "something else than its entry",
    ),
    "a receipt of another day": (set_to("receipt", 0, ("received",), lambda v: 9.0), "something"),
    "a receipt of another round": (set_to("receipt", 0, ("round",), lambda v: 7), "something"),
    "a receipt of another task": (set_to("receipt", 0, ("task",), lambda v: "x"), "something"),
    "no receipt at all": (set_to("receipt", 0, ("blob",), lambda v: "00" * 80), "no receipt"),
    "a receipt twice": (repeat("receipt"), "written down twice"),
    "a commit twice": (repeat("commit"), "committed twice"),
    "a signature from nowhere": (
        set_to("commit", 0, ("signature",), lambda v: "0" * 128),
        "not signed by the device key",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_the_rules_of_the_books_hold_without_any_signature(name: str) -> None:
    forge, words = RULES[name]
    forged = list(UNSIGNED)
    forge(forged)
    audit = audit_ledger(rechained(forged), cloud_key=CLOUD_KEY.public)
    assert any(words in problem.what for problem in audit.problems), audit.problems
    assert audit.verdict.startswith("VIOLATION")


def resigned(payloads: list[bytes], key: Key) -> list[bytes]:
    """The whole ledger as another phone would have written it."""
    head, out = "0" * 64, []
    for payload in payloads:
        entry: Entry = decode_entry(payload).model_copy(update={"prev": head})
        if isinstance(entry, Commit):
            signature = key.sign(commit_statement(entry)).hex()
            entry = entry.model_copy(update={"signature": signature})
        out.append(encode_entry(entry))
        head = entry_hash(out[-1])
    return out


def test_a_commit_signed_by_another_key_is_found() -> None:
    audit = audit_ledger(resigned(RICH, OTHER_KEY), cloud_key=CLOUD_KEY.public)
    assert {problem.what for problem in audit.problems} == {
        "a COMMIT is not signed by the device key of this ledger"
    }
    assert resigned(RICH, DEVICE_KEY) == RICH


def test_an_unsigned_commit_in_a_signed_ledger_is_found() -> None:
    forged = list(RICH)
    at = find(forged, "commit", -1)
    forged[at] = edited(forged[at], ("signature",), lambda v: "")
    audit = audit_ledger(forged, cloud_key=CLOUD_KEY.public)
    assert [problem.what for problem in audit.problems] == [
        "a COMMIT is not signed, though this ledger names a device key"
    ]


def test_a_whole_ledger_signed_by_another_key_is_found_by_the_device_id() -> None:
    device = sha256(DEVICE_KEY.public).hexdigest()[:32]

    def opened(key: Key) -> list[bytes]:
        entry = Open(
            seq=0, prev="0" * 64, budget="production", delta=1e-6, device=device,
            key=key.public.hex(),
        )  # fmt: skip
        return [encode_entry(entry)]

    assert sound(opened(DEVICE_KEY))
    assert not sound(opened(OTHER_KEY))


def test_a_forged_receipt_is_found_under_the_pinned_key_only() -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION, device_id=DEVICE)
    ledger.commit(reserve_local(ledger, 1, START), b"h" * 32)
    forged = receipt_for("local_usage", 1, b"h" * 32, START + 9.0, signer=OTHER_KEY)
    ledger.acknowledge(forged, OTHER_KEY.public, START + 9.0)
    unpinned = audit_ledger(log.payloads)
    assert unpinned.sound
    assert any("not checked" in note for note in unpinned.notes)
    assert [receipt.checked for receipt in unpinned.receipts] == [False]
    pinned = audit_ledger(log.payloads, cloud_key=CLOUD_KEY.public)
    assert any("not signed by the cloud's key" in problem.what for problem in pinned.problems)


def test_a_receipt_for_another_device_is_found() -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION, device_id="somebody-else")
    ledger.commit(reserve_local(ledger, 1, START), b"h" * 32)
    blob = receipt_for("local_usage", 1, b"h" * 32, START + 9.0, device="somebody-else")
    ledger.acknowledge(blob, CLOUD_KEY.public, START + 9.0)
    assert sound(log.payloads)
    forged = list(log.payloads)
    forged[0] = edited(forged[0], ("device",), lambda v: DEVICE)
    audit = audit_ledger(rechained(forged), cloud_key=CLOUD_KEY.public)
    assert any("for another device" in problem.what for problem in audit.problems)


@pytest.mark.parametrize("kept", [3, 2, 1], ids=["commit kept", "charge kept", "nothing kept"])
def test_a_cut_tail_is_found_by_the_receipt_that_outlives_it(kept: int) -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION, device_id=DEVICE)
    ledger.commit(reserve_local(ledger, 1, START), b"h" * 32)
    blob = receipt_for("local_usage", 1, b"h" * 32, START + 9.0)
    ledger.acknowledge(blob, CLOUD_KEY.public, START + 9.0)
    cut = rechained([*log.payloads[:kept], log.payloads[-1]])
    assert sound(cut) is (kept == 3)


def test_one_edit_of_the_chain_is_one_problem_of_the_chain() -> None:
    forged = list(RICH)
    forged[4] = edited(forged[4], ("round",), other_value)
    broken = [p for p in audit_ledger(forged).problems if "chain" in p.what]
    assert [problem.entry for problem in broken] == [5]


def constant(value: object) -> Callable[[Any], Any]:
    return lambda _: value


def test_a_hostile_ledger_is_judged_not_obeyed() -> None:
    for value in (1e308, 5e-324):
        for path in (("mechanism", "clip"), ("mechanism", "sigma")):
            forged = list(UNSIGNED)
            at = find(forged, "reserve")
            forged[at] = edited(forged[at], path, constant(value))
            audit = audit_ledger(rechained(forged))
            assert not audit.sound
            assert audit.lifetime < float("inf")
    heavy = [encoded({"kind": "reserve", "rho": 10**4000}), b"[" * 10_000, b"\xff" * 99, b""]
    assert len(audit_ledger(heavy).problems) == len(heavy)


def test_the_replay_does_not_lean_on_the_ledger() -> None:
    room = FilePath(replay.__file__).parent
    for path in sorted(room.glob("*.py")):
        source = path.read_text("utf-8")
        for module in ("privacy.ledger", "privacy.gate", "privacy.ledger_state"):
            assert f"from {module} import" not in source, path.name
            assert f"import {module}" not in source, path.name


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["local", "crash", "receipt", "foreign", "restore", "unmark"]),
        st.floats(-40.0, 120.0),
    ),
    max_size=16,
)


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_an_honest_ledger_is_never_accused(steps: list[tuple[str, float]]) -> None:
    """Whatever clock, crash, restored backup and foreign receipt a phone goes through."""
    log, anchor, backup = MemoryLog(), MemoryAnchor(), list[bytes]()
    clock, number, sent = START, 0, list[tuple[int, bytes, float]]()
    for step, days in steps:
        clock += days * DAY
        ledger = Ledger(log, PRODUCTION, device_id=DEVICE, signer=DEVICE_KEY, anchor=anchor)
        number += 1
        try:
            if step in ("local", "crash"):
                reservation = reserve_local(ledger, number, clock)
                if step == "local":
                    report = bytes([number]) * 32
                    ledger.commit(reservation, report)
                    sent.append((number, report, clock))
            elif step == "receipt" and sent:
                round_, report, at = sent[-1]
                blob = receipt_for("local_usage", round_, report, max(0.0, at + 60.0))
                ledger.acknowledge(blob, CLOUD_KEY.public, clock)
            elif step == "foreign":
                blob = receipt_for("local_usage", number, b"f" * 32, max(0.0, clock))
                ledger.acknowledge(blob, CLOUD_KEY.public, clock)
            elif step == "restore":
                log.payloads, backup = list(backup) or log.payloads, list(log.payloads)
            elif step == "unmark":
                anchor.mark = None
        except (BudgetExceeded, RoundAlreadyCharged, ReceiptInvalid):
            continue
    ledger = Ledger(log, PRODUCTION, device_id=DEVICE, signer=DEVICE_KEY, anchor=anchor)
    with contextlib.suppress(BudgetExceeded):
        reserve_local(ledger, 1_000, clock)  # settles what waits for a quarantine
    audit = audit_ledger(log.payloads, cloud_key=CLOUD_KEY.public)
    assert audit.problems == ()
    for spending in audit.streams:
        assert spending.units.year <= spending.yearly_cap
