"""The tick: the whole loop on every runtime, and the same result after a crash at any point."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cloud.actors.openings import shown_until
from cloud.actors.runtime import InProcessRuntime, Ref, Runtime
from cloud.config import CloudConfig
from cloud.founding import NotFounded
from cloud.identity import KeyFileUnusable
from cloud.service import Cloud
from cloud.storage.places import Places, remember
from cloud.ticking import LeaseLost
from privacy.budget import DEMO
from protocol.models.spec import ROUTER, head_dimension
from protocol.rounds import RoundDescriptor
from protocol.session import UploadCommitted, UploadRefused
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


async def test_a_tick_that_loses_its_lease_anywhere_is_finished_by_another(
    filled: Path, tmp_path: Path
) -> None:
    whole, _ = await _tick_with_crash(filled, tmp_path / "whole", dies_at=0, after=False)
    steps = 0
    while True:
        steps += 1
        state = Path(shutil.copytree(filled, tmp_path / f"lost-{steps}"))
        runtime = InProcessRuntime(inline=True)
        async with running(state, runtime) as cloud:
            asked = 0

            async def still_mine(at: int = steps) -> bool:
                nonlocal asked
                asked += 1
                return asked < at

            try:
                await cloud.tick(NEXT, still_mine)
            except LeaseLost:
                assert asked == steps
            else:
                break
            if steps == 1:
                assert await cloud.report() != whole
            await cloud.tick(NEXT)
            assert await cloud.report() == whole
        await runtime.stop()
    assert steps > 10


def _beside(state: Path, folder: Path) -> Path:
    """The folder of a gateway of that cloud: the signing key, and where the database is."""
    folder.mkdir()
    shutil.copy(state / "signing.key", folder)
    config = CloudConfig(state=state)
    remember(folder, Places(database_url=config.database_url, blobs_url=config.blobs_url))
    return folder


@pytest.fixture
async def beside(cloud: Cloud, tmp_path: Path) -> AsyncIterator[Cloud]:
    """A process of role "gateway" beside `cloud`."""
    runtime = InProcessRuntime(inline=True)
    folder = _beside(cloud.config.state, tmp_path / "gateway")
    async with running(folder, runtime, role="gateway") as made:
        yield made
    await runtime.stop()


async def test_a_gateway_shows_what_the_ticking_process_has_done(
    cloud: Cloud, beside: Cloud
) -> None:
    assert beside.public_key == cloud.public_key
    assert beside.root_sha256 == cloud.root_sha256
    assert beside.endpoint().snapshot == cloud.endpoint().snapshot
    shown = beside.endpoint().snapshot
    assert not await beside.refresh(START)
    assert beside.endpoint().snapshot is shown  # nothing was built anew
    await cloud.tick(NEXT)
    assert beside.endpoint().snapshot is shown
    assert await beside.refresh(NEXT)
    assert beside.endpoint().snapshot == cloud.endpoint().snapshot != shown
    assert not await beside.refresh(NEXT)


async def test_a_gateway_makes_nothing_and_does_not_tick(cloud: Cloud, beside: Cloud) -> None:
    folder = beside.config.state
    assert {each.name for each in folder.iterdir()} == {"signing.key", "storage.json"}
    assert beside.helper is None
    with pytest.raises(ValueError, match="does not tick"):
        await beside.tick(NEXT)


async def test_a_phone_at_a_gateway(cloud: Cloud, beside: Cloud) -> None:
    phone = Phone(1)
    line, _ = await connect(phone, beside.endpoint())
    usage = descriptors(beside.endpoint(), beside.public_key)["usage"]
    line.client.upload(b"u" * 16, phone.report(usage, usage_answers()))
    (committed,) = await line.exchange()
    assert isinstance(committed, UploadCommitted)
    assert (await cloud.report())["reports"] == 1


async def test_a_report_for_a_round_that_has_closed_meanwhile(cloud: Cloud, beside: Cloud) -> None:
    """The gateway's snapshot is older than the tick: nothing else of the session is disturbed."""
    await cloud.tick(NEXT)
    phone = Phone(1)
    line, _ = await connect(phone, beside.endpoint())
    opened = descriptors(beside.endpoint(), beside.public_key)
    line.client.upload(b"u" * 16, phone.report(opened["usage"], usage_answers()))
    (refused,) = await line.exchange()
    assert isinstance(refused, UploadRefused)
    assert refused.code == "stale_round"
    await beside.refresh(NEXT)
    opened = descriptors(beside.endpoint(), beside.public_key)
    assert phone.report(opened["usage"], usage_answers(), NEXT)  # the next one may be joined
    line.client.upload(b"v" * 16, phone.report(opened["dedup"], _step(opened["dedup"]), NEXT))
    (committed,) = await line.exchange()
    assert isinstance(committed, UploadCommitted)


def _step(descriptor: RoundDescriptor) -> NDArray[np.float64]:
    return np.full(descriptor.dimension, 0.01)


async def test_a_round_is_shown_no_more_shortly_before_it_closes(
    cloud: Cloud, beside: Cloud
) -> None:
    usage = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
    last = shown_until(usage.opens, usage.closes)
    assert usage.closes - last == 120
    for each in (cloud, beside):
        await each.refresh(last - 1)
        assert usage in descriptors(each.endpoint(), each.public_key).values()
        assert await each.refresh(last)
        assert usage not in descriptors(each.endpoint(), each.public_key).values()
    # Who has it from before may still report.
    phone = Phone(1)
    line, _ = await connect(phone, beside.endpoint(), now=last)
    line.client.upload(b"u" * 16, phone.report(usage, usage_answers(), last))
    (committed,) = await line.exchange()
    assert isinstance(committed, UploadCommitted)


def test_short_rounds_are_hidden_for_a_share_of_their_length() -> None:
    assert shown_until(0.0, 100.0) == 95.0
    assert shown_until(0.0, DAY) == DAY - 120


async def test_who_may_not_join(state: Path, inline: Runtime, tmp_path: Path) -> None:
    async def fails(folder: Path, kind: type[Exception], says: str, **settings: str) -> None:
        with pytest.raises(kind, match=says):
            async with running(folder, inline, **settings):
                pass

    nobody = tmp_path / "nobody"
    await fails(nobody, NotFounded, "--role all", role="gateway")
    folder = _beside(state, tmp_path / "gateway")
    await fails(folder, NotFounded, "give --budget demo", role="gateway", budget="production")
    for role in ("gateway", "all"):
        (folder / "signing.key").unlink(missing_ok=True)
        await fails(folder, KeyFileUnusable, "whose key is not here", role=role)
        assert not (folder / "signing.key").exists()
        (folder / "signing.key").write_bytes(bytes(32))
        await fails(folder, KeyFileUnusable, "another key", role=role)


async def test_reports_are_shared_among_intakes(state: Path, inline: Runtime) -> None:
    async with running(state, inline, intake_shards=3) as cloud:
        await _fill(cloud, N_MIN)
        await cloud.tick(NEXT)
        assert {each["n"] for each in (await cloud.report())["aggregates"]} == {N_MIN}
