"""The gateway as `serve` runs it, on one core, beside a bare aiohttp echo on the same core.

The load comes from this process, on another core, as protocol machines that cost less than what
they measure. The echo exchanges as many messages of the same sizes, over the same event loop, in
turns with the gateway: the rates of a shared machine wander, their ratio less, and the processor
time of the server processes least.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cloud.loops import run
from tests.benchmarks.gateway_load import (
    Caller,
    EchoPhone,
    Phone,
    Script,
    Target,
    at_once,
    at_rate,
    held,
    settled,
)
from tests.benchmarks.gateway_server import Plan, Server, open_files
from tests.benchmarks.row import Row
from tests.cloud.test_tls import certificate

SESSIONS = 600
"""Of one pass."""
PASSES = 3
AT_ONCE = 128
STEADY_SESSIONS = 400
STEADY_PER_SECOND = 40.0
"""2,400 a minute, however long each takes."""
IDLE = 10_000
IDLE_ECHO = 3_000
IDLE_TLS = 2_000
OPENING = 64
"""Idle sessions opened at a time."""
SERVER_CORE, LOAD_CORE = 1, 0
KIB = 1024

PEER = "bare aiohttp echo: as many messages, same sizes, event loop and core"


def rows() -> Iterator[Row]:
    """Sessions a second, processor time, acknowledgements, idle sessions; plain and over TLS."""
    cores = os.sched_getaffinity(0)
    if not {SERVER_CORE, LOAD_CORE} <= cores:
        return
    os.sched_setaffinity(0, {LOAD_CORE})
    open_files()
    try:
        yield from run(_plain())
        yield from run(_tls())
    finally:
        os.sched_setaffinity(0, cores)


@dataclass
class Pair:
    """Both servers, and the script of a session of the first for the second."""

    ours: Server
    echo: Server
    to_ours: Target
    to_echo: Target
    script: Script


@dataclass
class Pass:
    """Figures of one pass: sessions a second, server seconds a session, seconds to each ack."""

    rate: float
    cpu: float
    acks: list[float]


async def _plain() -> list[Row]:
    async with AsyncExitStack() as stack:
        most = 1 + SESSIONS * PASSES + STEADY_SESSIONS
        pair = await _pair(stack, most + IDLE)
        numbers = iter(range(1, most))
        ours, echo = await _passes(pair, numbers, SESSIONS, PASSES)
        steady = await _steady(pair, [next(numbers) for _ in range(STEADY_SESSIONS)])
        rate, each = await _idle(pair.ours, pair.to_ours, IDLE, lambda n: _idler(most + n))
        _, each_echo = await _idle(
            pair.echo, pair.to_echo, IDLE_ECHO, lambda _: EchoPhone(pair.script, stays=True)
        )
    return [
        _row("full sync sessions, 1 core", ours.rate, "1/s", echo.rate, echo.rate / 2, "high"),
        _row("server CPU of a sync session", 1e3 * ours.cpu, "ms", 1e3 * echo.cpu, 2e3 * echo.cpu),
        Row(
            f"p50 ack, {60 * STEADY_PER_SECOND:,.0f} sessions a minute",
            _quantile(steady.acks, 0.5),
            "s",
        ),
        Row(
            f"p99 ack, {60 * STEADY_PER_SECOND:,.0f} sessions a minute",
            _quantile(steady.acks, 0.99),
            "s",
            target=1.0,
        ),
        Row(f"p50 ack, saturated, {AT_ONCE} at once", _quantile(ours.acks, 0.5), "s"),
        Row(f"p99 ack, saturated, {AT_ONCE} at once", _quantile(ours.acks, 0.99), "s", target=1.0),
        _row(
            f"memory of an idle session, {IDLE:,} held",
            each / KIB,
            "KiB",
            each_echo / KIB,
            30.0,
        ),
        Row(f"sessions opened and proven, up to {IDLE:,}", rate, "1/s"),
    ]


async def _tls() -> list[Row]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        most = 1 + SESSIONS
        pair = await _pair(stack, most + IDLE_TLS, folder)
        ours, echo = await _passes(pair, iter(range(1, most)), SESSIONS // 2, 2)
        rate, each = await _idle(
            pair.ours,
            pair.to_ours,
            IDLE_TLS,
            lambda n: _idler(most + n, pair.to_ours.binding),
        )
        _, each_echo = await _idle(
            pair.echo, pair.to_echo, IDLE_TLS, lambda _: EchoPhone(pair.script, stays=True)
        )
    return [
        _row("full sync sessions over TLS, 1 core", ours.rate, "1/s", echo.rate, None, "high"),
        _row("server CPU of a sync session over TLS", 1e3 * ours.cpu, "ms", 1e3 * echo.cpu, None),
        _row(
            f"memory of an idle session over TLS, {IDLE_TLS:,} held",
            each / KIB,
            "KiB",
            each_echo / KIB,
            None,
        ),
        Row("sessions opened and proven over TLS", rate, "1/s"),
    ]


async def _pair(stack: AsyncExitStack, phones: int, keys: Path | None = None) -> Pair:
    state = Path(stack.enter_context(TemporaryDirectory()))
    chain = key = trust = None
    binding = b""
    if keys is not None:
        ours = certificate(keys, "cloud")
        chain, key, binding = ours.chain, ours.key, ours.binding
        trust = ssl.create_default_context(cafile=str(chain))
    servers = [
        Server(Plan(kind, state, phones, SERVER_CORE, chain, key)) for kind in ("cloud", "echo")
    ]
    for server in servers:
        stack.callback(server.stop)
    to_ours, to_echo = (Target(server.port, trust, binding) for server in servers)
    first = Phone(0, binding=binding)
    await settled(first, to_ours)
    return Pair(servers[0], servers[1], to_ours, to_echo, first.script)


async def _passes(
    pair: Pair, numbers: Iterator[int], sessions: int, passes: int
) -> tuple[Pass, Pass]:
    """In turns; the best rate and the least processor time of each."""
    ours, echo = [], []
    for _ in range(passes):
        phones = [next(numbers) for _ in range(sessions)]
        ours.append(await _measured(pair.ours, pair.to_ours, _uploaders(pair, phones)))
        callers = [lambda: EchoPhone(pair.script)] * sessions
        echo.append(await _measured(pair.echo, pair.to_echo, callers))
    return _best(ours), _best(echo)


async def _measured(server: Server, target: Target, makers: Sequence[Callable[[], Caller]]) -> Pass:
    made: list[Caller] = []
    before = server.cpu()
    seconds = await at_once(_noted(makers, made), target, AT_ONCE)
    cpu = (server.cpu() - before) / len(makers)
    return Pass(len(makers) / seconds, cpu, _acks(made))


async def _steady(pair: Pair, phones: list[int]) -> Pass:
    made: list[Caller] = []
    makers = _noted(_uploaders(pair, phones), made)
    before = pair.ours.cpu()
    await at_rate(makers, pair.to_ours, STEADY_PER_SECOND)
    cpu = (pair.ours.cpu() - before) / len(phones)
    return Pass(STEADY_PER_SECOND, cpu, _acks(made))


async def _idle(
    server: Server, target: Target, count: int, make: Callable[[int], Caller]
) -> tuple[float, float]:
    """(sessions opened and proven a second, bytes of the server that each then holds)."""
    before = server.memory()
    async with held([make(number) for number in range(count)], target, OPENING) as seconds:
        after = server.memory()
    return count / seconds, (after - before) / count


def _uploaders(pair: Pair, phones: list[int]) -> list[Callable[[], Phone]]:
    binding = pair.to_ours.binding
    return [lambda number=number: Phone(number, binding=binding) for number in phones]  # type: ignore[misc]


def _idler(number: int, binding: bytes = b"") -> Phone:
    return Phone(number, binding=binding, stays=True)


def _noted(
    makers: Sequence[Callable[[], Caller]], made: list[Caller]
) -> Iterator[Callable[[], Caller]]:
    def noted(make: Callable[[], Caller]) -> Callable[[], Caller]:
        def caller() -> Caller:
            made.append(make())
            return made[-1]

        return caller

    return map(noted, makers)


def _acks(made: list[Caller]) -> list[float]:
    return sorted(phone.acknowledged for phone in made if isinstance(phone, Phone))


def _best(passes: list[Pass]) -> Pass:
    acks = sorted(ack for each in passes for ack in each.acks)
    return Pass(max(each.rate for each in passes), min(each.cpu for each in passes), acks)


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _row(
    name: str, value: float, unit: str, peer: float, target: float | None, better: str = "low"
) -> Row:
    return Row(name, value, unit, peer=PEER, peer_value=peer, target=target, better=better)
