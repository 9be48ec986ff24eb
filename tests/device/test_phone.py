"""A phone by itself: it serves offline, keeps what it acknowledged, and forgets for good."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from device.actors import SystemClock
from device.conditions import Interval, ScriptedConditions
from device.memory.records import Layer
from device.settings import Settings, SettingsInvalid, load_settings, save_settings
from device.sync.channel import CloudUnreachable
from device.vault import MemoryStorage
from tests.device.conftest import OpenPhone

TRIP = "下周三去杭州出差"
FLAT = "I moved to 12 Elm Road last month"


async def test_what_is_recorded_is_recalled_with_its_provenance(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    turn = await phone.record(FLAT, speaker="user", source="chat#1")
    await phone.record(TRIP)
    answer = await phone.recall("Elm Road")
    assert answer.hits[0].turns == (turn.id,)
    assert answer.hits[0].source == "chat#1"


async def test_an_acknowledged_turn_survives_a_restart(open_phone: OpenPhone) -> None:
    storage = MemoryStorage()
    phone = await open_phone(storage=storage)
    turn = await phone.record(TRIP)
    # Not closed: a killed process does not close anything.
    again = await open_phone(storage=storage)
    assert [kept.id for kept in await again.turns()] == [turn.id]


async def test_a_dream_fills_the_structured_layer_once(open_phone: OpenPhone) -> None:
    phone = await open_phone(timezone="Asia/Shanghai")
    await phone.record(TRIP)
    await phone.record("我喜欢靠窗的座位")
    first = await phone.dream()
    items = await phone.items()
    second = await phone.dream()
    assert first.consolidated == 2
    assert second.consolidated == 0
    assert items
    assert await phone.items() == items
    assert all(item.turns for item in items)


async def test_forgetting_reaches_every_layer(open_phone: OpenPhone) -> None:
    storage = MemoryStorage()
    phone = await open_phone(storage=storage)
    turn = await phone.record("I prefer the window seat on trains")
    await phone.dream()
    assert await phone.items()
    await phone.forget([turn.id])
    assert (await phone.recall("window seat")).hits == ()
    assert await phone.items() == []
    again = await open_phone(storage=storage)
    assert await again.turns() == []
    assert await again.items() == []


async def test_feedback_becomes_router_examples(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.record(FLAT)
    answer = await phone.recall("Elm Road")
    await phone.feedback(answer, [answer.hits[0].id])
    features, labels = phone.examples.training_set("router")
    assert len(features) == 1
    assert labels[0].tolist() == [layer is answer.hits[0].layer for layer in Layer]


async def test_recall_is_served_while_a_dream_runs(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.record_many([])
    for number in range(300):
        await phone.record(f"On day {number} I met Mara in the park and bought {number} apples")
    dream = asyncio.create_task(phone.dream())
    await asyncio.sleep(0)
    answer = await phone.recall("Mara park")
    assert answer.hits
    assert not dream.done()
    await dream


async def test_without_a_cloud_sync_says_what_to_do(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    with pytest.raises(CloudUnreachable, match="init --cloud"):
        await phone.sync_now()


async def test_status_tells_window_memory_models_and_budget(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.record(FLAT)
    status = await phone.status()
    assert status.memory.turns == 1
    assert status.conditions.window_open
    assert status.models["router"].version == 0
    assert status.budget.epsilon_spent == 0.0
    assert not status.budget.private


async def test_status_calls_the_window_shut_on_a_low_battery(open_phone: OpenPhone) -> None:
    """As the daemon would: the three conditions are not enough."""
    low = ScriptedConditions([Interval(start=0.0, end=9e9, battery=0.1)], SystemClock().now)
    status = await (await open_phone(conditions=low)).status()
    assert status.conditions.charging
    assert not status.conditions.window_open


def test_settings_survive_their_file(tmp_path: Path) -> None:
    settings = Settings(cloud_url='http://a"b', timezone="Asia/Shanghai", settle_seconds=5.0)
    save_settings(tmp_path, settings)
    assert load_settings(tmp_path) == settings
    assert (tmp_path / "device.toml").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("timezone = 'Mars/Base'", "IANA"),
        ("no_such = 1", "no_such"),
        ("budget = 'none'", "budget"),
        ("= broken", "cannot be read"),
    ],
)
def test_bad_settings_give_one_clear_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "device.toml").write_text(text)
    with pytest.raises(SettingsInvalid, match=says) as caught:
        load_settings(tmp_path)
    assert "\n" not in str(caught.value)


def test_no_settings_says_init(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="init"):
        load_settings(tmp_path)


async def test_an_old_chat_imported_today_does_not_fade_at_once(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    long_ago = SystemClock().now() - 300 * 86_400.0
    await phone.record("I had lunch with Mara at the harbour", at=long_ago)
    await phone.dream()
    assert await phone.items()
