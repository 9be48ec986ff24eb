"""How the command line shows a phone's memory and state to a person."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from rich.console import Console
from rich.table import Table
from rich.text import Text

from device.interfaces.knowledge_views import published_line
from device.interfaces.words import say
from device.memory.records import Answer, Item
from device.observer import (
    Adopted,
    DreamEnded,
    Kept,
    PhoneEvent,
    Quarantined,
    UploadAcked,
    WindowClosed,
    WindowOpened,
)
from device.recall.floors import Floors
from device.status import BudgetStatus, MemoryStatus, Status, StreamStatus
from device.sync.client import SyncReport

__all__ = [
    "Narrator",
    "ago",
    "answer_table",
    "floors_line",
    "item_table",
    "status_table",
    "sync_lines",
]


class Narrator:
    """Tells whoever watches the daemon what it does, a line an event."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def on(self, event: PhoneEvent) -> None:
        """Say `event`, if people care for it."""
        line = _said(event)
        if line:
            moment = datetime.fromtimestamp(event.at).astimezone().strftime("%H:%M:%S")
            self._console.print(f"{moment}  {line}", highlight=False)


def _said(event: PhoneEvent) -> str:
    match event:
        case WindowOpened():
            return "window open: idle, charging, unmetered"
        case WindowClosed():
            return "window closed"
        case DreamEnded(outcome=outcome):
            return f"dream {outcome}"
        case Adopted(model=model, version=version):
            return f"{model} version {version} adopted"
        case Kept(model=model, version=version, reason=reason):
            return f"{model} version {version} not adopted: {reason}"
        case Quarantined():
            return "privacy ledger in quarantine: `reverie-device status` says why"
        case UploadAcked():
            return "a report was acknowledged by the cloud"
    return ""


MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def ago(at: float, now: float) -> str:
    """A span as people say it: "3 days ago", “3 天前”."""
    span = now - at
    if span < 0:
        return say("ahead")
    for size, name in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if span >= size:
            count = int(span // size)
            return say(name, count=count) if count > 1 else say(f"one {name}")
    return say("just now")


def answer_table(answer: Answer, zone: tzinfo) -> Table:
    """The hits of an answer with their provenance."""
    table = Table(title=None, show_lines=False, expand=True)
    table.add_column("memory", ratio=5)
    table.add_column("from", ratio=2)
    table.add_column("layer")
    table.add_column("id", no_wrap=True)
    for hit in answer.hits:
        said = datetime.fromtimestamp(hit.at, zone).strftime("%Y-%m-%d %H:%M")
        origin = f"{said} ({ago(hit.at, answer.at)})"
        if hit.public is not None:
            origin = published_line(hit.public)
        if hit.source:
            origin += f"\n{hit.source}"
        table.add_row(Text(hit.text), Text(origin), hit.layer.value, hit.id)
    return table


def item_table(items: list[Item], zone: tzinfo) -> Table:
    """Structured memories, newest first."""
    table = Table(expand=True)
    for heading in ("what", "kind", "state", "when", "id"):
        table.add_column(heading, no_wrap=heading == "id")
    for item in sorted(items, key=lambda item: (-item.updated, item.id)):
        when = ""
        if item.starts is not None:
            when = datetime.fromtimestamp(item.starts, zone).strftime("%Y-%m-%d %H:%M")
        table.add_row(Text(item.text), item.kind.value, item.state.value, when, item.id)
    return table


def status_table(status: Status) -> Table:
    """Everything `status` says, one line each."""
    table = Table.grid(padding=(0, 2))
    rows: tuple[tuple[str, Text | str], ...] = (
        ("window", _window(status)),
        ("memory", _memory(status)),
        ("embedder", _embedder(status)),
        *((("extractor", Text(status.extractor, style="red")),) if status.extractor else ()),
        ("distiller", _distiller(status)),
        *((f"{name} model", _model(status, name)) for name in status.models),
        ("routing", floors_line(status.floors)),
        ("privacy", _budget(status)),
        *((f"{name} stream", _stream(stream)) for name, stream in status.budget.streams.items()),
        *((("helper", _helper(status.budget)),) if status.budget.helper else ()),
        *((("ledger", Text(alarm, style="red")),) if (alarm := _alarm(status.budget)) else ()),
        ("outbox", f"{status.outbox} reports wait for the cloud"),
        *(("last sync", Text(problem, style="yellow")) for problem in status.problems),
        ("cloud", status.cloud_url or "none: this phone works alone"),
        ("phone id", status.device_id or "not enrolled yet"),
        ("key", _key(status)),
        *((("to know", ", ".join(status.unknown)),) if status.unknown else ()),
    )
    for name, value in rows:
        table.add_row(Text(name, style="bold"), value)
    return table


def floors_line(floors: Floors) -> str:
    """Under which weights layers are not searched, and who said so."""
    named = ", ".join(f"{name} {floor:.2f}" for name, floor in floors.named.items())
    return say("floors", floors=named, source=say(f"floors {floors.source}"))


def sync_lines(report: SyncReport) -> list[str]:
    """What a sync did, a line each."""
    lines = [f"{report.uploads_acked} reports acknowledged by the cloud"]
    if report.rounds_joined:
        lines.append(f"joined rounds: {', '.join(report.rounds_joined)}")
    elif not report.problems:
        lines.append("no round is open that this phone has not joined yet")
    for outcome in report.outcomes:
        verb = "adopted" if outcome.adopted else f"not adopted ({outcome.reason})"
        lines.append(
            f"{outcome.model} version {outcome.version} {verb}, probes {outcome.score:.0%}"
        )
    lines += [
        f"public document {document.name}, version {document.version} taken "
        f"({document.fetched} bytes)"
        for document in report.documents
        if document.taken
    ]
    return lines + report.problems


def _window(status: Status) -> Text:
    conditions = status.conditions
    words = {True: "yes", False: "no", None: "unknown"}
    battery = "unknown" if conditions.battery is None else f"{conditions.battery:.0%}"
    state = Text("open" if conditions.window_open else "closed")
    state.stylize("green" if conditions.window_open else "yellow")
    state.append(
        f"  (idle {words[conditions.idle]}, charging {words[conditions.charging]}, "
        f"unmetered {words[conditions.unmetered]}, battery {battery}; unknown counts as no)",
        style="default",
    )
    for reason in conditions.reasons:
        state.append(f"\n{reason}", style="yellow")
    return state


def _embedder(status: Status) -> Text:
    embedder = status.embedder
    text = Text(embedder.name)
    if embedder.leaves_phone:
        text.append(
            f"  what you say and ask leaves this phone, to {embedder.leaves_phone}", style="red"
        )
    if embedder.trouble:
        text.append(f"  {embedder.trouble}: recall goes by words alone", style="yellow")
    return text


def _distiller(status: Status) -> Text:
    distiller = status.distiller
    text = Text(distiller.name)
    if distiller.leaves_phone:
        text.append(
            f"  finished tasks, without typed text, leave this phone, to {distiller.leaves_phone}",
            style="red",
        )
    return text


def _process(memory: MemoryStatus) -> str:
    if memory.private_mb is None:
        return ""
    cleaned = f", cleaned up {memory.cleanings} times" if memory.cleanings else ""
    return (
        f"; {memory.private_mb:.0f} of {memory.limit_mb:.0f} MB of private memory over a bare "
        f"Python{cleaned}"
    )


def _memory(status: Status) -> str:
    memory = status.memory
    return (
        f"{memory.turns} turns, {memory.items} structured memories ({memory.archived} more in the "
        f"archive), {memory.working} in the "
        f"working ring; {memory.consolidated} turns consolidated; "
        f"{memory.bytes_stored / 1024:.0f} KiB sealed on disk{_process(memory)}"
    )


def _model(status: Status, name: str) -> str:
    model = status.models[name]
    return f"version {model.version}; {model.last_outcome}" if model.version else model.last_outcome


def _budget(status: Status) -> Text:
    budget = status.budget
    text = Text(
        f"ε {budget.epsilon_spent:.2f} spent in {budget.reports} reports at δ {budget.delta:g}, "
        f"{budget.epsilon_month:.2f} of it in 30 days, {budget.epsilon_year:.2f} in a year; "
        f"{budget.name} budget (cap ε {budget.epsilon_cap:g} a year, "
        f"{budget.epsilon_lifetime:.1f} in a lifetime)"
    )
    if not budget.private:
        text.append("  the demo budget protects nobody", style="red")
    return text


def _stream(stream: StreamStatus) -> str:
    return (
        f"{stream.left:.0%} of the year's budget left (ε {stream.epsilon_left:.2f}), "
        f"ε {stream.epsilon_report:.2f} a report; pays for {', '.join(stream.tasks)}"
    )


def _helper(budget: BudgetStatus) -> str:
    how = "named in the settings" if budget.helper_pinned else "the first one ever reported with"
    return f"{budget.helper[:16]}…, {how}: no other is reported with"


def _alarm(budget: BudgetStatus) -> str:
    """What is wrong with the ledger, in one sentence; empty when nothing is."""
    if budget.suspicion:
        return say("suspected", why=say(budget.suspicion))
    if budget.quarantined_at is None:
        return ""
    day = f"{datetime.fromtimestamp(budget.quarantined_at, UTC):%Y-%m-%d}"
    return say("quarantined", day=day, why=say(budget.quarantine))


def _key(status: Status) -> Text:
    text = Text(status.protector)
    if not status.protector_secure:
        text.append("  insecure: whoever copies this folder can read the memory", style="yellow")
    return text
