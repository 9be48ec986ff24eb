"""A small bilingual sample of everyday life, written for the project.

Eight invented people, half Chinese and half English, talk with their agent over five weeks: facts,
plans, reschedules, cancellations, corrections, restatements, feelings, and chatter not worth
keeping. `DIALOGUES` holds one turn a line, `QUESTIONS` one question a line with the ids of the
turns that answer it. `EPISODES` holds what their phone agents did in apps that do not exist.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["DIALOGUES", "EPISODES", "QUESTIONS"]

_FOLDER = Path(str(files(__name__)))

DIALOGUES: Path = _FOLDER / "dialogues.jsonl"
"""JSONL of turns: id, person, language, session, at (ISO-8601 with offset), speaker, text, and
`same_as` (id of the earlier turn that a restatement repeats)."""

QUESTIONS: Path = _FOLDER / "questions.jsonl"
"""JSONL of questions: person, language, asked_at, query, evidence (turn ids, most telling first),
answer, kind (attribute | event | preference | change | time | raw)."""

EPISODES: Path = _FOLDER / "episodes.jsonl"
"""JSONL of GUI episodes as `reverie-device import-episodes` reads them: task, goal, app, outcome,
steps (action, target, result, page)."""
