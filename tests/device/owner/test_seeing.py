"""B, E: every memory is shown with its history and says from which words, and when, it comes."""

from __future__ import annotations

import pytest

from device.memory import Archive
from device.memory.records import ItemKind
from device.owner import UNKNOWN, UnknownMemory, question_for, still_unknown
from device.phone import Phone
from tests.device.conftest import OpenPhone

DAY = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.at = 1_780_000_000.0

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float, until: object = None) -> None:
        self.at += seconds


async def moved_trip(open_phone: OpenPhone) -> tuple[Phone, Clock]:
    clock = Clock()
    phone = await open_phone(clock=clock)
    await phone.record("I fly to Oslo next Wednesday", source="chat#1")
    clock.at += 600.0
    await phone.record("move that trip to next Thursday")
    await phone.dream()
    return phone, clock


async def test_an_item_is_shown_with_its_history_changes_and_turns(open_phone: OpenPhone) -> None:
    phone, _ = await moved_trip(open_phone)
    trip = next(i for i in await phone.items(ItemKind.EVENT) if not i.replaced_by)
    shown = await phone.show(trip.id)
    assert shown.item is not None
    assert [turn.id for turn in shown.sources] == ["raw:0", "raw:1"]
    assert [item.text for item in shown.older] == ["I fly to Oslo next Wednesday"]
    assert [change.action for change in shown.changes] == ["moved"]
    assert (shown.archived, shown.gone) == (False, ())


async def test_an_archived_item_is_shown_as_such(open_phone: OpenPhone) -> None:
    phone, _ = await moved_trip(open_phone)
    trip = next(i for i in await phone.items(ItemKind.EVENT) if not i.replaced_by)
    await phone._structured.ask(Archive([trip.id]))
    shown = await phone.show(trip.id)
    assert shown.archived
    assert len(shown.sources) == 2


async def test_a_turn_is_shown_with_what_was_drawn_from_it(open_phone: OpenPhone) -> None:
    phone, _ = await moved_trip(open_phone)
    shown = await phone.show("raw:0")
    assert shown.turn is not None
    assert shown.turn.source == "chat#1"
    assert {item.kind for item in shown.drawn} == {ItemKind.EVENT, ItemKind.CHANGE}


async def test_a_value_is_shown_with_its_turn(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.record("My name is Ann Bell")
    shown = await phone.show("value:name")
    assert shown.value is not None
    assert (shown.value.value, shown.sources[0].text) == ("Ann Bell", "My name is Ann Bell")


@pytest.mark.parametrize("strange", ["raw:77", "mem:77", "value:77", "77", ""])
async def test_what_is_not_held_cannot_be_shown(open_phone: OpenPhone, strange: str) -> None:
    phone = await open_phone()
    with pytest.raises(UnknownMemory, match="raw:12"):
        await phone.show(strange)


async def test_why_tells_who_said_it_when_and_how_it_was_found(open_phone: OpenPhone) -> None:
    phone, clock = await moved_trip(open_phone)
    clock.at += 3 * DAY
    why = await phone.why("when do I fly to Oslo?")
    assert why.decided_by in ("rule", "model", "fallback")
    assert why.rounds >= 1
    reason = next(reason for reason in why.reasons if reason.hit.id.startswith("mem:"))
    assert [turn.id for turn in reason.sources] == ["raw:0", "raw:1"]
    assert [change.action for change in reason.changes] == ["moved"]
    assert reason.state == "active"
    assert why.at - reason.sources[0].at >= 3 * DAY
    assert phone.usage.answers(0).through == -1, "looking is no use of the memory"


async def test_why_of_an_id_needs_no_search(open_phone: OpenPhone) -> None:
    phone, _ = await moved_trip(open_phone)
    why = await phone.why("raw:1")
    assert (why.decided_by, why.reasons[0].sources[0].id) == ("id", "raw:1")
    with pytest.raises(UnknownMemory):
        await phone.why("raw:77")
    assert (await phone.why("what about zebras")).about == "what about zebras"


async def test_a_new_phone_says_what_it_would_like_to_know_until_it_is_told(
    open_phone: OpenPhone,
) -> None:
    phone = await open_phone(explore_turns=6)
    assert await phone.unknown() == UNKNOWN
    assert (await phone.status()).unknown == UNKNOWN
    await phone.record("My name is Ann Bell")
    await phone.record("I like green tea")
    await phone.consolidate()
    left = await phone.unknown()
    assert "name" not in left
    assert "likes" not in left
    assert "dislikes" in left
    for n in range(5):
        await phone.record(f"thing {n} happened")
    assert await phone.unknown() == (), "past its first turns a phone asks no more"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_unknown_has_a_question(language: str) -> None:
    questions = {question_for(topic, language) for topic in UNKNOWN}
    assert len(questions) == len(UNKNOWN)
    assert all(question[0].isascii() == (language == "en") for question in questions)
    assert still_unknown([], []) == UNKNOWN


async def test_used_feedback_on_a_raw_hit_restores_what_was_archived(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.record("I bought a walnut desk at the harbour market yesterday")
    await phone.dream()
    (event,) = await phone.items()
    await phone._structured.ask(Archive([event.id]))
    answer = await phone.recall("walnut desk")
    assert all(not hit.id.startswith("mem:") for hit in answer.hits)
    await phone.feedback(answer, [answer.hits[0].id])
    (back,) = await phone.items()
    assert (back.id, back.accesses) == (event.id, 1)
    assert await phone.archived() == []


async def test_an_archived_memory_is_brought_back_by_its_owner(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.record("I bought a walnut desk at the harbour market yesterday")
    await phone.dream()
    (event,) = await phone.items()
    await phone._structured.ask(Archive([event.id]))
    assert [item.id for item in await phone.archived()] == [event.id]
    assert await phone.unarchive([event.id, "mem:999"]) == [event.id]
    assert [item.id for item in await phone.items()] == [event.id]


async def test_a_preference_told_outright_counts_as_certain(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.record("I like green tea", source="owner")
    await phone.record("I like black tea")
    await phone.consolidate()
    sure = {item.object: item.confidence for item in await phone.items(ItemKind.PREFERENCE)}
    assert sure["green tea"] == 1.0
    assert sure["black tea"] < 0.5
    await phone.record("I like green tea")
    await phone.consolidate()
    sure = {item.object: item.confidence for item in await phone.items(ItemKind.PREFERENCE)}
    assert sure["green tea"] == 1.0
