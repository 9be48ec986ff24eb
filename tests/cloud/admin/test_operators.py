"""Tokens, sessions and patience: who is let in, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from cloud.admin.entry import SESSION_SECONDS, Entry
from cloud.admin.operators import Operator, OperatorRefused, Operators
from cloud.admin.patience import ADDRESSES, FAILURES, WINDOW_SECONDS, Patience
from cloud.randomness import SeededBits
from cloud.storage import Database
from cloud.storage.tables import operators as table
from tests.cloud.world import DAY, START, database_in

SECRET = b"s" * 32


@pytest.fixture
def operators(each_database: str, tmp_path: Path) -> Iterator[Operators]:
    database = Database(database_in(tmp_path))
    yield Operators(database)
    database.close()


def _add(operators: Operators, name: str = "lin", days: float = 1.0, seed: int = 1) -> str:
    return operators.add(name, "operator", START, days * DAY, SeededBits(seed, name))


def test_a_token_opens_the_door_until_it_expires(operators: Operators) -> None:
    token = _add(operators)
    assert len(bytes.fromhex(token)) == 32
    found = operators.holding(token, START)
    assert found is not None
    assert (found.name, found.role) == ("lin", "operator")
    assert operators.holding(token, START + DAY - 1) is not None
    assert operators.holding(token, START + DAY) is None
    for wrong in ("", token[:-1], token + "0", token.upper(), "é" * 64, "f" * 1_000):
        assert operators.holding(wrong, START) is None


def test_the_database_does_not_know_the_token(operators: Operators, tmp_path: Path) -> None:
    token = _add(operators)
    database = Database(database_in(tmp_path))
    with database.read() as connection:
        assert token not in repr(connection.execute(select(table)).all())
    database.close()


def test_revocation_is_at_once_and_for_good(operators: Operators) -> None:
    token = _add(operators)
    assert operators.revoke("lin", START + 1)
    assert operators.holding(token, START + 1) is None
    assert operators.revoke("lin", START + 2)
    named = operators.named("lin")
    assert named is not None
    assert named.revoked == START + 1
    assert not operators.revoke("nobody", START)


def test_a_name_is_given_again_only_when_its_token_has_ended(operators: Operators) -> None:
    first = _add(operators)
    with pytest.raises(OperatorRefused, match="revoke lin"):
        _add(operators, seed=2)
    operators.revoke("lin", START)
    second = _add(operators, seed=3)
    assert operators.holding(first, START) is None
    assert operators.holding(second, START) is not None
    assert [one.name for one in operators.all()] == ["lin"]


@pytest.mark.parametrize("name", ["", "-lin", "a b", "a:b", "x" * 65, "lin\n", "林", "../x"])
def test_names_that_cannot_be_used(operators: Operators, name: str) -> None:
    with pytest.raises(OperatorRefused, match="letters"):
        _add(operators, name)
    assert operators.named(name) is None


def test_roles_cover_those_below() -> None:
    viewer = Operator("v", "viewer", "", 0.0, 1.0, None)
    operator = Operator("o", "operator", "", 0.0, 1.0, None)
    assert viewer.may("viewer")
    assert not viewer.may("operator")
    assert operator.may("viewer")
    assert operator.may("operator")


# --- sessions ---------------------------------------------------------------------------------

LIN = Operator("lin", "operator", "ab" * 32, START, START + DAY, None)


def _entry(secret: bytes = SECRET, seed: int = 1) -> Entry:
    return Entry(secret, SeededBits(seed, "entry"))


def test_a_cookie_works_on_every_gateway_of_the_cloud_and_on_no_other() -> None:
    cookie = _entry().cookie(LIN, START)
    said = _entry(seed=2).read(cookie, START + 1)
    assert said is not None
    assert _entry(seed=2).admit(said, LIN, START + 1) is not None
    assert _entry(b"t" * 32).admit(said, LIN, START + 1) is None


def test_a_session_ends_with_its_time_its_token_or_its_operator() -> None:
    entry = _entry()
    cookie = entry.cookie(LIN, START)
    assert entry.read(cookie, START + SESSION_SECONDS) is None
    assert LIN.sha256 not in cookie
    said = entry.read(cookie, START)
    assert said is not None
    other_token = Operator("lin", "operator", "cd" * 32, START, START + DAY, None)
    revoked = Operator("lin", "operator", "ab" * 32, START, START + DAY, START + 1)
    for operator in (None, other_token, revoked):
        assert entry.admit(said, operator, START + 2) is None
    short = Operator("lin", "operator", "ab" * 32, START, START + 60, None)
    assert entry.read(entry.cookie(short, START), START + 60) is None


@pytest.mark.parametrize("part", range(4))
def test_a_cookie_that_was_touched_opens_nothing(part: int) -> None:
    entry = _entry()
    parts = entry.cookie(LIN, START).split(":")
    parts[part] = ("kim", str(int(parts[1]) + 1), "0" * 32, "0" * 64)[part]
    said = entry.read(":".join(parts), START)
    assert said is not None
    other = Operator(said.name, "operator", "ab" * 32, START, START + DAY, None)
    assert entry.admit(said, other, START) is None


@pytest.mark.parametrize(
    "cookie", ["", "a", "a:b:c:d", ":::", "a:" * 200, "a:99999999999:b", "é:1:b:c"]
)
def test_what_is_no_cookie(cookie: str) -> None:
    assert _entry().read(cookie, START) is None


def test_form_tokens_are_of_one_session() -> None:
    entry = _entry()
    token = entry.form_token("a" * 32)
    assert entry.is_form_token("a" * 32, token)
    assert not entry.is_form_token("b" * 32, token)
    assert not entry.is_form_token("", entry.form_token(""))
    assert not entry.is_form_token("a" * 32, "é")


# --- patience ---------------------------------------------------------------------------------


def test_an_address_that_is_often_wrong_waits_and_others_do_not() -> None:
    patience = Patience()
    for _ in range(FAILURES - 1):
        patience.failed("a", START)
    assert patience.wait("a", START) == 0.0
    patience.failed("a", START + 1)
    assert patience.wait("a", START + 1) == WINDOW_SECONDS - 1
    assert patience.wait("b", START + 1) == 0.0
    assert patience.wait("a", START + WINDOW_SECONDS) == 0.0
    patience.failed("a", START + WINDOW_SECONDS)
    assert patience.wait("a", START + WINDOW_SECONDS) == 0.0


def test_remembered_addresses_are_bounded() -> None:
    patience = Patience()
    for number in range(ADDRESSES + 10):
        patience.failed(str(number), START)
    assert len(patience._failed) == ADDRESSES
