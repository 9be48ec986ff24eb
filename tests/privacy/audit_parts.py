"""Ledgers for the auditor's tests: one with every kind of entry, and ways to forge it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from typing import Any

from privacy import PRODUCTION, Budget, Ledger
from privacy.accounting import pure_units, rho_units
from privacy.budget import YEAR
from privacy.chain import GENESIS, GaussianMechanism, LocalMechanism, entry_hash
from privacy.ledger import Reservation
from privacy.receipts import Receipt, sign_receipt
from tests.privacy.parts import DAY, START, Key, MemoryLog

DEVICE_KEY = Key(7)
CLOUD_KEY = Key(9)
OTHER_KEY = Key(11)
DEVICE = "3c1f0a77b5d94c52"

Fields = dict[str, Any]
Path = tuple[str, ...]


def ledger_on(log: MemoryLog, budget: Budget = PRODUCTION, *, signed: bool = True) -> Ledger:
    return Ledger(log, budget, device_id=DEVICE, signer=DEVICE_KEY if signed else None)


def receipt_for(
    task: str,
    number: int,
    report: bytes,
    received: float,
    device: str = DEVICE,
    signer: Key = CLOUD_KEY,
) -> bytes:
    return sign_receipt(Receipt(device, task, number, report, received), signer)


def release(
    ledger: Ledger, task: str, number: int, at: float, dimension: int = 32
) -> tuple[str, int, bytes]:
    """Pay for a shared report as the gate does, without its noise; (task, round, its hash)."""
    terms = ledger.budget.terms(task)
    mechanism = GaussianMechanism(
        clip=terms.clip,
        sigma=terms.sigma,
        scale=terms.scale,
        dimension=dimension,
        n_min=terms.n_min,
        helper="ab" * 32,
    )
    cost = rho_units(terms.clip, terms.sigma)
    reservation = ledger.reserve(task, number, mechanism, cost, at, at + terms.cadence)
    report = sha256(f"{task}|{number}".encode()).digest()
    ledger.commit(reservation, report)
    return task, number, report


def reserve_local(ledger: Ledger, number: int, at: float) -> Reservation:
    """The charge of a local report, without the randomiser's own work."""
    epsilon = ledger.budget.local.epsilon
    mechanism = LocalMechanism(
        name="subset-selection", bins=4, size=2, epsilon=epsilon, histogram="language"
    )
    return ledger.reserve("local_usage", number, mechanism, pure_units(epsilon), at)


@cache
def _rich(signed: bool) -> tuple[bytes, ...]:
    log = MemoryLog()
    ledger = ledger_on(log, signed=signed)
    for week in (1, 2):
        at = START + 7 * DAY * week
        report = release(ledger, "usage", week, at)
        ledger.acknowledge(receipt_for(*report, at + 60.0), CLOUD_KEY.public, at + 61.0)
    release(ledger, "router", 1, START + 30 * DAY, dimension=40)
    ledger.commit(reserve_local(ledger, 1, START + 40 * DAY), bytes(32))
    reserve_local(ledger, 2, START + 47 * DAY)  # forfeited: the phone died
    foreign = receipt_for("usage", 9, b"z" * 32, START + 60 * DAY)
    ledger.acknowledge(foreign, CLOUD_KEY.public, START + 60 * DAY)
    release(ledger, "usage", 20, START + 61 * DAY + YEAR)
    return tuple(log.payloads)


def rich_ledger(*, signed: bool = True) -> list[bytes]:
    """Every kind of entry: releases with receipts, a model update, a local report, a forfeited
    charge, another copy's receipt with its quarantine, a release a year later. Ends in a COMMIT.
    """
    return list(_rich(signed))


def find(payloads: list[bytes], kind: str, nth: int = 0) -> int:
    """Index of the nth entry of a kind."""
    return [i for i, p in enumerate(payloads) if json.loads(p)["kind"] == kind][nth]


def rechained(payloads: list[bytes]) -> list[bytes]:
    """The entries renumbered and linked again, as a forger without keys would."""
    head, linked = GENESIS, []
    moved = {json.loads(payload)["seq"]: seq for seq, payload in enumerate(payloads)}
    for seq, payload in enumerate(payloads):
        fields = json.loads(payload) | {"seq": seq, "prev": head}
        if "reserve" in fields:
            fields["reserve"] = moved.get(fields["reserve"], fields["reserve"])
        linked.append(encoded(fields))
        head = entry_hash(linked[-1])
    return linked


def encoded(fields: Fields) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def leaves(payload: bytes) -> list[Path]:
    """Paths of all values in an entry, nested ones too."""
    return list(_leaves(json.loads(payload)))


def _leaves(fields: Fields, path: Path = ()) -> Iterator[Path]:
    for name, value in sorted(fields.items()):
        if isinstance(value, dict):
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name)


def edited(payload: bytes, path: Path, change: Callable[[Any], Any]) -> bytes:
    """The entry with one value changed, canonical again."""
    fields = json.loads(payload)
    place = fields
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = change(place[path[-1]])
    return encoded(fields)


def without(payload: bytes, path: Path) -> bytes:
    """The entry with one value gone."""
    fields = json.loads(payload)
    place = fields
    for name in path[:-1]:
        place = place[name]
    del place[path[-1]]
    return encoded(fields)


def other_value(value: Any) -> Any:
    """A different value of the same type and shape."""
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.001 + 0.001
    if not value:
        return "0" * 64
    return value[:-1] + ("0" if value[-1] != "0" else "1")
