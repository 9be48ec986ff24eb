"""Law 8 as worlds check it, and the watchmen of laws 4 and 6."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import pytest

from device.sync import identity
from privacy.budget import DEMO, PRODUCTION
from protocol import release
from simulator.laws import GIVEN, SMALL, VERIFIED, Tally
from simulator.network import Traffic
from simulator.sentries import Decoders, Machine
from simulator.smallness import check_stored, check_traffic


def over(size: int, retries: int = 0, budget: Any = PRODUCTION) -> bool:
    tally = Tally()
    traffic = Traffic(up=size // 2, down=size // 2, sessions=9)
    check_traffic(tally, "phone 1", traffic, days=10.0, budget=budget, retries=retries)
    return bool(tally.violated[SMALL])


def test_what_a_phone_may_send_follows_from_the_days_and_its_mishaps() -> None:
    assert not over(250_000)
    assert over(280_000)
    assert not over(280_000, retries=1)
    assert not over(500_000, budget=DEMO)
    assert over(800_000, budget=DEMO)


def test_what_a_phone_may_store_follows_from_what_it_was_told() -> None:
    tally = Tally()
    check_stored(tally, "phone 1", 500_000, records=100)
    assert not tally.violated
    check_stored(tally, "phone 1", 600_000, records=100)
    assert tally.violated == {SMALL: 1}


def test_a_blob_decoded_before_its_hash_was_taken_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocol.release.decode_full", lambda *_: "decoded")
    decode: Any = vars(release)
    sentry = Decoders()
    with sentry.on_duty():
        decode["hashlib"].sha256(b"verified").digest()
        assert decode["decode_full"](b"verified") == "decoded"
        assert not sentry.tally.violated
        decode["decode_full"](b"verified")
        assert sentry.tally.violated == {VERIFIED: 1}
    assert decode["hashlib"] is hashlib
    decode["decode_full"](b"other")
    assert sentry.tally.checked == {VERIFIED: 2}


def test_what_a_phone_takes_from_the_machine_is_seen_and_what_others_take_is_not() -> None:
    sentry = Machine()
    scope: dict[str, Any] = {"os": os}
    source = "def take():\n    return os.urandom(1)"
    exec(compile(source, str(identity.__file__), "exec"), scope)
    with sentry.on_duty():
        os.urandom(1)
        assert not sentry.tally.violated
        scope["take"]()
    assert sentry.tally.violated == {GIVEN: 1}
    assert sentry.tally.violations == [
        f"law {GIVEN}: device/sync/identity.py: urandom was taken from the machine"
    ]
    scope["take"]()
    assert sentry.tally.violated == {GIVEN: 1}
