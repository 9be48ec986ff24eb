from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count

import pytest
from aiohttp import web

from device.endpoint import Endpoint, EndpointError

SECRET = "sk-canary-1234"
WORDS = "我的银行卡密码是 424242"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Pauses:
    """A clock that only notes how long it was asked to sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> float:
        return 0.0

    async def sleep(self, seconds: float, until: object = None) -> None:
        self.slept.append(seconds)


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/answer", handler)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}/v1"
    finally:
        await runner.cleanup()


async def fails(handler: Handler, **options: float) -> tuple[str, list[float]]:
    """The one line a call to this service fails with, and the pauses it made."""
    pauses = Pauses()
    timeout = options.get("timeout", 10.0)
    limit = int(options.get("max_response_bytes", 10_000))
    async with (
        serving(handler) as url,
        Endpoint(url, key=SECRET, timeout=timeout, max_response_bytes=limit, clock=pauses) as end,
    ):
        with pytest.raises(EndpointError) as caught:
            await end.post_json("answer", {"input": WORDS})
    line = str(caught.value)
    assert SECRET not in line
    assert WORDS not in line
    assert "\n" not in line
    return line, pauses.slept


async def test_one_request_one_answer_with_the_key_in_its_header() -> None:
    seen: dict[str, object] = {}

    async def echo(request: web.Request) -> web.Response:
        seen.update(await request.json(), key=request.headers["authorization"])
        return web.json_response({"ok": [1, 2]})

    async with serving(echo) as url, Endpoint(url + "/", key=SECRET) as end:
        assert await end.post_json("/answer", {"input": WORDS}) == {"ok": [1, 2]}
    assert seen == {"input": WORDS, "key": f"Bearer {SECRET}"}


async def test_a_hanging_service_is_left_after_the_time_limit() -> None:
    leave = asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        await leave.wait()
        return web.json_response({})

    line, _ = await fails(hang, timeout=0.05)
    assert "0.05 s" in line


async def test_a_trickle_is_left_after_the_time_limit_too() -> None:
    async def trickle(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for _ in count():
            await answer.write(b" ")
            await asyncio.sleep(0)
        return answer

    line, _ = await fails(trickle, timeout=0.1, max_response_bytes=10**12)
    assert "0.1 s" in line


async def test_a_busy_service_is_tried_three_times_with_growing_pauses() -> None:
    async def broken(_: web.Request) -> web.Response:
        return web.Response(status=500, text=WORDS)

    line, slept = await fails(broken)
    assert "HTTP 500" in line
    assert slept == [0.5, 1.0]


async def test_the_services_own_pause_is_honoured_up_to_a_bound() -> None:
    async def busy(_: web.Request) -> web.Response:
        return web.Response(status=429, headers={"retry-after": "3600"})

    _, slept = await fails(busy)
    assert slept == [8.0, 8.0]


async def test_a_service_that_recovers_is_used() -> None:
    tries = count()

    async def shaky(_: web.Request) -> web.Response:
        return web.Response(status=503) if next(tries) == 0 else web.json_response({"n": 2})

    async with serving(shaky) as url, Endpoint(url, clock=Pauses()) as end:
        assert await end.post_json("answer", {}) == {"n": 2}


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>", b"[1]", b'"text"', b"null", b'{"a": NaN}', b"\xff\xfe", b"[" * 5000,
        b'{"a":' * 5000, b'{"n": ' + b"9" * 6000 + b"}",
    ],
)  # fmt: skip
async def test_garbage_is_refused_and_not_asked_for_again(body: bytes) -> None:
    async def garbage(_: web.Request) -> web.Response:
        return web.Response(body=body)

    line, slept = await fails(garbage, max_response_bytes=100_000)
    assert "no JSON object" in line
    assert slept == []


async def test_a_100_mb_answer_is_dropped_at_the_limit() -> None:
    sent = 0

    async def flood(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        answer = web.StreamResponse()
        await answer.prepare(request)
        for _ in range(100):
            await answer.write(b"x" * 1_000_000)
            sent += 1
        return answer

    line, slept = await fails(flood, max_response_bytes=1_000_000)
    assert "1,000,000 bytes" in line
    assert slept == []
    assert sent < 50


async def test_a_compressed_answer_is_refused_unread() -> None:
    async def bomb(_: web.Request) -> web.Response:
        return web.Response(body=b"\x1f\x8b", headers={"content-encoding": "gzip"})

    assert "compressed" in (await fails(bomb))[0]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_never_followed(status: int) -> None:
    elsewhere: list[str] = []

    async def stolen(request: web.Request) -> web.Response:
        elsewhere.append(await request.text())
        return web.json_response({})

    async with serving(stolen) as other:

        async def redirect(_: web.Request) -> web.Response:
            return web.Response(status=status, headers={"location": f"{other}/answer"})

        line, slept = await fails(redirect)
    assert "redirects" in line
    assert (elsewhere, slept) == ([], [])


@pytest.mark.parametrize(("status", "hint"), [(401, "key"), (403, "key"), (404, "address")])
async def test_a_refusal_says_what_to_check(status: int, hint: str) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=status)

    line, slept = await fails(refuse)
    assert hint in line
    assert slept == []


async def test_a_service_that_is_not_there() -> None:
    async def never(_: web.Request) -> web.Response:
        return web.json_response({})

    async with serving(never) as url:
        pass
    async with Endpoint(url, clock=Pauses()) as end:
        with pytest.raises(EndpointError, match="cannot be reached"):
            await end.post_json("answer", {})


@pytest.mark.parametrize(
    "url",
    [
        "http://models.example/v1", "http://10.0.0.1", "ftp://models.example", "models.example",
        "", "https://", "https://key@models.example", "https://models.example/v1?key=1",
        "http://[::1", "http://localhost.example", "https://models.example:99999",
    ],
)  # fmt: skip
def test_an_unusable_address_is_refused(url: str) -> None:
    with pytest.raises(EndpointError):
        Endpoint(url)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://models.example/v1", "models.example"),
        ("http://127.0.0.1:8080", "127.0.0.1:8080"),
        ("http://[::1]:8080/v1", "::1:8080"),
        ("http://localhost:11434/v1", "localhost:11434"),
    ],
)
def test_plain_http_is_for_this_device_alone(url: str, host: str) -> None:
    assert Endpoint(url).host == host


def test_a_key_no_header_may_carry_is_refused() -> None:
    with pytest.raises(EndpointError, match="key") as caught:
        Endpoint("https://models.example", key="abc\r\nx: y")
    assert "abc" not in str(caught.value)


async def test_the_environments_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"got": json.loads(await request.text())})

    async with serving(answer) as url, Endpoint(url) as end:
        assert await end.post_json("answer", {"a": 1}) == {"got": {"a": 1}}
