"""The public recogniser cases as exact expectations, and a scorer for time expressions of any peer.

A *single-value case* is one result of the corpus whose type is date, time, datetime, daterange,
timerange or datetimerange and whose resolution has exactly one distinct value with a date or a
time in it (values "not resolved" are no values). A case is right only when an expression that
overlaps the case's words says exactly that: the whole day of a date, the time of day of a time, the
instant of a datetime, both ends of a range, the one known end of an open range with the other open.

Expectations are made from the corpus alone and compared exactly. Where the corpus *writes* a bound
otherwise than our half-open ranges do, it is rewritten first, never loosened:

* "A to B" is written with where B begins; as a half-open range it ends where B ends ("10 to 12
  January" holds the 12th). The unit of B is the unit the corpus counts the range in.
* "The rest of the week" is written with its last day, inclusive: half-open it ends a day later.
* "B or before" is written with the day B, inclusive: half-open it ends at B + 1 day; "after A"
  with the day A, exclusive: half-open it starts at A + 1 day.
* A lunar date is written in its own calendar (`isLunar`): it is converted.
* A part of a day is written with hours of the corpus's own (晚上 and "evening": 16 to 20): the word
  stands for the hours people mean by it (`PART_HOURS`).

`literal=True` leaves every one of these as the corpus writes it: that stricter figure is reported
too.
"""

# ruff: noqa: E501 - a table reads best in rows

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from device.language.spans import add_months
from device.language.times import TimeExpression

__all__ = ["TYPES", "Case", "Finder", "Score", "Text", "load_cases", "score", "texts"]

TYPES = ("date", "time", "datetime", "daterange", "timerange", "datetimerange")
Finder = Callable[[str, datetime], list[TimeExpression]]
"""What finds the time expressions of a text said at an aware reference time."""

PART_HOURS = {
    "凌晨": (0, 6), "清晨": (5, 8), "今晨": (5, 9), "晨": (6, 12), "早间": (8, 12), "上午": (8, 12), "早": (6, 12),
    "中午": (11, 14), "正午": (12, 13), "午间": (11, 14), "下午": (12, 18), "午后": (12, 18), "傍晚": (16, 19),
    "夜里": (20, 26), "夜晚": (18, 24), "深夜": (22, 26), "半夜": (23, 27), "午夜": (23, 25), "晚": (18, 24), "夜": (20, 26),
    "morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "tonight": (18, 26), "tonite": (18, 26),
    "night": (20, 26), "daytime": (8, 18),
}  # fmt: skip
"""Hours people mean by a part of the day; the first word of the table that a case has counts."""
_PART = re.compile(r"T(MO|AF|EV|NI|MI|DT)$")
_COUNTED = re.compile(r"^\(.*,P(\d+)([DWMY])\)$")
_JOINED_ZH = re.compile(r"到|至|-|~|～|—|–|[和与].*间")
_JOINED_EN = re.compile(r"\b(?:to|until|till|through|thru|between)\b|[\d)a-z]\s?[-~–—]\s?[\da-z]")
_ENDING = re.compile(r"\b(?:end of|q[1-4]|quarter)\b[^-~]*$|[底末]$")
_ONE_UNIT = re.compile(r"\d{4}\s?-\s?[qh][1-4]|[qh][1-4]\s?-\s?\d{4}")
"""A hyphen that joins no two ends: 2019-H2."""
_REST_EN = re.compile(r"^(?:the\s)?(?:rest|remaining|remainder)\b")
_MIDNIGHT = timedelta()
_DAY = timedelta(days=1)
_INSTANT_LIMIT = timedelta(hours=1)
"""A time or an instant is said to the hour at the coarsest."""


@dataclass(frozen=True, slots=True)
class Case:
    """One result of the corpus: the words text[begin : stop] and what they mean.

    `values` are acceptable (start, end) pairs, local and half-open; None is an open end. `end` of
    a date, time or datetime is ignored but for its being short enough.
    """

    text: str
    reference: datetime
    kind: str
    words: str
    begin: int
    stop: int
    values: tuple[tuple[datetime | None, datetime | None], ...]


