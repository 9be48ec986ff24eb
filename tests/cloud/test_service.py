"""The tick: the whole loop on every runtime, and the same result after a crash at any point."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloud.actors.runtime import InProcessRuntime, Ref, Runtime
from cloud.service import Cloud
from privacy.budget import DEMO
from protocol.models.spec import ROUTER, head_dimension
from protocol.session import UploadCommitted
from tests.cloud.conftest import running
from tests.cloud.world import DAY, START, Phone, connect, descriptors, usage_answers

N_MIN = DEMO.terms("usage").n_min
NEXT = START + DAY


async def _fill(cloud: Cloud, phones: int) -> None:
    """Every phone sends its usage and a small router update."""
    opened = descriptors(cloud.endpoint(), cloud.public_key)
    step = np.full(head_dimension(ROUTER), 0.01)
    for number in range(phones):
        phone = Phone(number)
        line, _ = await connect(phone, cloud.endpoint())
        bodies = [
            phone.report(opened["usage"], usage_answers(number % 2)),
            phone.report(opened["router"], step),
        ]
        for index, body in enumerate(bodies):
            line.client.upload(bytes([index]) + number.to_bytes(15, "big"), body)
        events = await line.exchange()
        assert sum(isinstance(event, UploadCommitted) for event in events) == len(bodies)


async def test_the_loop_turns_on_every_runtime(state: Path, runtime: Runtime) -> None:
    async with running(state, runtime) as cloud:
        await _fill(cloud, N_MIN)
        await cloud.tick(NEXT)
        report = await cloud.report()
        tasks = {(each["task"], each["round"]): each["status"] for each in report["rounds"]}
        assert tasks["usage", 1] == tasks["router", 1] == "closed"
        assert tasks["dedup", 1] == "expired"
        assert tasks["usage", 2] == tasks["router", 2] == tasks["dedup", 2] == "open"
        assert {each["task"]: each["n"] for each in report["aggregates"]} == {
            "usage": N_MIN,
            "router": N_MIN,
        }
        assert report["devices"] == {"enrolled": N_MIN, "active": N_MIN}
        # The phones' step led to a candidate or was found to teach nothing; never to silence.
        learnt = [each for each in report["releases"] if each["parent"] == 1]
        settled = [each for each in report["events"] if each["kind"] == "nothing_learnt"]
        assert len(learnt) + len(settled) == 1
        assert [each["version"] for each in report["releases"] if each["version"] == 1] == [1, 1]


async def test_both_in_process_runtimes_give_the_same_report(state: Path, tmp_path: Path) -> None:
    reports = []
    for name, inline in (("inline", True), ("threads", False)):
        copy = Path(shutil.copytree(state, tmp_path / name))
        runtime = InProcessRuntime(inline=inline)
        async with running(copy, runtime) as cloud:
            await _fill(cloud, N_MIN)
            await cloud.tick(NEXT)
            reports.append(await cloud.report())
        await runtime.stop()
    assert reports[0] == reports[1]


async def test_a_tick_with_nothing_to_do_changes_nothing(cloud: Cloud) -> None:
    before = await cloud.report()
    await cloud.tick(START + 1)
    await cloud.tick(START + 2)
    assert await cloud.report() == before


class Crash(Exception):
    """The process dies here."""


class Mortal:
    """A runtime whose process dies before or after its n-th call."""

    def __init__(self, dies_at: int, after: bool) -> None:
        self._real = InProcessRuntime(inline=True)
        self.calls, self.dies_at, self._after = 0, dies_at, after

    def spawn(self, name: str, cls: Any, *args: Any, **kwargs: Any) -> Ref:
        return _MortalRef(self, self._real.spawn(name, cls, *args, **kwargs))

    async def stop(self) -> None:
        await self._real.stop()

    async def through(self, ref: Ref, method: str, *args: Any) -> Any:
        self.calls += 1
        dies = self.calls == self.dies_at
        if dies and not self._after:
            raise Crash
        answer = await ref.ask(method, *args)
        if dies:
            raise Crash
        return answer


class _MortalRef:
    def __init__(self, runtime: Mortal, ref: Ref) -> None:
        self._runtime, self._ref = runtime, ref

    async def ask(self, method: str, *args: Any) -> Any:
        return await self._runtime.through(self._ref, method, *args)

    def tell(self, method: str, *args: Any) -> None:
        self._ref.tell(method, *args)


@pytest.fixture
async def filled(state: Path) -> Path:
    """The state of a cloud whose rounds are full and not yet closed."""
    runtime = InProcessRuntime(inline=True)
    async with running(state, runtime) as cloud:
        await _fill(cloud, N_MIN)
    await runtime.stop()
    return state


async def test_a_crash_anywhere_in_a_tick_changes_nothing(filled: Path, tmp_path: Path) -> None:
    whole, calls = await _tick_with_crash(filled, tmp_path / "whole", dies_at=0, after=False)
    assert calls > 10
    for dies_at in range(1, calls + 1):
        for after in (False, True):
            folder = tmp_path / f"crash-{dies_at}-{after}"
            report, _ = await _tick_with_crash(filled, folder, dies_at, after)
            assert report == whole, f"crash {'after' if after else 'before'} call {dies_at}"


async def _tick_with_crash(
    filled: Path, folder: Path, dies_at: int, after: bool
) -> tuple[dict[str, Any], int]:
    """Tick until death at one call, start again, tick again. The report and the calls made."""
    state = Path(shutil.copytree(filled, folder))
    mortal = Mortal(0, after)
    async with running(state, mortal) as cloud:
        mortal.calls, mortal.dies_at = 0, dies_at
        with contextlib.suppress(Crash):
            await cloud.tick(NEXT)
        calls = mortal.calls
    await mortal.stop()
    runtime = InProcessRuntime(inline=True)
    async with running(state, runtime) as cloud:
        await cloud.tick(NEXT)
        report = await cloud.report()
    await runtime.stop()
    shutil.rmtree(state)
    return report, calls


async def test_ticks_do_not_overlap(cloud: Cloud) -> None:
    await asyncio.gather(cloud.tick(START + 2 * DAY), cloud.tick(START + 2 * DAY))
    report = await cloud.report()
    assert [each["round"] for each in report["rounds"] if each["task"] == "usage"] == [1, 2]


async def test_a_phone_is_never_offered_a_round_that_is_being_summed(
    state: Path, inline: Runtime
) -> None:
    async with running(state, inline) as cloud:
        await _fill(cloud, N_MIN)
        offered: list[set[int]] = []
        assert cloud._helper is not None
        real = cloud._helper.sum_masks

        async def look(batch: Any) -> Any:
            opened = descriptors(cloud.endpoint(), cloud.public_key)
            offered.append({each.round for each in opened.values()})
            return await real(batch)

        cloud._helper.sum_masks = look  # type: ignore[method-assign]
        await cloud.tick(NEXT)
        assert offered == [set(), set()]
