"""Availability traces from elsewhere: intervals as CSV, and FedScale's device-availability format.

**CSV of intervals**, told by its header ``phone,condition,start,end`` with an optional ``zone``:

* ``condition``: charging, unmetered (or wifi), idle; or window, where all three are known to hold.
  A condition that a phone's rows never name never held for it; a file must name all three, or
  window. A phone of window rows charges on Wi-Fi all day and is idle in its windows: which of the
  three was missing elsewhere is not known.
* ``start`` and ``end``: ISO 8601, or unix seconds. The wall clock is what counts: a phone's hours
  of day and days of the week stay those that its owner saw.
* ``zone``: an IANA name; the phone then lives there, and unix seconds are told in it. Without it
  an ISO time stands as it is written and unix seconds are told in UTC.

**FedScale** (Lai et al., ICML 2022; benchmark/dataset/data/device_info): JSON, one object whose
keys are client ids and whose values are ``{"active": [seconds …], "inactive": [seconds …],
"finish_time": seconds, "duration": seconds, "model": text}``. A client is there from ``active[i]``
to ``inactive[i]`` and begins again after ``finish_time``; duration and model are not used. Being
active means idle, charging and on unmetered Wi-Fi (Yang et al., WWW 2021, whose phones these are);
second 0 is taken as a Monday's local midnight. FedScale ships a pickle, which can run anything when
it is loaded, so it is refused here. Whoever trusts the file turns it into JSON once::

    python -c "import json, pickle, sys; json.dump(pickle.load(sys.stdin.buffer), sys.stdout)" \\
        < client_behave_trace > client_behave_trace.json

Traces repeat: one of a week or more by its whole weeks, a shorter one by its whole days.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from simulator.tracks import CONDITIONS, PhoneAvailability, Track

__all__ = [
    "MAX_BYTES",
    "MAX_INTERVALS",
    "MAX_TRACES",
    "PhoneTrace",
    "TraceUnreadable",
    "load_traces",
]

MAX_BYTES = 256 << 20
MAX_TRACES = 200_000
MAX_INTERVALS = 20_000_000
_COLUMNS = ("phone", "condition", "start", "end")
_WINDOW = "window"
_ALIASES = {"wifi": "unmetered"}
_DAY = 86_400.0
_WEEK = 7 * _DAY
_MONDAY = 4 * _DAY
"""From the beginning of unix time, a Thursday, to the first Monday."""
_LATEST = 253_402_300_799.0
"""The end of the year 9999."""
_SHOWN = 40
_PICKLE = b"\x80"
"""The first byte of every pickle of protocol 2 or later."""

Span = tuple[float, float]


class TraceUnreadable(Exception):
    """A file that holds no trace we know; one line says where and why."""


@dataclass(frozen=True)
class PhoneTrace:
    """What one real phone's conditions were, in seconds of its local wall clock.

    `spans` lie within ``[begin, begin + period)``; second 0 is a Monday's midnight.
    """

    name: str
    spans: tuple[tuple[Span, ...], tuple[Span, ...], tuple[Span, ...]]
    """One ascending, disjoint list for each of `CONDITIONS`; ``((-inf, inf),)`` for always."""
    begin: float
    period: float
    zone: str = ""
    """Where the phone lives; empty where the trace does not say."""

    def replay(self, *, start: float, days: int, utc_offset: float) -> PhoneAvailability:
        """The trace from unix time `start` on, shifted by whole weeks and repeated."""
        local = (start + utc_offset - _MONDAY) % _WEEK
        shift = start - local
        until = local + days * _DAY
        tracks = (self._track(spans, local, until, shift) for spans in self.spans)
        return PhoneAvailability(*tracks)

    def _track(self, spans: tuple[Span, ...], local: float, until: float, shift: float) -> Track:
        """Spans within ``[local, until)`` of the week's clock, as unix seconds."""
        if spans == _ALWAYS:
            return Track(((local + shift, until + shift),))
        found: list[Span] = []
        turn = math.floor((local - self.begin) / self.period)
        while self.begin + turn * self.period < until:
            by = turn * self.period
            for begin, end in spans:
                begin, end = max(begin + by, local), min(end + by, until)
                if begin < end:
                    found.append((begin + shift, end + shift))
            turn += 1
        return Track(tuple(_joined(found)))


