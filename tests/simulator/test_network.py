import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from statistics import median

import pytest

from device.sync.channel import Channel, ChannelClosed, CloudUnreachable
from simulator.faults.network import LINK, Link
from simulator.faults.plan import FaultPlan
from simulator.network import Network
from simulator.randomness import generator
from simulator.virtual import VirtualClock, VirtualLoop

CALM = FaultPlan.none()
PAYLOAD = 3_000
HEADROOM = 1.10


class Echo:
    """A gateway that answers each frame with two."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.closed = False

    def open_session(self, now: float) -> "Echo":
        return self

    async def receive(self, frame: bytes) -> list[bytes]:
        self.frames.append(frame)
        return [frame, frame[::-1]]

    def finish(self, reason: str, retry_after: float = 0.0) -> list[bytes]:
        self.closed = True
        return [reason.encode()]


class Recorder:
    def __init__(self) -> None:
        self.up: list[bytes] = []
        self.down: list[bytes] = []

    def uplink(self, frame: bytes, at: float) -> None:
        self.up.append(frame)

    def downlink(self, frame: bytes, at: float) -> None:
        self.down.append(frame)


class Scene:
    def __init__(self, faults: FaultPlan, stream: int = 0, link: Link = LINK) -> None:
        self.loop = VirtualLoop()
        self.echo, self.tap = Echo(), Recorder()
        clock = VirtualClock(self.loop, 0.0)
        rng = generator(7, "network", stream)
        self.network = Network(self.echo, clock, rng, faults, self.tap, link=link)

    def play(self, act: Callable[[Network], Awaitable[None]]) -> None:
        async def scene() -> None:
            await act(self.network)

        try:
            self.loop.run_until_complete(scene())
        finally:
            self.loop.close()


def test_frames_arrive_in_order_and_take_time() -> None:
    scene = Scene(CALM)
    got: list[bytes] = []

    async def act(network: Network) -> None:
        async with network.connect() as channel:
            for frame in (b"ab", b"cd"):
                await channel.send(frame)
            got.extend([await channel.receive() for _ in range(4)])

    scene.play(act)
    assert got == [b"ab", b"ba", b"cd", b"dc"]
    assert scene.tap.up == [b"ab", b"cd"]
    assert scene.tap.down == [b"ab", b"ba", b"cd", b"dc"]
    assert 0.05 < scene.loop.time() < 5.0


def test_bytes_on_the_wire_exceed_the_payload_by_the_stated_overhead() -> None:
    def traffic(frames: int) -> tuple[int, int]:
        scene = Scene(CALM)

        async def act(network: Network) -> None:
            async with network.connect() as channel:
                for _ in range(frames):
                    await channel.send(bytes(PAYLOAD))

        scene.play(act)
        return scene.network.traffic.up, scene.network.traffic.down

    setup_up, setup_down = traffic(0)
    assert setup_up > 500
    assert setup_down > 2_000
    up, down = traffic(10)
    assert 10 * PAYLOAD < up - setup_up < 10 * PAYLOAD * HEADROOM
    assert 20 * PAYLOAD < down - setup_down < 20 * PAYLOAD * HEADROOM


@pytest.mark.parametrize("size", [0, 10, 125, 126, 1_000, 1_400, 5_000, 32_768])
def test_one_frame_costs_what_its_layers_add(size: int) -> None:
    """Counted by hand: WebSocket header (RFC 6455), TLS 1.3 record, TCP/IPv4 with timestamps."""
    scene = Scene(CALM)
    costs: list[tuple[int, int]] = []

    async def act(network: Network) -> None:
        async with network.connect() as channel:
            before = network.traffic.up, network.traffic.down
            await channel.send(bytes(size))
            costs.append((network.traffic.up - before[0], network.traffic.down - before[1]))

    def wire(mask: int) -> int:
        record = size + (2 if size <= 125 else 4) + mask + 5 + 1 + 16
        segments = (record + 1_399) // 1_400
        return record + segments * (20 + 20 + 12)

    bare_ack = 20 + 20 + 12
    scene.play(act)
    # One frame up; two down, as this gateway answers twice; each is acknowledged.
    assert costs == [(wire(4) + 2 * bare_ack, 2 * wire(0) + bare_ack)]


def journeys(size: int, link: Link = LINK, frames: int = 400, stream: int = 0) -> list[float]:
    """Seconds each of `frames` took to the gateway."""
    scene = Scene(CALM, stream, link)
    took: list[float] = []

    async def act(network: Network) -> None:
        async with network.connect() as channel:
            for _ in range(frames):
                left = scene.loop.time()
                await channel.send(bytes(size))
                took.append(scene.loop.time() - left)

    scene.play(act)
    return took


def test_latency_is_as_stated() -> None:
    took = journeys(0)
    assert min(took) > 0.0
    assert median(took) == pytest.approx(LINK.latency_median, rel=0.15)
    assert len(set(took)) == len(took)
    assert journeys(0) == took
    assert journeys(0, stream=1) != took


def test_large_frames_take_longer_by_their_size() -> None:
    still = Link(latency_median=0.0, bytes_per_second=1_000.0)
    assert journeys(500, still, frames=2) == pytest.approx([0.5, 0.5])


def test_the_share_of_cuts_and_refusals_is_as_stated() -> None:
    faults = FaultPlan(unreachable=0.3, cut=0.1)
    scene = Scene(faults)
    tries = 600

    async def act(network: Network) -> None:
        for _ in range(tries):
            try:
                async with network.connect() as channel:
                    await channel.send(b"x")
            except (ChannelClosed, CloudUnreachable):
                pass

    scene.play(act)
    traffic = scene.network.traffic
    assert traffic.unreachable + traffic.sessions == tries
    assert traffic.unreachable / tries == pytest.approx(faults.unreachable.rate, abs=0.06)
    # A frame may break on its way there, or its answers on their way back.
    expected = 1 - (1 - faults.cut.rate) ** 2
    assert traffic.cuts / traffic.sessions == pytest.approx(expected, abs=0.06)


def test_an_unreachable_network_says_so() -> None:
    scene = Scene(FaultPlan(unreachable=1.0))

    async def act(network: Network) -> None:
        with pytest.raises(CloudUnreachable):
            async with network.connect():
                pass

    scene.play(act)
    assert scene.network.traffic.unreachable == 1
    assert scene.network.traffic.sessions == 0


async def flood(channel: Channel) -> None:
    while True:
        await channel.send(b"x")


def test_cuts_happen_before_and_after_the_gateway_saw_the_frame() -> None:
    seen: list[int] = []
    for stream in range(40):
        scene = Scene(FaultPlan(unreachable=0.0, cut=0.5), stream)

        async def act(network: Network) -> None:
            async with network.connect() as channel:
                with pytest.raises(ChannelClosed):
                    await flood(channel)

        scene.play(act)
        assert scene.network.traffic.cuts == 1
        seen.append(len(scene.tap.up) - len(scene.echo.frames))
    assert set(seen) == {0, 1}, "some cuts lose the frame, others only its answer"


def test_a_closed_gateway_ends_the_channel() -> None:
    scene = Scene(CALM)

    async def act(network: Network) -> None:
        async with network.connect() as channel:
            await channel.send(b"x")
            scene.echo.closed = True
            assert [await channel.receive() for _ in range(2)] == [b"x", b"x"]
            with pytest.raises(ChannelClosed):
                await channel.receive()

    scene.play(act)


def test_leaving_the_channel_wakes_whoever_waits() -> None:
    scene = Scene(CALM)
    told: list[str] = []

    async def act(network: Network) -> None:
        async with network.connect() as channel:

            async def wait() -> None:
                try:
                    await channel.receive()
                except ChannelClosed:
                    told.append("closed")

            waiting = asyncio.ensure_future(wait())
            await asyncio.sleep(1.0)
        await waiting

    scene.play(act)
    assert told == ["closed"]


def test_an_ended_session_is_let_go() -> None:
    scene = Scene(CALM)
    ended: list[weakref.ref[Channel]] = []

    async def act(network: Network) -> None:
        async with network.connect() as channel:
            await channel.send(b"x" * PAYLOAD)
            ended.append(weakref.ref(channel))

    scene.play(act)
    gc.collect()
    assert ended[0]() is None, "a fleet would hold every phone's last session"
