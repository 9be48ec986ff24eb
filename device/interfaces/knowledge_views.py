"""How the command line shows public documents, and a hit that comes from one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo

from rich.table import Table
from rich.text import Text

from device.interfaces.words import say
from device.memory.records import Published
from device.owner.knowledge import KnownDocument

__all__ = ["knowledge_table", "published_line"]


def published_line(public: Published) -> str:
    """Which public record an answer comes from, said so that none takes it for a memory."""
    return say("published", name=public.document, version=public.version, record=public.record)


def knowledge_table(known: Iterable[KnownDocument], zone: tzinfo) -> Table:
    """A row a document."""
    table = Table(expand=True)
    for heading in ("name", "version", "facts", "size", "published", "taken"):
        table.add_column(heading)
    for each in known:
        if each.dropped:
            table.add_row(Text(each.name), Text(say("knowledge gone"), style="dim"))
            continue
        table.add_row(
            Text(each.name),
            str(each.version),
            str(each.records),
            f"{each.size / 1024:.0f} KiB",
            _day(each.created, zone),
            _day(each.taken, zone),
        )
    return table


def _day(at: float, zone: tzinfo) -> str:
    return datetime.fromtimestamp(at, zone).strftime("%Y-%m-%d")
