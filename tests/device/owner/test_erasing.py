"""E: a delete is real, one item, a query or all of it; what would go is told beforehand."""

from __future__ import annotations

import asyncio

import pytest

from device.actors import checkpoint
from device.memory import Archive
from device.memory.records import ItemKind
from device.owner import UnknownMemory
from device.owner.matching import NothingToSeek
from device.phone import Phone
from device.vault import MemoryStorage
from tests.device.conftest import OpenPhone
from tests.device.owner.reading import readable, readable_of_copies

CANARY = "zanzibar"
LOGS_WITHOUT_CONTENT = ("identity", "ledger", "releases")


async def told(open_phone: OpenPhone, *texts: str, **settings: object) -> Phone:
    phone = await open_phone(**settings)
    for text in texts:
        await phone.record(text)
    await phone.dream()
    return phone


async def test_forgetting_an_item_takes_its_turns_and_whatever_was_drawn_from_them(
    open_phone: OpenPhone,
) -> None:
    phone = await told(
        open_phone,
        "I like zanzibar coffee",
        "I fly to Zanzibar next Wednesday",
        "move that trip to next Thursday",
        "I like green tea",
    )
    trip = next(item for item in await phone.items(ItemKind.EVENT) if not item.replaced_by)
    plan = await phone.plan_forget([trip.id])
    assert (plan.turns, plan.values) == (2, 0)
    assert {doomed.kind for doomed in plan.shown} == {"turn", "event", "change"}
    assert len(await phone.turns()) == 4, "a plan changes nothing"
    gone = await phone.forget_planned(plan.ids)
    assert (gone.turns, gone.items) == (plan.turns, plan.items)
    assert [turn.text for turn in await phone.turns()] == [
        "I like zanzibar coffee", "I like green tea",
    ]  # fmt: skip
    assert {item.kind for item in await phone.items()} == {ItemKind.PREFERENCE}


async def test_forgetting_an_older_preference_leaves_the_one_that_replaced_it(
    open_phone: OpenPhone,
) -> None:
    phone = await told(open_phone, "I prefer a window seat", "I prefer an aisle seat")
    older = next(item for item in await phone.items() if item.replaced_by)
    await phone.forget_items([older.id])
    assert [turn.text for turn in await phone.turns()] == ["I prefer an aisle seat"]
    assert [item.text for item in await phone.items()] == ["I prefer an aisle seat"]


async def test_a_query_takes_no_turn_that_does_not_hold_its_words(open_phone: OpenPhone) -> None:
    """What it takes of the structured memory may have been told in other turns as well."""
    phone = await told(
        open_phone, "I live at zanzibar lane 7 in town", "I live at 12 Elm Road", "I like tea"
    )
    gone = await phone.forget_query("zanzibar")
    assert gone.turns == 1
    assert [value.value for value in await phone.values()] == ["12 Elm Road"]
    assert len(await phone.turns()) == 2


async def test_forgetting_a_value_takes_the_fact_and_the_turn_behind_it(
    open_phone: OpenPhone,
) -> None:
    phone = await told(open_phone, "My name is Zanzibar Jones", "I like green tea")
    gone = await phone.forget_items(["value:name"])
    assert (gone.turns, gone.items, gone.values) == (1, 1, 1)
    assert await phone.values() == []
    assert [turn.text for turn in await phone.turns()] == ["I like green tea"]


async def test_an_unknown_id_is_named_and_nothing_is_forgotten(open_phone: OpenPhone) -> None:
    phone = await told(open_phone, "I like green tea")
    for strange in ("mem:99", "raw:7", "value:shoe", "nonsense", "mem:x"):
        with pytest.raises(UnknownMemory, match=strange):
            await phone.forget_items(["raw:0", strange])
    assert len(await phone.turns()) == 1


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("Mara", ["我喜欢爬山", "annual report for Tamara"]),
        ("爬山", ["Mara's red bicycle", "lunch with mara", "annual report for Tamara"]),
        ("red bicycle", ["lunch with mara", "我喜欢爬山", "annual report for Tamara"]),
        ("bicycle that was red", ["lunch with mara", "我喜欢爬山", "annual report for Tamara"]),
    ],
)
async def test_a_query_takes_all_that_holds_its_words_and_no_more(
    open_phone: OpenPhone, query: str, left: list[str]
) -> None:
    phone = await told(
        open_phone,
        "Mara's red bicycle",
        "lunch with mara",
        "我喜欢爬山",
        "annual report for Tamara",
    )
    await phone.forget_query(query)
    assert [turn.text for turn in await phone.turns()] == left


