"""Time expressions, zh and en: cases of public corpora resolved exactly, against the peers; speed.

Why rules of our own: Recognizers' Python port is scored here on its own tests and still misses half
of the exact values; JioNLP reads Chinese only and loads a dictionary; dateparser finds points, no
ranges. A peer's answer counts as right written as the corpus writes it or as we do.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from device.language import find_times
from device.language.times import TimeExpression
from tests.benchmarks.datetime_cases import TYPES, Finder, Score, load_cases, score, texts
from tests.benchmarks.row import Row
from tests.conftest import SHARED_DATA

TARGETS = {"zh": 0.92, "en": 0.90}
TYPICAL_TURN_MICROSECONDS = 300.0
TURNS, PEER_TURNS = 600, 60
"""Turns that the time of one is measured on, ours and a peer's."""
_DAY = timedelta(days=1)
_POINT = re.compile(r"\(datetime \((\d+), (\d+), (\d+), (\d+), (\d+), (\d+)\) \w+\)")


def rows() -> Iterator[Row]:
    """The rows of this module; none without the public data."""
    folder = SHARED_DATA / "datetime"
    if not folder.is_dir():
        return
    for language in ("zh", "en"):
        yield from _resolved(folder / f"{language}.json", language)
    yield from _duckling(folder / "duckling_zh_corpus.json")


def _resolved(path: Path, language: str) -> Iterator[Row]:
    corpus = texts(path)
    ours = score(find_times, load_cases(path), corpus)
    literal = score(find_times, load_cases(path, literal=True), corpus)
    name = f"times {language}"
    peers = _peers(language)
    shares = {peer: _either(finder, path) for peer, finder in peers.items()}
    for peer, theirs in shares.items():
        yield Row(
            f"{name}: single-value cases resolved exactly, both ends", ours.share(), "share",
            peer=peer, peer_value=theirs["all"], target=TARGETS[language], better="high",
        )  # fmt: skip
    if not shares:
        yield Row(
            f"{name}: single-value cases resolved exactly, both ends", ours.share(), "share",
            bound=1.0, target=TARGETS[language], better="high",
        )  # fmt: skip
    for kind in TYPES:
        best = max(shares, key=lambda peer: shares[peer][kind], default="")
        yield Row(
            f"{name}: … {kind} ({ours.right[kind]}/{ours.total[kind]})", ours.share(kind), "share",
            peer=best, peer_value=shares[best][kind] if best else None, better="high",
        )  # fmt: skip
    yield Row(
        f"{name}: … with every bound as the corpus writes it", literal.share(), "share",
        bound=1.0, better="high",
    )  # fmt: skip
    yield Row(f"{name}: cases with nothing found on their words", len(ours.missed), "cases")
    yield Row(f"{name}: expressions on words that say no time", len(ours.false), "expressions")
    yield from _speed(name, _turns(language) or [item.text for item in corpus], peers)


def _turns(language: str) -> list[str]:
    """Turns of a public dialogue, most of which say no time."""
    path = SHARED_DATA / "memorybank" / ("cn.json" if language == "zh" else "en.json")
    found: list[str] = []

    def walk(node: object) -> None:
        if isinstance(node, dict):
            node = list(node.values())
        if isinstance(node, list):
            for one in node:
                walk(one)
        elif isinstance(node, str) and 8 <= len(node) <= 300:
            found.append(node)

    if path.is_file():
        walk(json.loads(path.read_text(encoding="utf-8")))
    return found[:TURNS]


