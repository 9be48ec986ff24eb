"""A hundred thousand turns of chat, made from the public dialogues, for every figure of size.

Pass 0 is the dialogues as they are (LoCoMo, MemoryBank cn and en, CrossWOZ, the two solo chats:
about 10,000 turns). Each later pass says them again with a share of the words exchanged: English
content words for words of the whole corpus drawn by frequency, Chinese pairs of characters for
other pairs of it, digits for digits, and in each pass every capitalised English name for a
name made of syllables. So lengths, sessions, word frequencies and the two scripts are those of
people, the vocabulary goes on growing, and no two passes hold the same turn. Without the public
dialogues the same is done to a few sentences of our own.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from device.memory.records import TurnDraft

__all__ = ["corpus_turns", "own_turns", "public_turns", "questions"]

START = 1_700_000_000.0
TURN_SECONDS = 40.0
EXCHANGED = 0.25
"""Share of the words that a later pass exchanges."""
_WORD = re.compile(r"[A-Za-z]+|[0-9]|[\u4e00-\u9fff]{2,}")
_NAME = re.compile(r"[A-Z][a-z]{2,}")
_SYLLABLES = ("ka", "lo", "mi", "ren", "su", "tav", "po", "dil", "nor", "esh", "wen", "bar", "ori")


@dataclass(frozen=True)
class _Line:
    speaker: str
    text: str
    session: str


def corpus_turns(shared: Path, turns: int, *, seed: int = 5) -> list[TurnDraft]:
    """`turns` drafts in order of time, made of the public dialogues in `shared`."""
    return _spread(public_turns(shared), turns, seed)


def own_turns(turns: int, *, seed: int = 5) -> list[TurnDraft]:
    """`turns` drafts made in the same way of a few sentences of our own."""
    rng = random.Random(seed)
    lines = [_Line("user", _own_sentence(rng), f"own-{n // 20}") for n in range(4_000)]
    return _spread(lines, turns, seed)


def _spread(lines: Sequence[_Line], turns: int, seed: int) -> list[TurnDraft]:
    rng = random.Random(seed)
    words, pairs = _vocabulary(lines)
    made: list[TurnDraft] = []
    for number in count():
        names: dict[str, str] = {}
        for line in lines:
            if len(made) == turns:
                return made
            said = line if number == 0 else _said_again(line, rng, words, pairs, names, number)
            at = START + TURN_SECONDS * len(made)
            made.append(TurnDraft(at, said.speaker, said.text, said.session))
    raise AssertionError("count() never ends")


def _said_again(
    line: _Line,
    rng: random.Random,
    words: list[str],
    pairs: list[str],
    names: dict[str, str],
    number: int,
) -> _Line:
    def other(match: re.Match[str]) -> str:
        run = match[0]
        if run.isdigit():
            return rng.choice("0123456789")
        if _NAME.fullmatch(run):
            return names.setdefault(run, _made_name(rng))
        if run.isascii():
            return rng.choice(words) if rng.random() < EXCHANGED else run
        return "".join(
            rng.choice(pairs)
            if len(run[i : i + 2]) == 2 and rng.random() < EXCHANGED
            else run[i : i + 2]
            for i in range(0, len(run), 2)
        )

    text = _WORD.sub(other, line.text)
    return replace(line, text=text, session=f"{line.session}-{number}")


def _made_name(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=3)).capitalize()


def _vocabulary(lines: Sequence[_Line]) -> tuple[list[str], list[str]]:
    words: list[str] = []
    pairs: list[str] = []
    for line in lines:
        for run in _WORD.findall(line.text):
            if run.isascii():
                words.append(run.lower())
            else:
                pairs.extend(run[i : i + 2] for i in range(len(run) - 1))
    return words or ["word"], pairs or ["字词"]


def public_turns(shared: Path) -> list[_Line]:
    """Every turn of the public dialogues once."""
    return [*_locomo(shared), *_memorybank(shared), *_crosswoz(shared), *_solo(shared)]


def questions(shared: Path, limit: int) -> list[str]:
    """Questions people asked about these dialogues, the two languages in turn."""
    english = [
        q["question"]
        for talk in _json(shared / "locomo" / "locomo_0_5.json")
        for q in talk["qa"]
        if q["category"] in (1, 2, 3, 4)
    ]
    chinese = [
        q for user in _json(shared / "memorybank" / "cn.json").values() for q in user["questions"]
    ]
    step = max(1, len(english) // limit)
    mixed = [q for pair in zip(english[::step], chinese * limit, strict=False) for q in pair]
    return mixed[:limit]


def _locomo(shared: Path) -> Iterator[_Line]:
    for talk in _json(shared / "locomo" / "locomo_0_5.json"):
        for name, turns in talk["conversation"].items():
            if isinstance(turns, list):
                for turn in turns:
                    session = f"{talk['sample_id']}-{name}"
                    yield _Line(turn["speaker"], turn["text"], session)


def _memorybank(shared: Path) -> Iterator[_Line]:
    for language in ("cn", "en"):
        for user, held in _json(shared / "memorybank" / f"{language}.json").items():
            for day, exchanges in held["history"].items():
                for exchange in exchanges:
                    yield _Line("user", exchange["query"], f"{user}-{day}")
                    yield _Line("assistant", exchange["response"], f"{user}-{day}")


def _crosswoz(shared: Path) -> Iterator[_Line]:
    path = shared / "dialogues" / "crosswoz_0.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        task = json.loads(line)
        for message in task["messages"]:
            yield _Line(message["role"], message["text"], f"task-{task['id']}")


def _solo(shared: Path) -> Iterator[_Line]:
    for language in ("en", "zh"):
        talk = _json(shared / "dialogues" / f"solo_chat_{language}.json")
        for message in talk["conversation_list"]:
            day = message["create_time"][:10]
            yield _Line(message["sender_name"], str(message["content"]), f"{language}-{day}")


def _own_sentence(rng: random.Random) -> str:
    if rng.random() < 0.5:
        who, what = rng.choice(["Anna", "Ben", "Mia"]), rng.choice(["tea", "chess", "tennis"])
        filler = " ".join("".join(rng.choices(_SYLLABLES, k=2)) for _ in range(4))
        return f"{who} told me about {what} and {filler} on day {rng.randrange(100)}"
    signs = "".join(chr(0x4E00 + min(int(rng.expovariate(0.004)), 6_000)) for _ in range(8))
    return f"我和朋友说到{signs}，第{rng.randrange(100)}天"


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
