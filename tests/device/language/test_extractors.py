from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from aiohttp import web

from device.endpoint import Endpoint, EndpointError
from device.language import Draft, DraftKind, extract
from device.language.extractors import (
    BuiltinExtractor,
    Extractor,
    ServiceExtractor,
    choose_extractor,
)
from device.settings import Settings
from tests.device.language.scoring import AT, ZONE


@dataclass(frozen=True)
class Turn:
    text: str
    speaker: str = "user"
    at: float = AT
    kind: str = "dialogue"


PLAN = Turn("下周三要去杭州出差，和老周一起")
ALLERGY = Turn("I'm allergic to peanuts")
TALK = Turn("哈哈好的")
MACHINE = Turn("我明天去北京", speaker="agent")
TURNS = [PLAN, ALLERGY, TALK, MACHINE]
RULES = [extract(t.text, t.speaker, t.at, ZONE, t.kind) for t in TURNS]


class Service:
    """A service that gives one body to every request and keeps what it was asked."""

    def __init__(self, content: object, *, status: int = 200) -> None:
        self._content = content
        self._status = status
        self.asked: list[dict[str, object]] = []

    async def serve(self, request: web.Request) -> web.Response:
        self.asked.append(await request.json())
        text = self._content if isinstance(self._content, str) else json.dumps(self._content)
        return web.json_response({"choices": [{"message": {"content": text}}]}, status=self._status)


@asynccontextmanager
async def reading(service: Service, timeout: float = 10.0) -> AsyncIterator[ServiceExtractor]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", service.serve)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    url = f"http://{host}:{port}/v1"
    try:
        async with Endpoint(url, model="m", timeout=timeout, attempts=1) as endpoint:
            yield ServiceExtractor(endpoint)
    finally:
        await runner.cleanup()


def memory(**fields: object) -> dict[str, object]:
    return {
        "kind": "event", "quote": "下周三要去杭州出差", "action": "出差", "object": "",
        "place": "杭州", "people": ["老周"], "time": "下周三", "sentiment": 0.1, "planned": True,
        "exclusive": False,
    } | fields  # fmt: skip


def answer(*memories: dict[str, object], turn: int = 0) -> dict[str, object]:
    return {"turns": [{"turn": turn, "memories": list(memories)}]}


async def read(service: Service) -> list[list[Draft]]:
    async with reading(service) as extractor:
        return await extractor.extract(TURNS, ZONE)


async def test_built_in_extractor_is_extract_turn_by_turn() -> None:
    extractor: Extractor = BuiltinExtractor()
    assert await extractor.extract(TURNS, ZONE) == RULES
    assert extractor.notice == ""


async def test_service_answer_becomes_drafts_with_times_read_here() -> None:
    drafts = await read(Service(answer(memory())))
    (plan,) = drafts[0]
    assert (plan.kind, plan.place, plan.people) == (DraftKind.EVENT, "杭州", ("老周",))
    assert plan.action == "出差"
    assert plan.starts == RULES[0][0].starts
    assert drafts[1:] == RULES[1:]


async def test_small_talk_and_machine_text_are_never_sent() -> None:
    service = Service(answer())
    await read(service)
    sent = json.dumps(service.asked, ensure_ascii=False)
    assert PLAN.text in sent
    assert TALK.text not in sent
    assert MACHINE.text not in sent


async def test_an_empty_answer_is_believed_but_hides_no_attribute() -> None:
    drafts = await read(
        Service({"turns": [{"turn": 0, "memories": []}, {"turn": 1, "memories": []}]})
    )
    assert drafts[0] == []
    assert [d.action for d in drafts[1]] == ["allergy"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"quote": "I will transfer all my money"},
        {"place": "上海"},
        {"people": ["Mallory"]},
        {"object": "an invented profile"},
        {"time": "tomorrow"},
        {"kind": "preference", "action": "出差", "object": "杭州"},
        {"kind": "attribute", "action": "password", "object": "杭州"},
        {"kind": "attribute", "action": "boss of.name", "object": "杭州"},
    ],
)
async def test_what_the_turn_does_not_say_never_reaches_memory(wrong: dict[str, object]) -> None:
    drafts = await read(Service(answer(memory(**wrong), memory())))
    assert [d.text for d in drafts[0]] == ["下周三要去杭州出差"]
    assert [d.place for d in drafts[0]] == ["杭州"]


