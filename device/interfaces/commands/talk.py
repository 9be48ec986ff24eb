"""`record`, `import`, `recall`, `feedback`: what goes into the memory and comes out again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from device.actors import DomainError, SystemClock
from device.interfaces.chats import ChatUnreadable, read_chat
from device.interfaces.console import (
    AsJson,
    Home,
    console,
    counting_bar,
    print_json,
    show,
    with_phone,
)
from device.interfaces.service import PhoneCalls
from device.interfaces.views import answer_table
from device.interfaces.words import language, say
from device.memory.records import TurnDraft
from device.owner import question_for

__all__ = ["app"]

IMPORT_BATCH = 256
"""Turns that share one sync to disk while importing."""

app = typer.Typer()


class ExportRefused(DomainError):
    """A chat export that cannot be read, and where."""


@app.command(epilog='Example:  reverie-device record "I moved to 12 Elm Road"')
def record(
    home: Home,
    text: str,
    speaker: Annotated[str, typer.Option(help="Who said it.")] = "user",
    as_json: AsJson = False,
) -> None:
    """Remember one thing that was said."""

    async def work(phone: PhoneCalls) -> None:
        draft = TurnDraft(SystemClock().now(), speaker, text, source="cli")
        turn = (await phone.record_many([draft]))[0]
        show({"id": turn.id}, f"remembered as {turn.id}", as_json)
        if not as_json:
            await _wonder(phone)

    with_phone(home, work)


@app.command(
    name="import",
    epilog="Formats:  our JSONL (at, speaker, text)  ·  WhatsApp text export  ·  "
    "Telegram result.json. Importing a file twice adds nothing.",
)
def import_(home: Home, file: Path, as_json: AsJson = False) -> None:
    """Take in a chat export."""

    async def work(phone: PhoneCalls) -> None:
        known = await _known_turns(phone)
        drafts = _read_export(file, phone.settings.zone)
        fresh = [draft for draft in drafts if _fingerprint(draft) not in known]
        with counting_bar() as bar:
            task = bar.add_task("importing", total=len(fresh))
            for batch in _batches(fresh, IMPORT_BATCH):
                await phone.record_many(batch)
                bar.advance(task, len(batch))
        skipped = len(drafts) - len(fresh)
        said = f"{len(fresh)} turns imported from {file.name}"
        said += f", {skipped} were known already" if skipped else ""
        said += "; they become structured memories while the phone dreams"
        show({"imported": len(fresh), "known": skipped}, said, as_json)

    with_phone(home, work)


@app.command(epilog='Example:  reverie-device recall "when do I fly to Hangzhou?"')
def recall(
    home: Home,
    query: str,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many memories.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Ask the memory; every answer says where it comes from."""

    async def work(phone: PhoneCalls) -> None:
        answer = await phone.recall(query, k)
        if as_json:
            print_json(asdict(answer))
            return
        if not answer.hits:
            console.print(say("no answer"))
            await _wonder(phone)
            return
        console.print(answer_table(answer, phone.settings.zone))
        for change in answer.changes:
            console.print(f"{change.text}  [{change.id}]", style="dim", highlight=False)
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in answer.weights.items())
        console.print(f"routed by {answer.decided_by}: {weights}", style="dim")

    with_phone(home, work)


@app.command(epilog='Example:  reverie-device feedback "when do I fly?" raw:12 mem:3')
def feedback(
    home: Home,
    query: str,
    used: Annotated[list[str], typer.Argument(help="Ids of the memories that helped.")],
) -> None:
    """Say which memories answered a question; the router learns from it."""

    async def work(phone: PhoneCalls) -> None:
        answer = await phone.recall(query)
        await phone.feedback(answer, used)
        found = {hit.id for hit in answer.hits}
        missed = [name for name in used if name not in found]
        console.print(f"noted: {len(used) - len(missed)} memories helped")
        if missed:
            console.print(f"not among the answers: {', '.join(missed)}", style="yellow")

    with_phone(home, work)


async def _wonder(phone: PhoneCalls) -> None:
    """In its first turns a phone says what it would still like to know; it waits for no answer."""
    unknown = await phone.unknown()
    if unknown:
        question = question_for(unknown[0], language())
        console.print(say("to ask", question=question), style="dim", highlight=False)


async def _known_turns(phone: PhoneCalls) -> set[tuple[float, str, str]]:
    known: set[tuple[float, str, str]] = set()
    after = -1
    while turns := await phone.turns(after):
        known.update((turn.at, turn.speaker, turn.text) for turn in turns)
        after = turns[-1].sequence
    return known


def _read_export(file: Path, zone: ZoneInfo) -> list[TurnDraft]:
    try:
        return list(read_chat(file, tz=zone))
    except ChatUnreadable as error:
        raise ExportRefused(f"{file}: {error}; nothing was imported") from None


def _fingerprint(draft: TurnDraft) -> tuple[float, str, str]:
    return draft.at, draft.speaker, draft.text


def _batches(drafts: Iterable[TurnDraft], size: int) -> Iterator[list[TurnDraft]]:
    rest = iter(drafts)
    while batch := list(islice(rest, size)):
        yield batch
