"""A plain copy of the memory as one JSON file, and such a file brought back.

The file is written readable by its owner only. One that is read may come from anywhere: its size is
bounded before it is parsed, its whole content is checked before anything is stored, and every id in
it must name something in it.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, ValidationError

from device.actors import DomainError
from device.agent.keeping import is_readable
from device.faults import first_fault
from device.interfaces.chats import MAX_TEXT_CHARACTERS
from device.interfaces.service import PhoneCalls
from device.interfaces.whatsapp import MAX_TIME, MIN_TIME
from device.memory import Value
from device.memory.records import AGENT_KINDS, EventState, Item, ItemKind, Turn, TurnDraft
from device.owner import Copied

__all__ = ["CopyUnreadable", "CopyUnwritable", "MemoryCopy", "Restored", "bring_back", "read_copy",
           "write_copy"]  # fmt: skip

FORMAT, VERSION = "reverie-memory", 1
PRIVATE_FILE = 0o600
SECTIONS = {"turns": ("turns",), "items": ("items", "archive"), "values": ("values",)}
"""Lists of the file, with the parts of an export that fill each."""
FIRST = {"turns": "turns:-1", "items": "items:0", "values": "values:"}
"""Where an export begins to tell each part."""
MAX_FILE_BYTES = 256 << 20
"""A larger file is refused unread: it would not fit a phone's RAM."""
MAX_ENTRIES = 1_000_000
MAX_NAME = 1000
MAX_DETAIL_BYTES = 1 << 20
BATCH = 256
"""Turns that share one sync to disk while they are brought back."""


class CopyUnreadable(DomainError):
    """The file is no copy of a memory; nothing was brought back."""


