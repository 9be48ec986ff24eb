"""The shipped sample is well formed: every answer can be found in turns that came before it."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from simulator.sample import DIALOGUES, QUESTIONS

TURN_KEYS = {"id", "person", "language", "session", "at", "speaker", "text"}
QUESTION_KEYS = {"person", "language", "asked_at", "query", "evidence", "answer", "kind"}
KINDS = {"attribute", "event", "preference", "change", "time", "raw"}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_turns_follow_the_schema_and_time_runs_forward() -> None:
    turns = read(DIALOGUES)
    last: dict[str, tuple[datetime, int]] = {}
    for turn in turns:
        assert set(turn) - {"same_as"} == TURN_KEYS, turn
        assert turn["language"] in {"zh", "en"}
        assert turn["speaker"] in {"user", "agent"}
        assert turn["text"].strip() == turn["text"] != ""
        at = datetime.fromisoformat(turn["at"])
        assert at.tzinfo is not None
        number = int(turn["id"].removeprefix(f"{turn['person']}-"))
        if turn["person"] in last:
            assert (at, number) > last[turn["person"]], turn
        last[turn["person"]] = (at, number)
    assert len({turn["id"] for turn in turns}) == len(turns)


def test_restatements_point_back_at_the_same_person() -> None:
    seen: dict[str, dict[str, Any]] = {}
    restatements = 0
    for turn in read(DIALOGUES):
        if "same_as" in turn:
            restatements += 1
            assert seen[turn["same_as"]]["person"] == turn["person"]
            assert seen[turn["same_as"]]["text"] != turn["text"]
        seen[turn["id"]] = turn
    assert restatements >= 30


def test_evidence_exists_and_precedes_the_question() -> None:
    turns = {turn["id"]: turn for turn in read(DIALOGUES)}
    for question in read(QUESTIONS):
        assert set(question) == QUESTION_KEYS, question
        assert question["kind"] in KINDS
        assert question["evidence"], question
        asked = datetime.fromisoformat(question["asked_at"])
        for turn_id in question["evidence"]:
            assert turns[turn_id]["person"] == question["person"]
            assert datetime.fromisoformat(turns[turn_id]["at"]) < asked, question


def test_there_is_enough_of_everything() -> None:
    turns, questions = read(DIALOGUES), read(QUESTIONS)
    assert len(turns) >= 320
    assert len(questions) >= 90
    assert len({turn["person"] for turn in turns}) >= 8
    languages = Counter(turn["language"] for turn in turns)
    assert 0.4 <= languages["zh"] / len(turns) <= 0.6
    assert set(Counter(question["kind"] for question in questions)) == KINDS
    for person in {turn["person"] for turn in turns}:
        dates = [turn["at"][:10] for turn in turns if turn["person"] == person]
        assert (datetime.fromisoformat(max(dates)) - datetime.fromisoformat(min(dates))).days >= 21
    assert max(Counter(turn["text"] for turn in turns).values()) <= 2
