"""What a phone's senses announce."""

from __future__ import annotations

import asyncio

from device.actors.window import BATTERY_FLOOR
from simulator.availability import PhoneAvailability, Track
from simulator.senses import WindowConditions
from simulator.virtual import VirtualClock, VirtualLoop

HOUR = 3600.0


def test_the_moment_at_which_the_battery_has_reached_the_floor_is_announced() -> None:
    """A phone whose window opens on an empty battery would else sleep until the window ends."""
    always = Track(((0.0, 60 * HOUR),))
    charger = Track(((30 * HOUR, 40 * HOUR),))
    loop = VirtualLoop()
    clock = VirtualClock(loop, 0.0)
    senses = WindowConditions(PhoneAvailability(charger, always, always), clock, 0.0)

    async def watch() -> list[float]:
        await clock.sleep(30 * HOUR)
        assert ((await senses.read()).battery or 0.0) < BATTERY_FLOOR
        announced = [senses.next_change(clock.now()) or 0.0]
        await asyncio.sleep(announced[0] - clock.now())
        assert ((await senses.read()).battery or 0.0) >= BATTERY_FLOOR
        return [*announced, senses.next_change(clock.now()) or 0.0]

    reached, shut = loop.run_until_complete(watch())
    assert 30 * HOUR < reached < 31 * HOUR
    assert shut == 40 * HOUR
    loop.close()