async def test_a_query_that_names_a_time_looks_only_there(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    now = phone._clock.now()
    for days in (1, 2, 30):
        await phone.record(f"I met Mara, {days} days back", at=now - days * 86_400.0)
    plan = await phone.plan_forget_query("Mara yesterday")
    assert [doomed.text for doomed in plan.shown if doomed.kind == "turn"] == [
        "I met Mara, 1 days back"
    ]


@pytest.mark.parametrize("query", ["", "  ", "the", "it", "a"])
async def test_a_query_that_tells_nothing_is_refused(open_phone: OpenPhone, query: str) -> None:
    phone = await told(open_phone, "I like green tea")
    with pytest.raises(NothingToSeek):
        await phone.forget_query(query)


async def fill(phone: Phone, word: str) -> None:
    """Put `word` wherever a phone may keep a user's word."""
    await phone.record(f"My name is {word.title()} Jones")
    await phone.record(f"I live at {word} lane 7")
    await phone.record(f"I fly to {word.title()} next Wednesday")
    await phone.record(f"move the {word} trip to next Thursday")
    await phone.record(f"I like {word} coffee")
    await phone.record(f"I like {word} coffee, really")
    await phone.dream()
    answer = await phone.recall(f"what about {word}?")
    await phone.feedback(answer, [hit.id for hit in answer.hits])
    await phone.feedback_pair(f"{word} coffee", f"coffee from {word}", "duplicate")
    first = await phone.items(ItemKind.PREFERENCE)
    await phone._structured.ask(Archive([first[0].id]))


@pytest.mark.parametrize("how", ["query", "ids", "all"])
async def test_no_byte_of_a_forgotten_memory_is_readable_with_any_key_that_remains(
    open_phone: OpenPhone, how: str
) -> None:
    """Raw, structured, archive, history, change records, values, indexes, examples."""
    storage = MemoryStorage()
    phone = await open_phone(storage=storage)
    await phone.record("I keep green tea in the kitchen")
    await fill(phone, CANARY)
    await phone.close()
    before = readable(storage)
    assert {"raw", "structured", "working"} <= {
        log for log, clear in before.items() if CANARY.encode() in clear.lower()
    }
    assert len(before["examples"]) > 0
    old_files = {name: storage.read(name) for name in storage.names()}
    assert CANARY.encode() in readable_of_copies(storage, old_files)[1].lower()

    phone = await open_phone(storage=storage)
    if how == "query":
        await phone.forget_query(CANARY)
    elif how == "ids":
        held = [turn.id for turn in await phone.turns() if CANARY in turn.text.lower()]
        await phone.forget_items(held)
    else:
        await phone.forget_everything()
    await phone.close()

    for log, clear in readable(storage).items():
        assert CANARY.encode() not in clear.lower(), log
        if how == "all" and log not in LOGS_WITHOUT_CONTENT and log != "structured":
            assert clear == b"", log
    # Copies of the old files, kept by flash or by a backup, open with no key of today.
    tried, clear = readable_of_copies(storage, old_files)
    assert tried > 0
    assert CANARY.encode() not in clear.lower()
    assert all(CANARY.encode() not in data.lower() for data in old_files.values())
    again = await open_phone(storage=storage)
    assert (await again.recall(f"what about {CANARY}?")).hits == () or how != "all"
    assert all(CANARY not in turn.text.lower() for turn in await again.turns())
    assert all(CANARY not in item.text.lower() for item in await again.items())
    assert await again.archived() == []


async def test_examples_made_from_a_forgotten_turn_go_and_others_stay(
    open_phone: OpenPhone,
) -> None:
    phone = await told(open_phone, "The zanzibar key is under the mat", "I keep tea in the kitchen")
    for query in ("where is the zanzibar key", "where do I keep tea"):
        answer = await phone.recall(query)
        await phone.feedback(answer, [answer.hits[0].id])
    await phone.feedback_pair("zanzibar key", "the key to zanzibar", "duplicate")
    gone = await phone.forget_query("zanzibar")
    assert gone.examples == 2
    assert len(phone.examples.training_set("router")[0]) == 1
    late = answer  # feedback on an answer given before the forgetting
    await phone.forget_items([late.hits[0].id])
    await phone.feedback(late, [late.hits[0].id])
    assert len(phone.examples.training_set("router")[0]) == 0


async def test_forgetting_everything_keeps_what_privacy_has_cost(open_phone: OpenPhone) -> None:
    phone = await told(open_phone, "I like green tea")
    await phone.recall("tea")
    spent = phone.ledger.spent()
    gone = await phone.forget_everything()
    assert gone.turns == 1
    assert phone.ledger.spent() == spent
    assert phone.usage.answers(0).through == -1
    assert phone.outbox.waiting() == []
    # The phone goes on living.
    turn = await phone.record("I like jazz")
    assert (await phone.dream()).consolidated == 1
    assert (await phone.recall("jazz")).hits[0].turns == (turn.id,)


async def test_a_forgetting_cut_short_by_a_crash_is_completed_at_the_next_opening(
    open_phone: OpenPhone,
) -> None:
    storage = MemoryStorage()
    phone = await open_phone(storage=storage)
    await fill(phone, CANARY)
    # Only the raw layer got as far as forgetting before the phone died.
    log = phone._logs["raw"]
    log.erase([sequence for sequence, _ in log.read()])
    again = await open_phone(storage=storage)
    assert await again.items() == []
    assert await again.archived() == []
    assert await again.values() == []
    await again.close()
    assert all(CANARY.encode() not in clear.lower() for clear in readable(storage).values())


@pytest.mark.parametrize("how", ["query", "all"])
async def test_forgetting_while_a_dream_runs_is_safe(open_phone: OpenPhone, how: str) -> None:
    storage = MemoryStorage()
    phone = await open_phone(storage=storage)
    for n in range(200):
        word = CANARY if n % 3 == 0 else "walnut"
        await phone.record(f"I like thing{n} from {word}")
    plan = await phone.plan_forget_query(CANARY)
    dream = asyncio.create_task(phone.dream())
    while not await phone.items():
        await checkpoint()
    if how == "query":
        await phone.forget_planned(plan.ids, CANARY)
    else:
        await phone.forget_everything()
    assert not dream.done(), "it never waited for the dream"
    await dream
    await phone.dream()
    held = await phone.items()
    assert len(held) == (133 if how == "query" else 0)
    assert all(CANARY.encode() not in clear for clear in readable(storage).values())
