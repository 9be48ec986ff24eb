"""How the command line shows one memory, where it comes from, and what would go."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo

from rich.table import Table
from rich.text import Text

from device.interfaces.knowledge_views import published_line
from device.interfaces.views import ago, floors_line
from device.interfaces.words import say
from device.memory.records import Item, Turn
from device.owner import ForgetPlan, Forgotten, Reason, Shown, Why

__all__ = ["forgotten_line", "plan_table", "shown_table", "why_lines"]

USER = "user"


def shown_table(shown: Shown, zone: tzinfo) -> Table:
    """One memory whole, a row a fact."""
    table = Table.grid(padding=(0, 2))
    for name, value in _rows(shown, zone):
        table.add_row(Text(name, style="bold"), Text(value))
    return table


def why_lines(why: Why, zone: tzinfo) -> Iterator[Text]:
    """Where an answer comes from, memory by memory."""
    if why.decided_by == "id":
        yield Text(say("by id"), style="dim")
    else:
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in why.weights.items())
        routed = say("routed", by=why.decided_by, weights=weights, rounds=why.rounds)
        yield Text(routed, style="dim")
        if why.floors is not None:
            yield Text(floors_line(why.floors), style="dim")
    for reason in why.reasons:
        yield from _reason(reason, why.at, zone)
    if why.missing:
        yield Text(say("missing", what=", ".join(why.missing)), style="yellow")


def plan_table(plan: ForgetPlan, zone: tzinfo) -> Table:
    """The memories that would go."""
    table = Table(expand=True)
    for heading in ("what", "kind", "when", "id"):
        table.add_column(heading, no_wrap=heading == "id")
    for doomed in plan.shown:
        table.add_row(Text(doomed.text), doomed.kind, _moment(doomed.at, zone), doomed.id)
    return table


def forgotten_line(gone: Forgotten) -> str:
    """What a forgetting took."""
    return say(
        "forgotten",
        turns=gone.turns,
        items=gone.items,
        values=gone.values,
        examples=gone.examples,
    )


def _rows(shown: Shown, zone: tzinfo) -> Iterator[tuple[str, str]]:
    yield "id", shown.id
    if shown.turn is not None:
        yield from _turn_rows(shown.turn, zone)
    elif shown.item is not None:
        yield from _item_rows(shown.item, zone)
        yield "set", say("archived" if shown.archived else "in use")
        yield "use", _use(shown.item, shown.at)
    elif shown.value is not None:
        yield shown.value.key, shown.value.value
    for turn in shown.sources:
        yield say("sources"), f"{_said(turn, shown.at)}: {turn.text}  [{turn.id}]"
    for identifier in shown.gone:
        yield say("sources"), say("turn gone", id=identifier)
    for identifier in shown.elsewhere:
        yield say("sources"), say("turn elsewhere", id=identifier)
    for name, items in (
        ("history", shown.older),
        ("changes", shown.changes),
        ("drawn", shown.drawn),
    ):
        for item in items:
            yield say(name), f"{item.text}  [{item.id}, {item.state.value}]"


def _turn_rows(turn: Turn, zone: tzinfo) -> Iterator[tuple[str, str]]:
    yield "text", turn.text
    yield "at", _moment(turn.at, zone)
    for name in ("speaker", "session", "source", "kind"):
        if value := getattr(turn, name):
            yield name, str(value)


def _item_rows(item: Item, zone: tzinfo) -> Iterator[tuple[str, str]]:
    yield "text", item.text
    yield "kind", f"{item.kind.value}, {item.state.value}"
    if item.starts is not None:
        until = f" – {_moment(item.ends, zone)}" if item.ends else ""
        yield "time", f"{_moment(item.starts, zone)}{until} ({item.time_text})"
    for name in ("subject", "action", "object", "place"):
        if value := getattr(item, name):
            yield name, str(value)
    if item.people:
        yield "people", ", ".join(item.people)
    yield "confidence", f"{item.confidence:.2f}"
    if item.replaced_by:
        yield "replaced by", item.replaced_by


def _reason(reason: Reason, now: float, zone: tzinfo) -> Iterator[Text]:
    hit = reason.hit
    state = f", {reason.state}" if reason.state else ""
    yield Text.assemble((hit.text, "bold"), f"  [{hit.id}, {hit.layer.value}{state}]")
    if hit.public is not None:
        yield Text(f"  {published_line(hit.public)}")
    for turn in reason.sources:
        quoted = "" if turn.text == hit.text else f": {turn.text}"
        source = f", {turn.source}" if turn.source else ""
        yield Text(f"  {_said(turn, now)}{quoted}  [{turn.id}, {_moment(turn.at, zone)}{source}]")
    for change in reason.changes:
        yield Text(f"  {change.text}  [{change.id}]", style="dim")


def _said(turn: Turn, now: float) -> str:
    speaker = say("you") if turn.speaker == USER else turn.speaker
    return say("said", speaker=speaker, ago=ago(turn.at, now))


def _use(item: Item, now: float) -> str:
    if not item.accesses:
        return say("never used")
    return say("used", count=item.accesses, ago=ago(item.last_access, now))


def _moment(at: float, zone: tzinfo) -> str:
    return datetime.fromtimestamp(at, zone).strftime("%Y-%m-%d %H:%M")
