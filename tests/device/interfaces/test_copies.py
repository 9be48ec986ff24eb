"""E: a plain export and its restore: nothing doubled or half-imported, hostile files refused."""

from __future__ import annotations

import base64
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest

from device.agent import Outcome, Run, Step
from device.interfaces import copies
from device.interfaces.copies import (
    CopyUnreadable,
    CopyUnwritable,
    bring_back,
    read_copy,
    write_copy,
)
from device.interfaces.service import reach, serving
from device.memory import Archive
from device.memory.records import Item
from device.phone import Phone
from tests.device.agent.parts import skill
from tests.device.conftest import OpenPhone

NOW = 1_780_000_000.0
SAID = (
    "My name is Ann Bell",
    "I like green tea",
    "I fly to Oslo next Wednesday",
    "move that trip to next Thursday",
    "我喜欢爬山",
    "cancel the trip",
)


async def filled(open_phone: OpenPhone, **settings: object) -> Phone:
    phone = await open_phone(**settings)
    for text in SAID:
        await phone.record(text, session="s1", source="chat")
    await phone.dream()
    liked = next(item for item in await phone.items() if item.object == "green tea")
    await phone._structured.ask(Archive([liked.id]))
    await phone.record("not taken in yet: I like plums")
    return phone


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def meaning(items: list[Item]) -> list[tuple[object, ...]]:
    """Items without the names they go by."""
    return sorted((i.kind, i.text, i.state, bool(i.replaced_by), i.starts or 0.0) for i in items)