@dataclass(frozen=True, slots=True)
class Text:
    """One text of the corpus with the places of everything it marks as time (any type)."""

    text: str
    reference: datetime
    marked: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Score:
    """How many single-value cases came out exactly right, and what else was found."""

    right: Counter[str] = field(default_factory=Counter)
    total: Counter[str] = field(default_factory=Counter)
    missed: list[Case] = field(default_factory=list)
    """Cases with no expression on their words."""
    wrong: list[tuple[Case, list[TimeExpression]]] = field(default_factory=list)
    """Cases with expressions that say something else."""
    false: list[tuple[str, TimeExpression]] = field(default_factory=list)
    """Expressions on words that the corpus marks as nothing."""

    def share(self, kind: str | None = None) -> float:
        """Right over all, of one type or of every type."""
        right = self.right[kind] if kind else self.right.total()
        total = self.total[kind] if kind else self.total.total()
        return right / total if total else 0.0


def _documents(path: Path) -> Iterator[tuple[str, datetime, list[dict[str, Any]]]]:
    for case in json.loads(path.read_text(encoding="utf-8")):
        said = (case.get("Context") or {}).get("ReferenceDateTime", "2020-01-01T00:00:00")
        yield case["Input"], datetime.fromisoformat(said).replace(tzinfo=UTC), case["Results"]


def texts(path: Path) -> list[Text]:
    """Every text of a corpus file, with or without times in it."""
    found = []
    for text, reference, results in _documents(path):
        places = tuple((r["Start"], r["End"] + 1) for r in results if "Start" in r)
        found.append(Text(text, reference, places))
    return found


def load_cases(path: Path, *, literal: bool = False) -> list[Case]:
    """The single-value cases of a corpus file."""
    cases = []
    for text, reference, results in _documents(path):
        for result in results:
            kind = result["TypeName"].split(".")[1]
            value = _single(result) if kind in TYPES else None
            if value is None:
                continue
            words = result["Text"].lower()
            expected = _expected(kind, value, words, reference, literal=literal)
            begin, stop = result["Start"], result["End"] + 1
            cases.append(Case(text, reference, kind, words, begin, stop, expected))
    return cases


def _single(result: dict[str, Any]) -> dict[str, str] | None:
    values = (result.get("Resolution") or {}).get("values") or []
    known = [
        v
        for v in values
        if "start" in v or "end" in v or v.get("value") not in (None, "not resolved")
    ]
    distinct = {(v.get("value"), v.get("start"), v.get("end")) for v in known}
    return known[0] if len(distinct) == 1 else None


def _moment(value: str | None, reference: datetime) -> datetime | None:
    """A date, a time or both as the corpus writes them; a time alone is of the reference's day."""
    if value is None:
        return None
    if "-" not in value:
        value = f"{reference.date().isoformat()} {value}"
    return datetime.fromisoformat(value).replace(tzinfo=UTC)


def _expected(
    kind: str, value: dict[str, str], words: str, reference: datetime, *, literal: bool
) -> tuple[tuple[datetime | None, datetime | None], ...]:
    if not kind.endswith("range"):
        start = _moment(value["value"], reference)
        if value.get("isLunar") and not literal:
            start = _from_lunar(start)
        return ((start, None),)
    start, end = _moment(value.get("start"), reference), _moment(value.get("end"), reference)
    if literal:
        return ((start, end),)
    part = _PART.search(value.get("timex", ""))
    if part and start and end and "Mod" not in value:
        return (_part_meant(words, start, end),)
    if kind == "daterange" and value.get("sourceEntity") == "datetimepoint":
        inclusive = value["Mod"] == "until"
        exclusive = value["Mod"] == "after"
        start = start + _DAY if start and exclusive else start
        end = end + _DAY if end and inclusive else end
    if kind == "daterange" and start and end:
        end = _whole_end(value.get("timex", ""), words, end)
    return ((start, end),)


