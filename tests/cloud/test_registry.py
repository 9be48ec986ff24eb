"""Tokens enrol one key once; revoked keys stay out."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import select

from cloud.actors.registry import EnrolmentRefused, Registry, Wanted, device_id_of
from cloud.storage import Database
from cloud.storage.tables import tokens
from tests.cloud.world import DAY, START, database_in, sqlite

KEYS = [bytes([number]) * 32 for number in range(4)]


@pytest.fixture
def registry(each_database: str, tmp_path: Path) -> Iterator[Registry]:
    made = Registry(database_in(tmp_path))
    yield made
    made.close()


def _token(registry: Registry, token: str, lifetime: float = DAY) -> str:
    registry.add_token(sha256(token.encode()).hexdigest(), START, lifetime)
    return token


def _refused(registry: Registry, token: str, key: bytes, at: float = START) -> str:
    with pytest.raises(EnrolmentRefused) as caught:
        registry.enrol(token, key, at)
    return caught.value.code


def test_a_token_enrols_one_key(registry: Registry) -> None:
    token = _token(registry, "secret")
    device_id = registry.enrol(token, KEYS[0], START)
    assert device_id == sha256(KEYS[0]).digest()[:16].hex()
    assert _refused(registry, token, KEYS[1]) == "bad_token"
    assert registry.count() == 1


def test_a_lost_reply_is_harmless(registry: Registry) -> None:
    token = _token(registry, "secret")
    assert registry.enrol(token, KEYS[0], START) == registry.enrol(token, KEYS[0], START + 1)
    assert registry.count() == 1


def test_unknown_and_expired_tokens_are_refused(registry: Registry) -> None:
    assert _refused(registry, "guess", KEYS[0]) == "bad_token"
    token = _token(registry, "old", lifetime=DAY)
    assert _refused(registry, token, KEYS[0], START + DAY + 1) == "bad_token"
    assert registry.count() == 0


def test_the_database_holds_no_token(registry: Registry, tmp_path: Path) -> None:
    _token(registry, "a-secret-in-clear")
    registry.enrol("a-secret-in-clear", KEYS[0], START)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"a-secret-in-clear" not in stored
    database = Database(database_in(tmp_path))
    with database.read() as connection:
        row = connection.execute(select(tokens)).one()
    assert row.device_id is not None
    assert "a-secret-in-clear" not in repr(row)
    database.close()


def test_an_id_that_is_none_is_no_device(registry: Registry) -> None:
    for strange in ("", "\0", "0" * 31 + "\0", "é" * 32, "0" * 400):
        assert registry.lookup(strange) is None


def test_a_revoked_key_cannot_come_back(registry: Registry) -> None:
    device_id = registry.enrol(_token(registry, "one"), KEYS[0], START)
    assert registry.revoke(device_id, START + 1)
    assert registry.revoke(device_id, START + 2)
    found = registry.lookup(device_id)
    assert found is not None
    assert found.revoked == START + 1
    assert _refused(registry, _token(registry, "two"), KEYS[0]) == "revoked"
    assert registry.count() == 0
    assert not registry.revoke("no such device", START)


def test_ids_do_not_depend_on_the_order_of_enrolment(tmp_path: Path) -> None:
    forth = Registry(sqlite(tmp_path, "a.db"), True)
    back = Registry(sqlite(tmp_path, "b.db"), True)
    one = {forth.enrol("x", key, START) for key in KEYS}
    two = {back.enrol("x", key, START) for key in reversed(KEYS)}
    assert one == two == {device_id_of(key) for key in KEYS}
    assert [each.device_id for each in forth.devices()] == sorted(one)
    forth.close()
    back.close()


def test_a_key_of_another_length_is_a_bad_message(registry: Registry) -> None:
    assert _refused(registry, _token(registry, "one"), b"short") == "bad_message"


def test_a_batch_is_admitted_as_one_by_one(registry: Registry) -> None:
    first, second, late = (_token(registry, name) for name in ("first", "second", "late"))
    gone = registry.enrol(_token(registry, "gone"), KEYS[3], START)
    registry.revoke(gone, START)
    asked = [
        Wanted(first, KEYS[0], START),
        Wanted(first, KEYS[1], START),  # spent a moment ago, in this very batch
        Wanted(first, KEYS[0], START),  # a lost reply
        Wanted("never given out", KEYS[1], START),
        Wanted(late, KEYS[1], START + 10 * DAY),
        Wanted(second, KEYS[3], START),
        Wanted(second, b"short", START),
        Wanted(second, KEYS[2], START),
    ]
    outcomes = registry.enrolments(asked)
    told = [one.code if isinstance(one, EnrolmentRefused) else one for one in outcomes]
    assert told == [
        device_id_of(KEYS[0]),
        "bad_token",
        device_id_of(KEYS[0]),
        "bad_token",
        "bad_token",
        "revoked",
        "bad_message",
        device_id_of(KEYS[2]),
    ]
    there = {device.device_id for device in registry.devices()}
    assert there == {device_id_of(KEYS[0]), device_id_of(KEYS[2]), gone}


def test_an_empty_batch_writes_nothing(registry: Registry) -> None:
    assert registry.enrolments([]) == []
