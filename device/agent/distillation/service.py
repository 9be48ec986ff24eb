"""Distilling through an OpenAI-compatible service: off unless the owner names one.

The model sees a run as it is kept: typed text is gone before it gets here, ids and coordinates too.
What it answers is untrusted: bounded, schema-checked, and every sentence still has to pass the
rules of `device.agent.checks`. Any trouble means what no model would mean: no judgement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from device.agent.distillation.distiller import INDEPENDENT, Distiller, Judgement, Marks, Verdict
from device.agent.records import Run
from device.endpoint import Endpoint, EndpointError
from device.logs import get_logger

__all__ = ["ServiceDistiller"]

log = get_logger(__name__)

CHAT = "chat/completions"
MOST_FACTS = 5
MOST_STEPS_TOLD = 60
MOST_HELD = 40
ANSWER_TOKENS = 800
Reply = TypeVar("Reply", bound=BaseModel)

FACTS = """\
You read one finished task of a phone agent. Say what it shows about how this app or the agent's \
tools behave, in 0 to 5 short declarative sentences that would help with other tasks. Prefer how \
the interface behaves over where one control is; name a place or feature. Nothing seen is a right \
answer: then give an empty list; filling up is wrong. No user content, no ids, no coordinates, no \
advice. Answer with JSON: {"facts": ["..."]}"""
JUDGE = """\
You compare one new sentence about an app with those already known. Answer with JSON: {"verdict": \
"duplicate" | "merge" | "contradicts" | "independent", "known": number of the known sentence or \
null, "rewrite": one sentence that says both, for merge only, else ""}. When in doubt: \
independent."""
MARKS = """\
You read one finished task of a phone agent and numbered sentences it was told before. Which of \
them did the task show to be true, which false? Leave out what it did not show. Answer with JSON: \
{"confirmed": [numbers], "refuted": [numbers]}"""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class _Facts(_Strict):
    facts: list[str] = Field(max_length=MOST_FACTS * 4)


class _Judgement(_Strict):
    verdict: Verdict
    known: int | None = None
    rewrite: str = Field(default="", max_length=1_000)


class _Marks(_Strict):
    confirmed: list[int] = Field(default=[], max_length=MOST_HELD)
    refuted: list[int] = Field(default=[], max_length=MOST_HELD)


class ServiceDistiller:
    """Asks a service; where it gives nothing usable, `fallback` is asked instead."""

    name = "endpoint"

    def __init__(self, endpoint: Endpoint, fallback: Distiller) -> None:
        self._endpoint = endpoint
        self._fallback = fallback

    async def facts(self, run: Run) -> Sequence[str]:
        """As `Distiller.facts`."""
        reply = await self._ask(FACTS, {"task": _told(run)}, _Facts)
        return await self._fallback.facts(run) if reply is None else reply.facts[:MOST_FACTS]

    async def judge(self, new: str, held: Mapping[str, str]) -> Judgement:
        """As `Distiller.judge`."""
        if not held:
            return INDEPENDENT
        ids = list(held)[:MOST_HELD]
        question = {"new": new, "known": _numbered(held, ids)}
        reply = await self._ask(JUDGE, question, _Judgement)
        if reply is None:
            return await self._fallback.judge(new, held)
        place = reply.known
        if reply.verdict is Verdict.INDEPENDENT or place is None or not 0 <= place < len(ids):
            return INDEPENDENT
        return Judgement(reply.verdict, ids[place], reply.rewrite)

    async def marks(self, run: Run, held: Mapping[str, str]) -> Marks:
        """As `Distiller.marks`."""
        if not held:
            return Marks()
        ids = list(held)[:MOST_HELD]
        question = {"task": _told(run), "sentences": _numbered(held, ids)}
        reply = await self._ask(MARKS, question, _Marks)
        if reply is None:
            return await self._fallback.marks(run, held)
        return Marks(_named(reply.confirmed, ids), _named(reply.refuted, ids))

    async def _ask(
        self, instruction: str, question: Mapping[str, Any], kind: type[Reply]
    ) -> Reply | None:
        body = {
            "model": self._endpoint.model,
            "messages": [
                {"role": "system", "content": instruction},
                {"role": "user", "content": json.dumps(question, ensure_ascii=False)},
            ],
            "temperature": 0,
            "max_tokens": ANSWER_TOKENS,
            "response_format": {"type": "json_object"},
        }
        try:
            answer = await self._endpoint.post_json(CHAT, body)
            return kind.model_validate_json(answer["choices"][0]["message"]["content"])
        except EndpointError as error:
            log.info("distilling service gave no answer", reason=str(error))
        except (KeyError, IndexError, TypeError, ValidationError) as error:
            # The answer's own words stay out of the log.
            log.info("distilling service gave no usable answer", error=type(error).__name__)
        return None


def _told(run: Run) -> dict[str, Any]:
    """The run as the service sees it: no typed text, no ids, no coordinates."""
    return {
        "app": run.app,
        "goal_kind": list(run.intents),
        "outcome": run.outcome.value,
        "steps": [
            {
                "action": step.action,
                "target": step.target,
                "result": step.result.value,
                "screen": {
                    "title": step.page.title,
                    "visible": step.page.visible,
                    "clickable": step.page.clickable,
                    "focused": step.page.focused,
                },
            }
            for step in run.steps[:MOST_STEPS_TOLD]
        ],
    }


def _numbered(held: Mapping[str, str], ids: Sequence[str]) -> list[str]:
    return [f"{number}: {held[identifier]}" for number, identifier in enumerate(ids)]


def _named(numbers: Sequence[int], ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(ids[number] for number in dict.fromkeys(numbers) if 0 <= number < len(ids))
