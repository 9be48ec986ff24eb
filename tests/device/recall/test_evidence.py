"""Evidence recall of the whole path on public conversations; the bench compares it with peers."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import numpy as np
import pytest

from device.memory import RecordMany
from device.memory.dreaming import consolidate_pending
from device.recall import Router
from tests.benchmarks.recall_data import Conversation, Question, locomo, memorybank
from tests.device.recall.rig import open_rig

SHOWN = 10
QUESTIONS = 60


async def recall_of(conversation: Conversation, questions: list[Question]) -> float:
    async with open_rig() as rig:
        turns = await rig.raw.ask(RecordMany(list(conversation.turns)))
        places = {turn.id: place for place, turn in enumerate(turns)}
        rig.clock.at = conversation.asked_at
        await consolidate_pending(rig.raw, rig.structured, rig.working, tz=UTC)
        rig.router = Router(None)
        recalls = []
        for question in questions:
            answer = await rig.recaller.recall(question.text, SHOWN)
            ids = dict.fromkeys(turn for hit in answer.hits for turn in hit.turns)
            shown = {places[turn] for turn in list(ids)[:SHOWN]}
            recalls.append(len(question.evidence & shown) / len(question.evidence))
    return float(np.mean(recalls))


async def test_locomo_evidence_is_recalled_by_the_whole_path(shared_data: Path) -> None:
    conversation = locomo(shared_data / "locomo")[2]
    asked = list(conversation.questions)[:: max(len(conversation.questions) // QUESTIONS, 1)]
    assert {question.kind for question in asked} >= {"1", "2", "4", "5"}
    assert await recall_of(conversation, asked) >= 0.65


@pytest.mark.parametrize("language", ["cn", "en"])
async def test_memorybank_evidence_is_recalled_by_the_whole_path(
    shared_data: Path, language: str
) -> None:
    users = memorybank(shared_data / "memorybank", language)
    assert sum(len(user.questions) for user in users) >= 30
    recalls = [await recall_of(user, list(user.questions)) for user in users[:3]]
    assert np.mean(recalls) >= 0.85


def test_every_memorybank_label_names_a_turn_that_is_there(shared_data: Path) -> None:
    for language in ("cn", "en"):
        for user in memorybank(shared_data / "memorybank", language):
            for question in user.questions:
                assert question.evidence
                assert all(0 <= place < len(user.turns) for place in question.evidence)
