"""Conversations with questions and the turns that answer them, read from the public data sets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from device.memory.records import TurnDraft

__all__ = ["Conversation", "Question", "locomo", "memorybank"]

LABELS = Path(__file__).parent / "labels" / "memorybank.tsv"
TURN_SECONDS = 30.0
DAY_SECONDS = 86_400.0
EVENING = 20
"""Hour at which a MemoryBank day's talk begins; the data say only the day."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the places of the turns that answer it, and its kind."""

    text: str
    evidence: frozenset[int]
    kind: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One person's log, oldest first, and what is asked of it at unix time `asked_at`."""

    name: str
    turns: tuple[TurnDraft, ...]
    questions: tuple[Question, ...]
    asked_at: float


def locomo(folder: Path) -> list[Conversation]:
    """All conversations of LoCoMo here, with the questions that cite a turn (categories 1–5)."""
    paths = sorted(folder.glob("locomo_*.json"))
    samples = (s for path in paths for s in json.loads(path.read_text(encoding="utf-8")))
    return [_locomo_sample(sample) for sample in samples]


def _locomo_sample(sample: dict[str, Any]) -> Conversation:
    talk = sample["conversation"]
    sessions = sorted(
        (key for key in talk if re.fullmatch(r"session_\d+", key)),
        key=lambda key: int(key.removeprefix("session_")),
    )
    turns: list[TurnDraft] = []
    places: dict[str, int] = {}
    for session in sessions:
        said = f"{talk[f'{session}_date_time']} +0000"
        at = datetime.strptime(said, "%I:%M %p on %d %B, %Y %z").timestamp()
        for number, turn in enumerate(talk[session]):
            places[turn["dia_id"]] = len(turns)
            text = " ".join(filter(None, [turn["text"], turn.get("blip_caption", "")]))
            turns.append(TurnDraft(at + TURN_SECONDS * number, turn["speaker"], text, session))
    questions = []
    for asked in sample["qa"]:
        cited = re.findall(r"D\d+:\d+", " ".join(asked.get("evidence", [])))
        evidence = frozenset(places[turn] for turn in cited if turn in places)
        if evidence:
            questions.append(Question(asked["question"], evidence, str(asked["category"])))
    return Conversation(
        sample["sample_id"], tuple(turns), tuple(questions), turns[-1].at + TURN_SECONDS
    )


def memorybank(folder: Path, language: str) -> list[Conversation]:
    """MemoryBank's users (`language` cn or en) whose questions are labelled by hand."""
    users = json.loads((folder / f"{language}.json").read_text(encoding="utf-8"))
    labels = _labels(language)
    found = []
    for person, (name, user) in enumerate(users.items()):
        turns: list[TurnDraft] = []
        places: dict[str, int] = {}
        for day, exchanges in user["history"].items():
            start = datetime.fromisoformat(day).replace(hour=EVENING, tzinfo=UTC).timestamp()
            for number, exchange in enumerate(exchanges):
                for mark, speaker, key in (("u", "user", "query"), ("a", "assistant", "response")):
                    places[f"{day}:{number}{mark}"] = len(turns)
                    at = start + TURN_SECONDS * (2 * number + (mark == "a"))
                    turns.append(TurnDraft(at, speaker, exchange[key], day))
        questions = tuple(
            Question(text, frozenset(places[turn] for turn in labels[person, number]), language)
            for number, text in enumerate(user["questions"])
            if (person, number) in labels
        )
        if questions:
            asked_at = turns[-1].at + DAY_SECONDS
            found.append(Conversation(name.strip(), tuple(turns), questions, asked_at))
    return found


def _labels(language: str) -> dict[tuple[int, int], list[str]]:
    found = {}
    for line in _lines(LABELS):
        tongue, person, question, evidence = line.split("\t")
        if tongue == language:
            found[int(person), int(question)] = evidence.split()
    return found


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line