def _part_meant(words: str, start: datetime, end: datetime) -> tuple[datetime, datetime]:
    hours = next((hours for word, hours in PART_HOURS.items() if word in words), None)
    if hours is None:
        return start, end
    midnight = start.replace(hour=0, minute=0, second=0)
    return midnight + timedelta(hours=hours[0]), midnight + timedelta(hours=hours[1])


def _whole_end(timex: str, words: str, end: datetime) -> datetime:
    """Where B ends in "A to B", given where it begins."""
    counted = _COUNTED.match(timex)
    zh = not words.isascii() and re.search("[一-鿿]", words)
    if counted and _REST_EN.search(words):
        return end + _DAY
    joined = (_JOINED_ZH if zh else _JOINED_EN).search(words)
    if counted is None or joined is None or _ONE_UNIT.fullmatch(words):
        return end
    ending = _ENDING.search(words)
    if ending:
        quarter = ending.group().startswith("q") or "quarter" in ending.group()
        return _later(end, 3) if quarter else end
    unit = counted[2]
    return (
        end + _DAY
        if unit == "D"
        else end + 7 * _DAY
        if unit == "W"
        else _later(end, 1 if unit == "M" else 12)
    )


def _later(moment: datetime, months: int) -> datetime:
    return datetime.combine(add_months(moment.date(), months), moment.timetz())


def _from_lunar(moment: datetime | None) -> datetime | None:
    """The moment whose lunar year, month and day were written as if they were solar."""
    from device.language.chinese_times import lunar

    assert moment is not None
    if not lunar.FIRST_YEAR <= moment.year <= lunar.LAST_YEAR:
        return moment  # beyond the table neither the corpus nor we convert
    day = lunar.to_solar(moment.year, moment.month, moment.day)
    assert isinstance(day, date)
    return datetime.combine(day, moment.timetz())


def score(finder: Finder, cases: list[Case], corpus: list[Text]) -> Score:
    """Score what `finder` finds in every text of the corpus."""
    result = Score()
    found: dict[tuple[str, datetime], list[TimeExpression]] = {}
    for item in corpus:
        expressions = finder(item.text, item.reference)
        found[item.text, item.reference] = expressions
        result.false += [
            (item.text, e)
            for e in expressions
            if not any(_overlaps(e, begin, stop) for begin, stop in item.marked)
        ]
    for case in cases:
        result.total[case.kind] += 1
        near = [e for e in found[case.text, case.reference] if _overlaps(e, case.begin, case.stop)]
        if any(_right(case, expression) for expression in near):
            result.right[case.kind] += 1
        elif near:
            result.wrong.append((case, near))
        else:
            result.missed.append(case)
    return result


def _overlaps(expression: TimeExpression, begin: int, stop: int) -> bool:
    return expression.position < stop and begin < expression.position + len(expression.text)


def _right(case: Case, expression: TimeExpression) -> bool:
    start, end = (_local(bound, case.reference) for bound in (expression.start, expression.end))
    return any(_equal(case.kind, value, start, end, expression) for value in case.values)


def _local(bound: float, reference: datetime) -> datetime:
    return datetime.fromtimestamp(round(bound), reference.tzinfo)


def _equal(
    kind: str,
    value: tuple[datetime | None, datetime | None],
    start: datetime,
    end: datetime,
    expression: TimeExpression,
) -> bool:
    first, last = value
    if not kind.endswith("range"):
        if expression.open_start or expression.open_end or first is None:
            return False
        if kind == "date":
            return (start, end) == (first, first + _DAY)
        same = _clock(start) == _clock(first) if kind == "time" else start == first
        return same and end - start <= _INSTANT_LIMIT
    if expression.open_start != (first is None) or expression.open_end != (last is None):
        return False
    if kind == "timerange":
        return (first is None or _clock(first) == _clock(start)) and (
            last is None or _clock(last) == _clock(end)
        )
    return (first is None or first == start) and (last is None or last == end)


def _clock(moment: datetime) -> timedelta:
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return moment - midnight
