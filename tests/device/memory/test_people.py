"""A: entity resolution: me, my, 我, 本人 are one user; a relation and its name are one person."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from device.memory import Apply, Forget, ListItems
from device.memory.consolidation import consolidate
from device.memory.records import Item, ItemKind, Turn
from tests.device.memory.conftest import Store

SHANGHAI = timezone(timedelta(hours=8))
MONDAY = datetime(2026, 3, 9, 9, 0, tzinfo=SHANGHAI)


def said(*texts: str) -> list[Turn]:
    return [
        Turn(f"raw:{n}", (MONDAY + n * timedelta(hours=1)).timestamp(), "user", text)
        for n, text in enumerate(texts)
    ]


def events(turns: list[Turn]) -> list[Item]:
    items = [change.item for change in consolidate(turns, [], SHANGHAI)]
    return [item for item in items if item.kind is ItemKind.EVENT]


@pytest.mark.parametrize("speaker", ["user", "me", "我", "本人"])
@pytest.mark.parametrize(
    "text", ["我喜欢爬山", "My name is Sam Haddad", "I flew to Oslo yesterday"]
)
def test_me_my_and_the_chinese_words_resolve_to_one_user_id(speaker: str, text: str) -> None:
    turn = Turn("raw:0", MONDAY.timestamp(), speaker, text)
    assert {c.item.subject for c in consolidate([turn], [], SHANGHAI)} == {"user"}


@pytest.mark.parametrize(
    ("told", "by_relation", "by_name", "name"),
    [
        ("我妹妹叫小雨", "周六和妹妹去看电影", "周日和小雨吃火锅", "小雨"),
        ("My sister is called Priya", "I'm meeting my sister on Saturday",
         "I'm meeting Priya on Sunday", "Priya"),
    ],
)  # fmt: skip
def test_a_relation_and_its_name_are_one_person(
    told: str, by_relation: str, by_name: str, name: str
) -> None:
    first, second = events(said(told, by_relation, by_name))
    assert name in first.people
    assert name in second.people
    assert "sister" in second.people


def test_who_is_not_known_yet_stays_as_it_was_said() -> None:
    (event,) = events(said("I'm meeting my sister on Saturday"))
    assert event.people == ("sister",)


async def test_a_forgotten_name_leaves_the_events_it_was_added_to(store: Store) -> None:
    _, structured, _ = await store.open()
    turns = said("My sister is called Canarina", "I'm meeting my sister on Saturday")
    await structured.ask(Apply(consolidate(turns, [], SHANGHAI), 1))
    assert await structured.ask(Forget(["raw:0"])) == 1
    (event,) = await structured.ask(ListItems())
    assert event.people == ("sister",)
    assert all(b"Canarina" not in payload for _, payload in store.logs["structured"].read())