def _speed(name: str, said: list[str], peers: dict[str, Finder]) -> Iterator[Row]:
    now = datetime(2026, 5, 13, 12, tzinfo=UTC)

    def each(finder: Finder, turns: list[str]) -> float:
        return min(
            _cpu_seconds(finder, turns, now) for _ in range(3 if finder is find_times else 1)
        ) / len(turns) * 1e6  # fmt: skip

    ours = each(find_times, said)
    few = said[:: max(len(said) // PEER_TURNS, 1)]
    target = TYPICAL_TURN_MICROSECONDS
    if not peers:
        yield Row(f"{name}: one turn, CPU", ours, "µs", bound=target, target=target)
    for peer, finder in peers.items():
        yield Row(
            f"{name}: one turn, CPU",
            ours,
            "µs",
            peer=peer,
            peer_value=each(finder, few),
            target=target,
        )


def _cpu_seconds(finder: Finder, turns: list[str], now: datetime) -> float:
    """Of the processor, so that what else runs on the machine is not counted."""
    start = time.process_time()
    for text in turns:
        finder(text, now)
    return time.process_time() - start


def _either(finder: Finder, path: Path) -> dict[str, float]:
    """A peer's shares by type; an answer may be written as the corpus does, or as we do."""
    corpus = texts(path)
    answers = {(item.text, item.reference): finder(item.text, item.reference) for item in corpus}

    def known(text: str, reference: datetime) -> list[TimeExpression]:
        return answers[text, reference]

    scores = [score(known, load_cases(path, literal=literal), corpus) for literal in (True, False)]
    both = set.intersection(*(_failed(one) for one in scores))
    total = scores[0].total
    shares = {
        kind: 1 - sum(which[0] == kind for which in both) / total[kind]
        for kind in TYPES
        if total[kind]
    }
    return {**dict.fromkeys(TYPES, 0.0), **shares, "all": 1 - len(both) / total.total()}


def _failed(result: Score) -> set[tuple[str, str, datetime, int]]:
    cases = [*result.missed, *(case for case, _ in result.wrong)]
    return {(case.kind, case.text, case.reference, case.begin) for case in cases}


def _duckling(path: Path) -> Iterator[Row]:
    """Points in time of another project's corpus, Cantonese and traditional script included."""
    corpus = json.loads(path.read_text(encoding="utf-8"))
    reference = datetime.fromisoformat(corpus["reference_time"])
    cases: list[tuple[str, float]] = []
    for case in (case for part in corpus["corpora"].values() for case in part):
        match = _POINT.fullmatch(case["expected"].strip())
        if match is not None:
            parts = [int(number) for number in match.groups()]
            moment = datetime(*parts, tzinfo=reference.tzinfo)  # type: ignore[arg-type, misc]
            cases += [(text, moment.timestamp()) for text in case["examples"]]

    def share(finder: Finder) -> float:
        right = (any(e.start == at for e in finder(text, reference)) for text, at in cases)
        return sum(right) / len(cases)

    for peer, finder in _peers("zh").items():
        yield Row(
            "times zh: starts right, duckling's points", share(find_times), "share",
            peer=peer, peer_value=share(finder), better="high",
        )  # fmt: skip


def _peers(language: str) -> dict[str, Finder]:
    """The peers that are installed."""
    found: dict[str, Finder] = {}
    if find_spec("recognizers_date_time"):
        found["Recognizers"] = _recognizers(language)
    if language == "zh" and find_spec("jionlp"):
        found["JioNLP"] = _jionlp
    if find_spec("dateparser"):
        found["dateparser"] = _dateparser(language)
    return found


def _expression(
    text: str, words: str, position: int, start: datetime, end: datetime, grain: str = "range"
) -> TimeExpression:
    return TimeExpression(
        words or text, start.timestamp(), max(start, end).timestamp(), grain, position
    )


def _recognizers(language: str) -> Finder:
    from recognizers_date_time import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        Culture,
        recognize_datetime,
    )

    culture = Culture.Chinese if language == "zh" else Culture.English

    def find(text: str, reference: datetime) -> list[TimeExpression]:
        try:
            answers = recognize_datetime(text, culture, reference=reference.replace(tzinfo=None))
        except Exception:  # the port raises many kinds: a crash is no answer
            return []
        return [
            one
            for answer in answers
            for value in (answer.resolution or {}).get("values", [])
            if (one := _recognized(text, answer, value, reference)) is not None
        ]

    return find


def _recognized(
    text: str, answer: Any, value: dict[str, str], reference: datetime
) -> TimeExpression | None:
    kind = value.get("type", "")
    if kind not in TYPES:
        return None
    words, position = text[answer.start : answer.end + 1], answer.start
    try:
        start = _read(value.get("start") or value.get("value"), reference)
        end = _read(value.get("end"), reference)
    except ValueError:
        return None
    if "value" in value and start is not None:
        length = _DAY if kind == "date" else timedelta(minutes=1)
        return _expression(text, words, position, start, start + length, kind)
    if start is None and end is not None:
        return _expression(text, words, position, end - _DAY, end, "before")
    if start is None:
        return None
    grain = "range" if end is not None else "after"
    return _expression(text, words, position, start, end or start + _DAY, grain)


def _read(value: str | None, reference: datetime) -> datetime | None:
    if value is None or value == "not resolved":
        return None
    if "-" not in value:
        value = f"{reference.date()} {value}"
    return datetime.fromisoformat(value).replace(tzinfo=reference.tzinfo)


@cache
def _jio() -> Any:
    with contextlib.redirect_stdout(io.StringIO()):  # it greets on import
        import jionlp  # type: ignore[import-not-found, import-untyped, unused-ignore]
    return jionlp


def _jionlp(text: str, reference: datetime) -> list[TimeExpression]:
    base = {
        name: getattr(reference, name)
        for name in ("year", "month", "day", "hour", "minute", "second")
    }
    jionlp = _jio()
    logging.disable(logging.CRITICAL)  # it logs what it cannot read
    try:
        answers = jionlp.ner.extract_time(text, time_base=base, with_parsing=True)
    except Exception:  # it raises on some words (下个月)
        return []
    finally:
        logging.disable(logging.NOTSET)
    found = []
    for answer in answers:
        times = (answer.get("detail") or {}).get("time")
        if not isinstance(times, list) or len(times) != 2:
            continue
        start, end = (_jio_time(one, reference) for one in times)
        words, position = answer["text"], answer["offset"][0]
        if start is not None and end is not None:
            found.append(_expression(text, words, position, start, end + timedelta(seconds=1)))
            found.append(_expression(text, words, position, start, end))
        elif start is not None:
            found.append(_expression(text, words, position, start, start + _DAY, "after"))
        elif end is not None:
            found.append(_expression(text, words, position, end - _DAY, end, "before"))
            found.append(
                _expression(text, words, position, end - _DAY, end + timedelta(seconds=1), "before")
            )
    return found


def _jio_time(value: str, reference: datetime) -> datetime | None:
    try:
        return datetime.fromisoformat(value).replace(tzinfo=reference.tzinfo or UTC)
    except ValueError:
        return None


def _dateparser(language: str) -> Finder:
    from dateparser.search import search_dates  # type: ignore[import-not-found, import-untyped, unused-ignore]

    def find(text: str, reference: datetime) -> list[TimeExpression]:
        base = reference.replace(tzinfo=None)
        try:
            answers = search_dates(text, languages=[language], settings={"RELATIVE_BASE": base})
        except Exception:  # it raises on some numbers
            return []
        found = []
        for words, moment in answers or []:
            at = moment.replace(tzinfo=reference.tzinfo)
            midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
            position = max(text.find(words), 0)
            found.append(_expression(text, words, position, at, at + timedelta(minutes=1)))
            found.append(_expression(text, words, position, midnight, midnight + _DAY))
        return found

    return find
