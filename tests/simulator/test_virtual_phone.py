"""The phone's real code lives a day in a world without a cloud."""

import asyncio
import contextlib
from dataclasses import replace

import pytest

from device.conditions import Conditions
from device.settings import Settings
from simulator.availability import PhoneAvailability, Track, draw_availability
from simulator.corpus import load_corpus
from simulator.faults.plan import FaultPlan
from simulator.laws import WINDOW
from simulator.network import GatewayConnection
from simulator.people import Say, person_of
from simulator.randomness import generator
from simulator.virtual import VirtualClock, VirtualLoop
from simulator.virtual_phone import PhoneResult, TrackConditions, VirtualPhone

START = 1_772_409_600.0
DAY = 86_400.0
SEED = 3


class NoGateway:
    def open_session(self, now: float) -> GatewayConnection:
        raise AssertionError("an unreachable network opens no session")


def day_of_a_phone(truth: PhoneAvailability) -> PhoneResult:
    person = person_of(load_corpus(None), 0, seed=SEED, start=START, days=1)
    loop = VirtualLoop()
    phone = VirtualPhone(
        0,
        seed=SEED,
        start=START,
        person=person,
        truth=truth,
        utc_offset=0.0,
        settings=Settings(
            cloud_url="virtual://cloud", cloud_key="00" * 32, budget="demo", timezone=person.zone
        ),
        gateway=NoGateway(),
        clock=VirtualClock(loop, START),
        faults=FaultPlan(unreachable=1.0),
    )
    life = loop.create_task(phone.live())
    loop.run_until(DAY)

    async def end() -> PhoneResult:
        life.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await life
        return await phone.end(START + DAY)

    result = loop.run_until_complete(end())
    loop.close()
    assert result.records == sum(isinstance(deed, Say) for deed in person.deeds)
    return result


def truth() -> PhoneAvailability:
    return draw_availability(generator(SEED, "truth"), start=START, days=1, utc_offset=0.0)


def test_an_offline_phone_remembers_answers_and_dreams_lawfully() -> None:
    result = day_of_a_phone(truth())
    assert result.answered > 0
    assert result.useful > 0
    assert result.items > 0, "dreams consolidate without a cloud"
    assert result.traffic.unreachable > 0
    assert result.epsilon == 0.0
    assert result.tally.checked[WINDOW] > 0
    assert not result.tally.violated, result.tally.violations


def test_a_phone_without_a_window_never_dreams() -> None:
    result = day_of_a_phone(replace(truth(), charging=Track(())))
    assert result.items == 0
    assert result.traffic.unreachable == 0
    assert result.answered > 0, "recall is served all the same"


def test_a_phone_that_misreads_its_situation_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    async def always_good(self: TrackConditions) -> Conditions:
        return Conditions(True, True, True, 1.0, read_at=self._clock.now())

    monkeypatch.setattr(TrackConditions, "read", always_good)
    assert WINDOW in day_of_a_phone(truth()).tally.violated


def test_senses_announce_each_change_and_the_battery_follows_the_charger() -> None:
    loop = VirtualLoop()
    clock = VirtualClock(loop, START)
    charging = Track(((START + 3600.0, START + 7200.0),))
    senses = TrackConditions(
        PhoneAvailability(charging, Track(((START, START + DAY),)), Track(())), clock, START
    )

    async def levels() -> list[float | None]:
        read = []
        for _ in range(3):
            read.append((await senses.read()).battery)
            await clock.sleep(3600.0)
        return read

    assert senses.next_change(START) == START + 3600.0
    first, drained, charged = loop.run_until_complete(levels())
    assert first is not None
    assert drained is not None
    assert charged is not None
    assert drained < first < charged
    assert senses.next_change(START + 2 * DAY) is None
    loop.close()
