from __future__ import annotations

import pytest

from device.memory import (
    Forget,
    ForgottenTurns,
    RawStats,
    Record,
    RecordMany,
    TurnsAfter,
    TurnsBetween,
    TurnsByIds,
    turnstore,
)
from device.memory.records import TurnDraft
from tests.device.memory.conftest import Store


def drafts(n: int) -> list[TurnDraft]:
    return [
        TurnDraft(float(i), "user", f"turn number {i} about 杭州", "s", f"f#{i}") for i in range(n)
    ]


async def test_turns_come_back_by_sequence_id_and_time(store: Store) -> None:
    raw, _, _ = await store.open()
    turns = await raw.ask(RecordMany(drafts(300)))
    assert [t.sequence for t in turns] == list(range(300))
    assert await raw.ask(TurnsAfter(-1, 1000)) == turns
    assert await raw.ask(TurnsAfter(100, 5)) == turns[101:106]
    assert await raw.ask(TurnsByIds(["raw:250", "raw:3", "raw:999", "mem:1", "nonsense"])) == [
        turns[250],
        turns[3],
    ]
    assert await raw.ask(TurnsBetween(10.0, 20.0)) == turns[10:20]


async def test_a_recorded_turn_survives_reopening(store: Store) -> None:
    raw, _, _ = await store.open()
    turn = await raw.ask(Record("我叫林晓", "user", 5.0, "s", "agent"))
    raw, _, _ = await store.open()
    assert await raw.ask(TurnsAfter()) == [turn]


async def test_forgotten_turns_are_gone_for_good_and_numbers_are_not_reused(store: Store) -> None:
    raw, _, _ = await store.open()
    await raw.ask(RecordMany(drafts(200)))
    before = await raw.ask(RawStats())
    assert await raw.ask(Forget(["raw:0", "raw:150", "raw:199", "raw:777"])) == 3
    after = await raw.ask(RawStats())
    assert (after.turns, after.forgotten) == (197, 3)
    assert after.revision > before.revision
    raw, _, _ = await store.open()
    assert await raw.ask(ForgottenTurns()) == ("raw:0", "raw:150", "raw:199")
    assert len(await raw.ask(TurnsAfter())) == 197
    assert (await raw.ask(Record("new", "user", 1.0))).id == "raw:200"


async def test_turns_are_held_compactly(store: Store) -> None:
    raw, _, _ = await store.open()
    await raw.ask(RecordMany(drafts(2000)))
    assert (await raw.ask(RawStats())).bytes_per_turn < 60


async def test_no_text_is_stored_in_clear(store: Store) -> None:
    raw, _, _ = await store.open()
    await raw.ask(Record("canary-7f3a", "user", 1.0))
    stored = b"".join(store.storage.read(name) for name in store.storage.names())
    assert b"canary-7f3a" not in stored


async def test_a_query_finds_the_time_segment_first_then_looks_inside(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, _, _ = await store.open()
    await raw.ask(RecordMany(drafts(10 * turnstore.BLOCK_TURNS)))
    opened: list[int] = []
    decode = turnstore._open

    def noted(block: turnstore._Block) -> list[tuple[int, bytes]]:
        opened.append(block.first)
        return decode(block)

    monkeypatch.setattr(turnstore, "_open", noted)
    start = 3 * turnstore.BLOCK_TURNS + 5.0
    found = await raw.ask(TurnsBetween(start, start + 10.0))
    assert [turn.at for turn in found] == [start + n for n in range(10)]
    assert opened == [3 * turnstore.BLOCK_TURNS]


async def test_old_turns_imported_late_are_found_by_their_time(store: Store) -> None:
    raw, _, _ = await store.open()
    await raw.ask(RecordMany(drafts(300)))
    await raw.ask(Record("an old letter", "user", 5.5))
    found = await raw.ask(TurnsBetween(5.0, 7.0))
    assert [turn.at for turn in found] == [5.0, 6.0, 5.5]