@pytest.mark.parametrize(
    "content",
    [
        "", "not json", "[]", "null", {"turns": "all"}, {"turns": [], "more": 1}, {}, "[" * 5000,
        answer(memory(kind="virus")), answer(memory(sentiment=7)), answer(memory(extra=1)),
        answer(memory(quote="下" * 500)), answer(memory(people=["老周"] * 50)), answer(turn=99),
        answer(memory(sentiment="NaN")), answer(*[memory()] * 50), answer(memory(object="x" * 200)),
        {"turns": [{"turn": 0, "memories": []}] * 9}, answer(memory(people="老周")),
    ],
)  # fmt: skip
async def test_hostile_malformed_or_overlong_answers_leave_the_rules_result(
    content: object,
) -> None:
    assert await read(Service(content)) == RULES


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
async def test_a_refusing_service_leaves_the_rules_result(status: int) -> None:
    assert await read(Service(answer(memory()), status=status)) == RULES


async def test_a_failing_service_is_asked_once_whatever_the_number_of_turns() -> None:
    service = Service("no", status=400)
    many = [replace(PLAN, text=f"{PLAN.text}{n}") for n in range(30)]
    async with reading(service) as extractor:
        assert len(await extractor.extract(many, ZONE)) == 30
    assert len(service.asked) == 1


async def test_a_hanging_service_leaves_the_rules_result_after_the_time_limit() -> None:
    class Hanging(Service):
        async def serve(self, request: web.Request) -> web.Response:
            await asyncio.Event().wait()
            raise AssertionError

    async with reading(Hanging({}), timeout=0.05) as extractor:
        assert await extractor.extract(TURNS, ZONE) == RULES


async def test_a_reading_can_be_cancelled() -> None:
    started = asyncio.Event()

    class Hanging(Service):
        async def serve(self, request: web.Request) -> web.Response:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    async with reading(Hanging({})) as extractor:
        task = asyncio.create_task(extractor.extract(TURNS, ZONE))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_turns_go_in_batches_and_a_very_long_one_stays_here() -> None:
    service = Service({"turns": []})
    many = [replace(PLAN, text=f"{PLAN.text}{n}") for n in range(10)]
    many.append(replace(PLAN, text="下周三要去杭州出差。" + "长" * 3000))
    async with reading(service) as extractor:
        await extractor.extract(many, ZONE)
    assert len(service.asked) == 2
    assert "长长长" not in json.dumps(service.asked, ensure_ascii=False)


async def test_a_move_by_an_amount_and_a_cancellation_carry_their_target() -> None:
    turn = Turn("体检推迟一周吧")
    service = Service(
        answer(memory(kind="move", quote="体检推迟一周", time="", place="", people=[]))
    )
    async with reading(service) as extractor:
        ((moved,),) = await extractor.extract([turn], ZONE)
    assert (moved.kind, moved.shift) == (DraftKind.MOVE, 7 * 86_400.0)
    assert "体检" in moved.target


def test_the_service_is_off_unless_chosen() -> None:
    assert choose_extractor(Settings(), {}).name == "builtin"


def test_a_chosen_service_tells_where_the_words_go_and_takes_its_key_from_the_environment() -> None:
    settings = Settings(
        extractor="endpoint", extractor_url="https://models.example/v1", extractor_model="small"
    )
    extractor = choose_extractor(settings, {"REVERIE_EXTRACTOR_KEY": "sk-secret"})
    assert extractor.name == "endpoint"
    assert "models.example" in extractor.notice
    assert "sk-secret" not in extractor.notice


@pytest.mark.parametrize("url", ["", "http://models.example/v1"])
def test_an_unusable_address_is_refused_when_chosen(url: str) -> None:
    with pytest.raises(EndpointError):
        choose_extractor(Settings(extractor="endpoint", extractor_url=url), {})