class CopyUnwritable(DomainError):
    """The copy cannot be written where it was asked for."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)


Moment = Annotated[float, Field(ge=MIN_TIME, le=MAX_TIME)]
Named = Annotated[float, Field(ge=-MAX_TIME, le=4 * MAX_TIME)]
"""A time somebody named: it may lie far back or ahead."""
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Name = Annotated[str, Field(max_length=MAX_NAME)]
Text = Annotated[str, Field(max_length=MAX_TEXT_CHARACTERS)]
TurnId = Annotated[str, Field(pattern=r"^raw:\d{1,15}$")]
ItemId = Annotated[str, Field(pattern=r"^mem:\d{1,18}$")]


class CopiedTurn(_Part):
    """One turn; `consolidated` says that its items are in the copy too."""

    id: TurnId
    at: Moment
    speaker: Name
    text: Text
    session: Name = ""
    source: Name = ""
    kind: Literal["dialogue", "operation", "system"] = "dialogue"
    consolidated: bool = False


class CopiedItem(_Part):
    """One item, field by field as `Item`."""

    id: ItemId
    kind: ItemKind
    text: Text
    created: Moment
    updated: Moment
    turns: Annotated[list[TurnId], Field(max_length=MAX_ENTRIES)]
    subject: Name = ""
    action: Name = ""
    object: Text = ""
    place: Name = ""
    people: Annotated[list[Name], Field(max_length=MAX_NAME)] = []
    starts: Named | None = None
    ends: Named | None = None
    time_text: Name = ""
    sentiment: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.0
    confidence: Share = 1.0
    state: EventState = EventState.ACTIVE
    replaced_by: Annotated[str, Field(pattern=r"^(mem:\d{1,18})?$")] = ""
    accesses: Annotated[int, Field(ge=0, le=1 << 31)] = 0
    last_access: Moment = 0.0
    detail: Annotated[Base64Bytes, Field(max_length=MAX_DETAIL_BYTES)] = b""
    archived: bool = False


class CopiedValue(_Part):
    """One value of the working layer."""

    key: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
    value: Text
    source: Name = ""
    at: Moment = 0.0


class MemoryCopy(_Part):
    """The whole file."""

    format: Literal["reverie-memory"]
    version: Literal[1]
    written: str = ""
    turns: Annotated[list[CopiedTurn], Field(max_length=MAX_ENTRIES)]
    items: Annotated[list[CopiedItem], Field(max_length=MAX_ENTRIES)]
    values: Annotated[list[CopiedValue], Field(max_length=MAX_ENTRIES)]


@dataclass(frozen=True, slots=True)
class Restored:
    """What a copy brought: new turns and items, and the turns that were known already."""

    turns: int
    items: int
    known: int


async def write_copy(
    phone: PhoneCalls, path: Path, *, now: float, overwrite: bool = False
) -> dict[str, int]:
    """Write everything the phone holds at `now` (unix seconds) to `path`, in clear; how many of
    each.

    Raises:
        CopyUnwritable: the file exists (and `overwrite` is not given), or cannot be made.
    """
    counts = dict.fromkeys(SECTIONS, 0)
    head = {
        "format": FORMAT,
        "version": VERSION,
        "written": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
    }
    with _fresh_file(path, overwrite=overwrite) as file:
        file.write(json.dumps(head)[:-1])
        for name, parts in SECTIONS.items():
            file.write(f', "{name}": [')
            async for page in _pages(phone, parts):
                for entry in _entries(name, page):
                    file.write("," if counts[name] else "")
                    file.write("\n" + json.dumps(entry, ensure_ascii=False))
                    counts[name] += 1
            file.write("\n]")
        file.write("}\n")
    return counts


def read_copy(path: Path) -> MemoryCopy:
    """Read and check a copy.

    Raises:
        CopyUnreadable: missing, too large, no JSON, not our format, or it names what it lacks.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise CopyUnreadable(f"{path} is larger than {MAX_FILE_BYTES >> 20} MiB")
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except OSError as error:
        raise CopyUnreadable(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise CopyUnreadable(f"{path} is not JSON; nothing was brought back") from None
    try:
        copy = MemoryCopy.model_validate(document, strict=False)
    except ValidationError as error:
        place, said = first_fault(error)
        raise CopyUnreadable(
            f"{path} is no copy made by `export` ({place}: {said}); nothing was brought back"
        ) from None
    _check_names(copy, path)
    return copy


async def bring_back(phone: PhoneCalls, copy: MemoryCopy) -> Restored:
    """Store what of `copy` is not held yet; doing it twice adds nothing."""
    known = {_said(turn): turn.id async for turn in _held(phone)}
    ids = {turn.id: known[_said(turn)] for turn in copy.turns if _said(turn) in known}
    fresh = [turn for turn in copy.turns if turn.id not in ids]
    for consolidated in (True, False):
        chosen = [turn for turn in fresh if turn.consolidated is consolidated]
        for first in range(0, len(chosen), BATCH):
            batch = chosen[first : first + BATCH]
            kept = await phone.restore_turns([_draft(turn) for turn in batch], consolidated)
            ids |= {turn.id: new.id for turn, new in zip(batch, kept, strict=True)}
    taken = await phone.restore_items(
        [_item(item) for item in copy.items],
        [item.id for item in copy.items if item.archived],
        ids,
    )
    await phone.restore_values([Value(v.key, v.value, v.source, v.at) for v in copy.values], ids)
    return Restored(len(fresh), taken.added, len(copy.turns) - len(fresh))


def _entries(section: str, page: Copied) -> Iterator[dict[str, Any]]:
    if section == "turns":
        waiting = set(page.unconsolidated)
        for turn in page.turns:
            yield asdict(turn) | {"consolidated": turn.id not in waiting}
    elif section == "items":
        for item in page.items:
            detail = base64.b64encode(item.detail).decode()
            yield asdict(item) | {"detail": detail, "archived": item.id in set(page.archived)}
    else:
        for value in page.values:
            if value.ended is None:
                yield {"key": value.key, "value": value.value, "source": value.source,
                       "at": value.at}  # fmt: skip


async def _pages(phone: PhoneCalls, parts: Sequence[str]) -> AsyncIterator[Copied]:
    cursor = FIRST[parts[0]]
    while cursor.partition(":")[0] in parts:
        page = await phone.export(cursor)
        yield page
        cursor = page.next


async def _held(phone: PhoneCalls) -> AsyncIterator[Turn]:
    after = -1
    while turns := await phone.turns(after):
        for turn in turns:
            yield turn
        after = turns[-1].sequence


def _said(turn: Turn | CopiedTurn) -> tuple[float, str, str, str, str, str]:
    """What makes two turns the same, whatever they are called."""
    return turn.at, turn.speaker, turn.text, turn.session, turn.source, turn.kind


def _draft(turn: CopiedTurn) -> TurnDraft:
    return TurnDraft(turn.at, turn.speaker, turn.text, turn.session, turn.source, turn.kind)


def _item(copied: CopiedItem) -> Item:
    fields = copied.model_dump(exclude={"archived", "detail"})
    lists = {"turns": tuple(copied.turns), "people": tuple(copied.people)}
    return Item(**fields | lists, detail=copied.detail)


def _check_names(copy: MemoryCopy, path: Path) -> None:
    turns, items = {turn.id for turn in copy.turns}, {item.id for item in copy.items}
    if len(turns) != len(copy.turns) or len(items) != len(copy.items):
        raise CopyUnreadable(f"{path} gives one id to two memories; nothing was brought back")
    for item in copy.items:
        newer = item.replaced_by
        lost = bool(item.turns) and turns.isdisjoint(item.turns)
        if lost or (newer and newer not in items):
            raise CopyUnreadable(
                f"{path}: {item.id} names memories that are not in the file; "
                "nothing was brought back"
            )
        if item.kind in AGENT_KINDS and not is_readable(_item(item)):
            raise CopyUnreadable(f"{path}: {item.id} is damaged; nothing was brought back")


def _no_number(name: str) -> float:
    raise ValueError(name)


@contextmanager
def _fresh_file(path: Path, *, overwrite: bool) -> Iterator[TextIO]:
    """A file for the owner alone; a half-written one is removed, a good one put in place whole."""
    if path.exists() and not overwrite:
        raise CopyUnwritable(f"{path} exists; pass --force to overwrite it")
    beside = path.with_name(f".{path.name}.new")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), PRIVATE_FILE)
            yield file
        beside.replace(path)
    except OSError as error:
        raise CopyUnwritable(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