async def test_an_export_brings_a_memory_whole_to_another_phone(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await filled(open_phone)
    path = tmp_path / "memory.json"
    counts = await write_copy(phone, path, now=NOW)
    assert counts == {"turns": 7, "items": len(await phone.items()) + 1, "values": 1}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "I like green tea" in path.read_text("utf-8"), "plain on purpose"

    other = await open_phone()
    await other.record("something of its own comes first")
    done = await bring_back(other, read_copy(path))
    assert (done.turns, done.items, done.known) == (7, counts["items"], 0)
    assert meaning(await other.items()) == meaning(await phone.items())
    assert meaning(await other.archived()) == meaning(await phone.archived())
    assert [(v.key, v.value) for v in await other.values()] == [("name", "Ann Bell")]
    held = {turn.id: turn.text for turn in await other.turns()}
    for item in [*await other.items(), *await other.archived()]:
        assert all(turn in held for turn in item.turns)
    trip = next(i for i in await other.items() if i.replaced_by)
    shown = await other.show(trip.replaced_by)
    assert [old.id for old in shown.older] == [trip.id]
    assert {change.action for change in shown.changes} == {"moved", "cancelled"}


async def test_restoring_twice_or_where_it_came_from_adds_nothing(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await filled(open_phone)
    path = tmp_path / "memory.json"
    await write_copy(phone, path, now=NOW)
    here, cold, turns = await phone.items(), await phone.archived(), await phone.turns()
    done = await bring_back(phone, read_copy(path))
    assert (done.turns, done.items, done.known) == (0, 0, 7)
    assert (await phone.items(), await phone.archived(), await phone.turns()) == (here, cold, turns)

    other = await open_phone()
    for _ in range(2):
        await bring_back(other, read_copy(path))
    assert len(await other.turns()) == 7
    assert meaning(await other.items()) == meaning(here)


async def test_what_is_brought_back_is_not_consolidated_a_second_time(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await filled(open_phone)
    await write_copy(phone, tmp_path / "m.json", now=NOW)
    other = await open_phone()
    await other.record("I meet Bo next Monday")
    await bring_back(other, read_copy(tmp_path / "m.json"))
    before = {item.id for item in [*await other.items(), *await other.archived()]}
    assert (await other.dream()).consolidated == 1, "only the turn no dream had taken in"
    after = [*await other.items(), *await other.archived()]
    (fresh,) = [item for item in after if item.id not in before]
    assert fresh.object == "plums"
    # "Cancel the trip" is not applied once more, to the next plan there is.
    assert next(i for i in after if "Bo" in i.text).state == "active"


async def test_what_was_forgotten_comes_back_when_its_owner_restores_it(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await filled(open_phone)
    await phone.consolidate()
    before = meaning(await phone.items())
    await write_copy(phone, tmp_path / "m.json", now=NOW)
    await phone.forget_query("Oslo")
    await phone.forget_query("trip")
    assert meaning(await phone.items()) != before
    await bring_back(phone, read_copy(tmp_path / "m.json"))
    assert meaning(await phone.items()) == before


async def test_it_all_works_through_the_daemon(open_phone: OpenPhone, tmp_path: Path) -> None:
    phone = await filled(open_phone)
    async with serving(phone, tmp_path), reach(tmp_path, phone.settings) as served:
        assert served is not None
        await write_copy(served, tmp_path / "m.json", now=NOW)
    other = await open_phone()
    async with serving(other, tmp_path), reach(tmp_path, other.settings) as served:
        assert served is not None
        await bring_back(served, read_copy(tmp_path / "m.json"))
    assert meaning(await other.items()) == meaning(await phone.items())


async def test_a_copy_larger_than_a_page_is_whole(
    open_phone: OpenPhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device.owner.keeping.PAGE", 2)
    monkeypatch.setattr(copies, "BATCH", 3)
    phone = await filled(open_phone)
    counts = await write_copy(phone, tmp_path / "m.json", now=NOW)
    assert counts["turns"] == 7
    other = await open_phone()
    assert (await bring_back(other, read_copy(tmp_path / "m.json"))).items == counts["items"]


async def test_an_existing_file_is_not_overwritten_unasked(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await filled(open_phone)
    path = tmp_path / "m.json"
    path.write_text("precious")
    with pytest.raises(CopyUnwritable, match="--force"):
        await write_copy(phone, path, now=NOW)
    assert path.read_text() == "precious"
    await write_copy(phone, path, now=NOW, overwrite=True)
    assert read_copy(path).turns
    with pytest.raises(CopyUnwritable, match="cannot be written"):
        await write_copy(phone, tmp_path / "no" / "such" / "folder.json", now=NOW)
    assert names(tmp_path) == ["m.json"], "no half-written file is left"


def _of(section: str, place: int, **fields: object) -> Callable[[dict[str, Any]], None]:
    return lambda whole: whole[section][place].update(fields)


SPOILT: tuple[Callable[[dict[str, Any]], object], ...] = (
    lambda whole: whole.update(format="other"),
    lambda whole: whole.update(version=2),
    lambda whole: whole.update(extra=1),
    lambda whole: whole.pop("turns"),
    lambda whole: whole.update(items={}),
    _of("turns", 0, at="yesterday"),
    _of("turns", 0, at=1e300),
    _of("turns", 0, id="../../etc"),
    _of("turns", 1, id="raw:0"),
    _of("turns", 0, text="x" * 70_000),
    _of("turns", 0, kind="order"),
    _of("turns", 0, strange=True),
    _of("items", 0, id="raw:1"),
    _of("items", 0, kind="secret"),
    _of("items", 0, confidence=7),
    _of("items", 0, turns=["raw:555"]),
    _of("items", 0, replaced_by="mem:555555"),
    _of("items", 0, detail="not base64 at all!"),
    _of("values", 0, key=""),
)


async def test_a_spoilt_copy_is_refused_whole_in_one_line(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    await write_copy(await filled(open_phone), tmp_path / "good.json", now=NOW)
    good = (tmp_path / "good.json").read_text("utf-8")
    path = tmp_path / "spoilt.json"
    for number, spoil in enumerate(SPOILT):
        document = json.loads(good)
        spoil(document)
        path.write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(CopyUnreadable, match="nothing was brought back") as caught:
            pytest.fail(f"spoilt copy {number} was read: {read_copy(path)!r:.60}")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"turns": NaN}', b"hello"],
)
def test_what_is_no_copy_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    with pytest.raises(CopyUnreadable):
        read_copy(path)


def test_a_file_too_large_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "MAX_FILE_BYTES", 10)
    path = tmp_path / "large.json"
    path.write_text("{}" * 100)
    with pytest.raises(CopyUnreadable, match="larger than"):
        read_copy(path)
    with pytest.raises(CopyUnreadable, match="cannot be read"):
        read_copy(tmp_path / "missing.json")


def searched(at: float) -> Run:
    target = "click on the search icon at the bottom of the screen"
    return Run("t", "find a lamp", "shop", (Step(at, "click", target),), Outcome.SUCCESS, at)


async def test_what_an_agent_learnt_comes_along_and_is_not_doubled(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await open_phone()
    await phone.agent.record_run(searched(phone._clock.now()))
    await phone.agent.add_skill(skill("search"))
    path = tmp_path / "memory.json"
    await write_copy(phone, path, now=NOW)

    other = await open_phone()
    for _ in range(2):
        await bring_back(other, read_copy(path))
        told = [known.fact.content for known in await other.agent.facts_for(["shop"])]
        assert told == ["The search icon is at the bottom of the screen."]
        assert [known.skill.name for known in await other.agent.skills()] == ["search"]
        assert len(await other.agent.habits("find a lamp")) == 1


@pytest.mark.parametrize(
    "detail",
    [b"", b"garbage", msgpack.packb([1]), msgpack.packb(["x", [], 0, 0, False, []])],
    ids=["empty", "garbage", "short", "a word for a time"],
)
async def test_a_spoilt_fact_is_refused_before_anything_comes_in(
    open_phone: OpenPhone, tmp_path: Path, detail: bytes
) -> None:
    phone = await open_phone()
    await phone.agent.record_run(searched(phone._clock.now()))
    path = tmp_path / "memory.json"
    await write_copy(phone, path, now=NOW)
    copy = json.loads(path.read_text("utf-8"))
    fact = next(one for one in copy["items"] if one["kind"] == "fact")
    fact["detail"] = base64.b64encode(detail).decode()
    path.write_text(json.dumps(copy), "utf-8")
    with pytest.raises(CopyUnreadable, match="damaged"):
        read_copy(path)
