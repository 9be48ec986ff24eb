"""Agentic recall: the worked examples of 002 and what an answer must say beside its hits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from device.memory import ItemsByIds, RecordMany, Touch
from device.memory.dreaming import consolidate_pending
from device.memory.records import Answer, Layer, Turn, TurnDraft
from device.recall import Router, origin_line
from device.settings import Settings
from tests.device.recall.rig import Rig, open_rig

WEDNESDAY = datetime(2026, 5, 13, 9, tzinfo=UTC).timestamp()
DAY = 86_400.0
NEXT_THURSDAY = datetime(2026, 5, 21, tzinfo=UTC).timestamp()


@pytest_asyncio.fixture
async def rig() -> AsyncIterator[Rig]:
    async with open_rig() as opened:
        opened.clock.at = WEDNESDAY
        yield opened


async def tell(rig: Rig, session: str, *texts: str, speaker: str = "user") -> list[Turn]:
    drafts = [
        TurnDraft(rig.clock.at + 10.0 * n, speaker, text, session, f"chat:{n}")
        for n, text in enumerate(texts)
    ]
    rig.clock.at += 10.0 * len(texts)
    return await rig.raw.ask(RecordMany(drafts))


async def ask(rig: Rig, query: str, *, after: float = DAY) -> Answer:
    await consolidate_pending(rig.raw, rig.structured, rig.working, tz=UTC)
    rig.clock.at += after
    return await rig.recaller.recall(query)


def told(answer: Answer) -> dict[str, str]:
    """The best hit's text for every aspect that a hit tells."""
    found: dict[str, str] = {}
    for hit in answer.hits:
        for aspect in hit.tells:
            found.setdefault(aspect, hit.text)
    return found


async def test_the_restaurant_mentioned_last_time_is_resolved_to_name_day_and_party_size(
    rig: Rig,
) -> None:
    await tell(rig, "a", "今天楼下新开了一家超市", "天气不错")
    await tell(rig, "b", "同事推荐了一个日料餐厅", "名字叫山葵", "周五晚上和朋友去，两个人")
    rig.clock.at += DAY
    await tell(rig, "c", "昨晚睡得不好", "明天要开会")
    answer = await ask(rig, "上次说的那个餐厅，帮我订个位", after=3 * DAY)
    assert answer.hits[0].text == "同事推荐了一个日料餐厅"
    assert "山葵" in told(answer)["name"]
    assert "周五晚上" in told(answer)["time"]
    assert "两个人" in told(answer)["number"]
    assert answer.missing == ()
    assert answer.rounds > 1
    assert origin_line(answer.hits[0], answer.at, "zh") == "根据你4天前说的 (chat:0)"


async def test_the_restaurant_mentioned_last_time_is_resolved_in_english(rig: Rig) -> None:
    await tell(rig, "a", "The supermarket downstairs opened today", "I slept badly")
    await tell(
        rig, "b", "A colleague recommended a Japanese restaurant", "It is called Wasabi",
        "I want to go on Friday evening with a friend, two of us",
    )  # fmt: skip
    answer = await ask(rig, "The restaurant I mentioned last time, book it", after=3 * DAY)
    assert "Wasabi" in told(answer)["name"]
    assert "Friday evening" in told(answer)["time"]
    assert "two of us" in told(answer)["number"]
    assert answer.missing == ()


async def test_what_a_booking_lacks_is_named(rig: Rig) -> None:
    await tell(rig, "b", "同事推荐了一个日料餐厅", "名字叫山葵")
    answer = await ask(rig, "上次说的那个餐厅，帮我订个位")
    assert answer.missing == ("time", "number")


@pytest.mark.parametrize(
    ("said", "moved", "query"),
    [
        ("我下周三要去杭州出差", "帮我把那个出差改到下周四", "我哪天去杭州出差？"),
        ("I go to Hangzhou next Wednesday", "Move that trip to next Thursday",
         "When do I go to Hangzhou?"),
    ],
)  # fmt: skip
async def test_a_moved_trip_is_one_event_on_its_new_day_with_its_change_record(
    rig: Rig, said: str, moved: str, query: str
) -> None:
    await tell(rig, "a", said)
    rig.clock.at += DAY
    await tell(rig, "b", moved)
    answer = await ask(rig, query)
    events = [hit for hit in answer.hits if hit.layer is Layer.STRUCTURED]
    assert len(events) == 1
    (event,) = await rig.structured.ask(ItemsByIds([events[0].id]))
    assert event.starts == NEXT_THURSDAY
    assert answer.hits[0] == events[0]
    assert [said in change.text and moved in change.text for change in answer.changes] == [True]
    assert answer.changes[0].id not in {hit.id for hit in answer.hits}
    assert answer.conflicts == ()