_ALWAYS: tuple[Span, ...] = ((-math.inf, math.inf),)


def load_traces(path: Path) -> list[PhoneTrace]:
    """Every phone of a trace file, in the file's order.

    Raises:
        TraceUnreadable: too large, no known format, or a damaged entry (with its line or client).
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise TraceUnreadable(f"cannot read {path}: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise TraceUnreadable(f"{path}: over {MAX_BYTES >> 20} MiB; split the file")
    if content.startswith(_PICKLE):
        raise TraceUnreadable(
            f"{path} is a pickle, which is never loaded here: turn it into JSON first "
            "(simulator/traces.py says how)"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TraceUnreadable(f"{path} is not UTF-8 text") from None
    try:
        return _fedscale(text) if text.lstrip().startswith("{") else _intervals(text)
    except _Bad as error:
        raise TraceUnreadable(" ".join(f"{path}: {error}".split())) from None


class _Bad(Exception):
    """What is wrong within a file."""


def _intervals(text: str) -> list[PhoneTrace]:
    reader = csv.reader(io.StringIO(text))
    try:
        header = [name.strip().lower() for name in next(reader)]
    except (StopIteration, csv.Error):
        raise _Bad("line 1: the file is empty") from None
    if tuple(header[:4]) != _COLUMNS or header[4:] not in ([], ["zone"]):
        raise _Bad(f"line 1: give the columns {','.join(_COLUMNS)}, and zone if it is known")
    spans: dict[str, dict[str, list[Span]]] = {}
    zones: dict[str, str] = {}
    for count, (line, row) in enumerate(_rows(reader)):
        phone, condition, span, zone = _row(row, len(header), line)
        if zones.setdefault(phone, zone) != zone:
            raise _Bad(f"line {line}: phone {phone[:_SHOWN]!r} was in another zone before")
        spans.setdefault(phone, defaultdict(list))[condition].append(span)
        if count >= MAX_INTERVALS or len(spans) > MAX_TRACES:
            raise _Bad(f"line {line}: over {MAX_TRACES:,} phones or {MAX_INTERVALS:,} intervals")
    named = {condition for each in spans.values() for condition in each}
    missing = [name for name in CONDITIONS if name not in named]
    if _WINDOW not in named and missing:
        raise _Bad(f"no row is about {' or '.join(missing)}: name all three conditions, or window")
    return [_trace(phone, each, zones[phone]) for phone, each in spans.items()]


def _rows(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Rows that hold anything, with their line."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _Bad(f"line {reader.line_num}: {error}") from None
        if any(cell.strip() for cell in row):
            yield reader.line_num, row


def _row(row: Sequence[str], columns: int, line: int) -> tuple[str, str, Span, str]:
    if len(row) != columns:
        raise _Bad(f"line {line}: {len(row)} cells where the header has {columns}")
    phone, condition, start, end = (cell.strip() for cell in row[:4])
    condition = _ALIASES.get(condition.lower(), condition.lower())
    if not phone:
        raise _Bad(f"line {line}: no phone is named")
    if condition not in (*CONDITIONS, _WINDOW):
        known = ", ".join((*CONDITIONS, _WINDOW))
        raise _Bad(f"line {line}: {condition[:_SHOWN]!r} is no condition; there are {known}")
    name = row[4].strip() if columns > len(_COLUMNS) else ""
    begin, finish = (_wall_clock(cell, name, line) for cell in (start, end))
    if begin >= finish:
        raise _Bad(f"line {line}: the end is not after the start")
    # Unix seconds alone are told in UTC, and a phone that saw UTC on its clock lives there.
    lives = name or ("UTC" if _number(start) is not None else "")
    return phone, condition, (begin, finish), lives


def _wall_clock(text: str, zone: str, line: int) -> float:
    """Seconds on the wall clock, from the beginning of unix time."""
    lives, number = _zone(zone, line), _number(text)
    try:
        if number is not None:
            if not 0.0 <= number <= _LATEST:
                raise ValueError
            moment = datetime.fromtimestamp(number, lives or UTC)
        else:
            moment = datetime.fromisoformat(text)
            if lives is not None and moment.tzinfo is not None:
                moment = moment.astimezone(lives)
        return moment.replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError, OSError):
        given = text[:_SHOWN]
        raise _Bad(f"line {line}: {given!r} is neither ISO 8601 nor unix seconds") from None


def _zone(name: str, line: int) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise _Bad(f"line {line}: {name[:_SHOWN]!r} is no IANA time zone") from None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _trace(phone: str, spans: dict[str, list[Span]], zone: str) -> PhoneTrace:
    everything = [span for each in spans.values() for span in each]
    first = min(begin for begin, _ in everything)
    last = max(end for _, end in everything)
    begin = math.floor(first / _DAY) * _DAY
    days = max(1, math.ceil(last / _DAY) - math.floor(first / _DAY))
    period = (days // 7 * 7 if days >= 7 else days) * _DAY
    shift = _MONDAY  # the wall clock's weeks begin on Mondays, unix time on a Thursday
    kept = {
        name: tuple(
            (max(b, begin) - shift, min(e, begin + period) - shift)
            for b, e in _joined(each)
            if b < begin + period
        )
        for name, each in spans.items()
    }
    if _WINDOW in kept and len(kept) == 1:
        return PhoneTrace(phone, (_ALWAYS, _ALWAYS, kept[_WINDOW]), begin - shift, period, zone)
    if _WINDOW in kept:
        raise _Bad(f"phone {phone[:_SHOWN]!r} has rows of window and of its parts: give one kind")
    tracks = tuple(kept.get(name, ()) for name in CONDITIONS)
    return PhoneTrace(phone, (tracks[0], tracks[1], tracks[2]), begin - shift, period, zone)


def _fedscale(text: str) -> list[PhoneTrace]:
    try:
        clients = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise _Bad(f"line {line}: not JSON") from None
    if not clients:
        raise _Bad("line 1: no client is in it")
    if len(clients) > MAX_TRACES:
        raise _Bad(f"over {MAX_TRACES:,} clients")
    return [_client(name, entry) for name, entry in clients.items()]


def _client(name: str, entry: Any) -> PhoneTrace:
    where = f"client {name[:_SHOWN]!r}"
    if not isinstance(entry, dict):
        raise _Bad(f"{where}: an object with active, inactive and finish_time is expected")
    active, inactive = (_seconds(entry.get(name)) for name in ("active", "inactive"))
    finish = _seconds([entry.get("finish_time")])
    if active is None or inactive is None:
        raise _Bad(f"{where}: active and inactive must be lists of seconds")
    if finish is None or not finish[0]:
        raise _Bad(f"{where}: finish_time must be a number of seconds above 0")
    if len(active) != len(inactive):
        raise _Bad(f"{where}: {len(active)} active but {len(inactive)} inactive moments")
    moments = [moment for pair in zip(active, inactive, strict=True) for moment in pair]
    if any(later < earlier for earlier, later in pairwise(moments)):
        raise _Bad(f"{where}: active and inactive do not follow one another in time")
    period = finish[0]
    spans = [
        (begin, min(end, period))
        for begin, end in zip(active, inactive, strict=True)
        if begin < end and begin < period
    ]
    return PhoneTrace(name, (_ALWAYS, _ALWAYS, tuple(_joined(spans))), 0.0, period)


def _seconds(values: Any) -> list[float] | None:
    """The values, if they are a list of seconds."""
    if not isinstance(values, list):
        return None
    numbers = (isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    if not all(numbers) or not all(0 <= value <= _LATEST for value in values):
        return None
    return [float(value) for value in values]


def _joined(spans: Iterable[Span]) -> list[Span]:
    """The same seconds as ascending spans that neither touch nor overlap."""
    joined: list[Span] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined
