"""Real dialogues as stories: what somebody said over time, and questions about it.

Three sources, told apart by content: our own JSONL, LoCoMo and MemoryBank (JSON). Wall-clock times
are naive on purpose: a story's hours are hours of its person's day, wherever the phone lives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from simulator.evidence import find_evidence
from simulator.sample import DIALOGUES, QUESTIONS

__all__ = ["CorpusUnreadable", "Line", "Question", "Story", "load_corpus"]

Lines = tuple["Line", ...]

_QUESTIONS_FILE = QUESTIONS.name
_LOCOMO_UNANSWERABLE = 5
"""LoCoMo's category of adversarial questions, which no turn answers."""
_LOCOMO_TIME = "%I:%M %p on %d %B, %Y"
_LOCOMO_TURN = re.compile(r"D(\d+):(\d+)")
_MEMORYBANK_HOUR = 20
"""MemoryBank dates its sessions by day only; people chat in the evening."""
_TURN_GAP = timedelta(seconds=40)
"""Between two turns of a session whose source gives no time for each."""


class CorpusUnreadable(Exception):
    """The data cannot be used; the message says why and what is expected."""


@dataclass(frozen=True, slots=True)
class Line:
    """One turn of a story. `same_as` names the earlier line that this one repeats."""

    id: str
    at: datetime
    """Naive wall-clock time where the person lives."""
    speaker: str
    text: str
    session: str
    same_as: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """Something asked later, with the ids of the lines that answer it."""

    query: str
    evidence: tuple[str, ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """One person's dialogues, oldest first."""

    person: str
    language: str
    lines: Lines
    questions: tuple[Question, ...]
    topic: str = ""
    """What kind of dialogue it is: the name of the file it came from."""

    def sessions(self) -> list[Lines]:
        """The lines grouped by session, in order of first appearance."""
        groups: dict[str, list[Line]] = {}
        for line in self.lines:
            groups.setdefault(line.session, []).append(line)
        return [tuple(group) for group in groups.values()]


def load_corpus(path: Path | None) -> list[Story]:
    """Stories found at `path` (a file or a folder of files); None loads the shipped sample.

    Raises CorpusUnreadable.
    """
    files = _files(path) if path is not None else [DIALOGUES]
    stories: list[Story] = []
    for file in files:
        stories += [replace(story, topic=file.stem) for story in _load_file(file)]
    stories = [story for story in stories if story.lines]
    if not stories:
        raise CorpusUnreadable(
            f"{path} holds no dialogues: give our JSONL, LoCoMo or MemoryBank JSON, or a folder"
        )
    names: dict[str, int] = {}
    for index, story in enumerate(stories):
        count = names[story.person] = names.get(story.person, 0) + 1
        if count > 1:
            stories[index] = replace(story, person=f"{story.person}-{count}")
    return stories


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise CorpusUnreadable(f"{path} does not exist")
    try:
        found = sorted(path.iterdir())
    except OSError as error:
        raise CorpusUnreadable(f"{path} cannot be read: {error.strerror}") from None
    return [
        file
        for file in found
        if file.suffix in {".json", ".jsonl"} and file.name != _QUESTIONS_FILE
    ]


def _load_file(path: Path) -> list[Story]:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            return list(_sample(_jsonl(text), _beside(path)))
        data = json.loads(text)
        if isinstance(data, list) and data and "conversation" in data[0]:
            return [_locomo(entry) for entry in data]
        if isinstance(data, dict) and data and all(_is_memorybank(v) for v in data.values()):
            return [_memorybank(name.strip(), entry) for name, entry in data.items()]
    except OSError as error:
        raise CorpusUnreadable(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise CorpusUnreadable(f"{path} is no dialogue file we know: {error!r}") from None
    return []


def _is_memorybank(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("history"), dict)


def _jsonl(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _beside(path: Path) -> list[dict[str, Any]]:
    questions = path.with_name(_QUESTIONS_FILE)
    return _jsonl(questions.read_text(encoding="utf-8")) if questions.is_file() else []


def _sample(turns: Iterable[dict[str, Any]], asked: list[dict[str, Any]]) -> Iterator[Story]:
    """Our own JSONL, also without the optional person, id and questions."""
    people: dict[str, list[Line]] = {}
    languages: dict[str, str] = {}
    for number, turn in enumerate(turns):
        person = turn.get("person", "someone")
        at = datetime.fromisoformat(turn["at"]).replace(tzinfo=None)
        if not all(isinstance(turn[key], str) for key in ("text", "speaker")):
            raise ValueError(f"turn {number + 1}: text and speaker must be strings")
        line = Line(
            id=turn.get("id", f"line-{number}"),
            at=at,
            speaker=turn["speaker"],
            text=turn["text"],
            session=turn.get("session") or at.date().isoformat(),
            same_as=turn.get("same_as", ""),
        )
        people.setdefault(person, []).append(line)
        languages.setdefault(person, turn.get("language") or _language(turn["text"]))
    for person, lines in people.items():
        lines.sort(key=lambda line: line.at)
        questions = tuple(
            Question(q["query"], tuple(q["evidence"]), q.get("kind", ""))
            for q in asked
            if q["person"] == person
        )
        yield Story(person, languages[person], tuple(lines), questions)


def _locomo(entry: dict[str, Any]) -> Story:
    """One LoCoMo conversation (Maharana et al., ACL 2024), seen from speaker A's phone."""
    talk = entry["conversation"]
    lines: list[Line] = []
    for number in range(1, len(talk)):
        session = f"session_{number}"
        if not talk.get(session):
            continue
        start = datetime.strptime(talk[f"{session}_date_time"], _LOCOMO_TIME)  # noqa: DTZ007
        lines += [
            Line(t["dia_id"], start + i * _TURN_GAP, t["speaker"], t["text"], session)
            for i, t in enumerate(talk[session])
        ]
    known = {line.id for line in lines}
    questions = []
    for asked in entry["qa"]:
        cited = _LOCOMO_TURN.findall(" ".join(asked.get("evidence", ())))
        # One citation may name turns that a malformed entry glued together or invented.
        evidence = tuple(i for i in (f"D{int(s)}:{int(t)}" for s, t in cited) if i in known)
        if evidence and asked["category"] != _LOCOMO_UNANSWERABLE:
            questions.append(Question(asked["question"], evidence, str(asked["category"])))
    return Story(talk["speaker_a"], "en", tuple(lines), tuple(questions))


def _memorybank(name: str, entry: dict[str, Any]) -> Story:
    """One MemoryBank user (Zhong et al., AAAI 2024); it cites no turns, so they are searched."""
    lines: list[Line] = []
    for day, exchanges in sorted(entry["history"].items()):
        at = datetime.fromisoformat(day).replace(hour=_MEMORYBANK_HOUR)
        for number, exchange in enumerate(exchanges):
            for speaker, key in (("user", "query"), ("agent", "response")):
                line_id = f"{name}:{day}:{number}:{speaker}"
                lines.append(Line(line_id, at, speaker, exchange[key], day))
                at += _TURN_GAP
    questions = tuple(_searched(entry.get("questions", ()), lines))
    language = _language(lines[0].text) if lines else ""
    return Story(name, language, tuple(lines), questions)


def _searched(queries: Sequence[str], lines: Sequence[Line]) -> Iterator[Question]:
    texts = [line.text for line in lines]
    for query in queries:
        found = find_evidence(query, texts)
        if found:
            yield Question(query, tuple(lines[index].id for index in found), "searched")


def _language(text: str) -> str:
    return "zh" if any("\u4e00" <= sign <= "\u9fff" for sign in text) else "en"