async def test_a_cancelled_event_is_not_recalled_but_its_change_record_comes_along(
    rig: Rig,
) -> None:
    said = await tell(rig, "a", "I have a dentist appointment on Friday at 3pm")
    rig.clock.at += DAY
    (cancelled,) = await tell(rig, "b", "Cancel the dentist appointment")
    answer = await ask(rig, "when is my dentist appointment?")
    assert not [hit for hit in answer.hits if hit.layer is Layer.STRUCTURED]
    assert answer.changes[0].text.startswith("Cancelled: I have a dentist appointment")
    ids = [hit.id for hit in answer.hits]
    assert ids.index(cancelled.id) < ids.index(said[0].id), "words taken back stand below"


async def test_a_change_record_is_a_hit_when_changes_are_asked_for(rig: Rig) -> None:
    await tell(rig, "a", "I have a dentist appointment on Friday at 3pm")
    rig.clock.at += DAY
    await tell(rig, "b", "Cancel the dentist appointment")
    answer = await ask(rig, "which appointment did I cancel?")
    assert answer.hits[0].text.startswith("Cancelled: I have a dentist appointment")
    assert answer.hits[0].id not in {change.id for change in answer.changes}


async def test_two_hits_that_disagree_on_one_event_are_surfaced_as_a_conflict(rig: Rig) -> None:
    await tell(rig, "a", "家长会在5月19号")
    rig.clock.at += DAY
    await tell(rig, "b", "家长会在5月21号")
    answer = await ask(rig, "家长会是哪天？")
    ((newer, older),) = answer.conflicts
    texts = {hit.id: hit.text for hit in answer.hits}
    assert (texts[newer], texts[older]) == ("家长会在5月21号", "家长会在5月19号")
    assert "conflict" in answer.missing
    assert 1 < answer.rounds <= 1 + Settings().clarifying_rounds


async def test_a_conflict_is_seen_before_any_dream(rig: Rig) -> None:
    (first,) = await tell(rig, "a", "家长会在5月19号")
    rig.clock.at += DAY
    (second,) = await tell(rig, "b", "家长会在5月21号")
    answer = await rig.recaller.recall("家长会是哪天？")
    assert answer.conflicts == ((second.id, first.id),)


@pytest.mark.parametrize("rounds", [0, 1, 2])
async def test_clarifying_rounds_are_bounded_by_the_setting(rounds: int) -> None:
    async with open_rig(clarifying_rounds=rounds) as rig:
        rig.clock.at = WEDNESDAY
        await tell(rig, "a", "the sushi place was great", *(f"we try number {n}" for n in range(9)))
        answer = await ask(rig, "when did we try the sushi place?")
        assert answer.rounds == 1 + rounds
        assert answer.missing == ("time",)
        # The first look was in the structured layer alone: with no round, no turn is seen.
        assert any(hit.layer is Layer.RAW for hit in answer.hits) is (rounds > 0)


async def test_an_unsure_preference_answers_only_when_asked_and_is_never_volunteered(
    rig: Rig,
) -> None:
    rig.router = Router(None)
    await tell(rig, "a", "我喜欢吃辣")
    asked = await ask(rig, "我喜欢吃什么")
    assert asked.hits[0].text == "我喜欢吃辣"
    assert asked.hits[0].layer is Layer.STRUCTURED
    volunteered = await ask(rig, "今晚吃辣还是吃面", after=0.0)
    assert not [hit for hit in volunteered.hits if hit.layer is Layer.STRUCTURED]
    for _ in range(3):
        rig.clock.at += 10 * DAY
        await tell(rig, "b", "我喜欢吃辣")
    sure = await ask(rig, "今晚吃辣还是吃面", after=0.0)
    assert [hit.text for hit in sure.hits if hit.layer is Layer.STRUCTURED] == ["我喜欢吃辣"]


async def test_used_feedback_lifts_what_helped_before(rig: Rig) -> None:
    await tell(rig, "a", "I have a meeting with Ana about boats on 20 May")
    await tell(rig, "b", "I have a meeting with Bo about boats on 21 May")
    before = await ask(rig, "my meeting about boats")
    first, second = [hit.id for hit in before.hits if hit.layer is Layer.STRUCTURED][:2]
    for _ in range(5):
        await rig.structured.ask(Touch([second], rig.clock.at))
    after = await ask(rig, "my meeting about boats", after=0.0)
    ids = [hit.id for hit in after.hits]
    assert ids.index(second) < ids.index(first)


async def test_an_attribute_nobody_told_is_missing(rig: Rig) -> None:
    await tell(rig, "a", "nice weather in Lisbon")
    answer = await ask(rig, "what is my address")
    assert answer.missing == ("attribute",)
    assert answer.weights["working"] == 1.0


async def test_an_open_date_means_the_last_one_as_well_as_the_next(rig: Rig) -> None:
    rig.clock.at = datetime(2026, 5, 2, 9, tzinfo=UTC).timestamp()
    (right,) = await tell(rig, "a", "心情很差")
    rig.clock.at += 4 * DAY
    await tell(rig, "b", "心情很好")
    answer = await ask(rig, "在5月2号，我的心情是怎么样的？")
    raw = [hit.turns[0] for hit in answer.hits]
    assert raw[0] == right.id
