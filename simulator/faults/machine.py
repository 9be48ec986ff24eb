"""What goes wrong with a phone itself: its lives, and what ends or harms them.

| fault           | what happens here                                                           |
|-----------------|-----------------------------------------------------------------------------|
| kill            | no task of the process takes another step; the page cache survives          |
| torn_write      | the power goes in a write; unsynced bytes vanish, stop short or tear        |
| battery_dead    | the process ends, and the phone stays off for hours                         |
| disk_full       | every write is refused for hours                                            |
| restored_backup | the folder is as it was hours ago; a whole image takes the anchor along     |
| cloned_phone    | a copy of the folder, without its anchor, runs as a second phone            |
| clock_jump      | the clock is set, by minutes to three days, forward or back                 |
| clock_skew      | the clock is minutes off and drifts; a trait, as old_version is             |
"""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final, Protocol

from device.actors import Clock
from device.phone import Phone
from device.vault.anchor import MemoryAnchor
from privacy.anchor import Mark
from simulator.faults.clocks import PhoneClock
from simulator.faults.dice import Dice
from simulator.faults.disk import Died, Disk, Handle
from simulator.faults.failing import FAILING, may_end_with
from simulator.faults.process import METER, Meter, install

__all__ = ["FRAILTIES", "Body", "Lifetimes"]

FRAILTIES: Final = (
    "kill",
    "torn_write",
    "battery_dead",
    "disk_full",
    "restored_backup",
    "cloned_phone",
    "clock_jump",
)
"""Faults for which a phone needs lives."""
_STEPS: Final = 150
"""Steps until the kill, at most: of a dream or a session it may be any."""
_WRITES: Final = 40
"""Writes until the power goes, at most."""
_PAUSE: Final = (20.0, 1_800.0)
"""Seconds until a process that died is started again."""
_OFF: Final = (2 * 3_600.0, 8 * 3_600.0)
_FULL: Final = (1_800.0, 6 * 3_600.0)
_FULL_RETRY: Final = 600.0
_BACKUP_AGE: Final = (1_800.0, 10 * 3_600.0)
_WHOLE_IMAGE: Final = 0.25
"""Share of restored backups that bring the anchor back too."""
_JUMPS: Final = (-3 * 86_400.0, -3_600.0, -120.0, 120.0, 3_600.0, 3 * 86_400.0)
"""Seconds by which a clock is set."""
_FAILURES: Final = 3
"""Processes that end by themselves before nobody starts another."""


class Body(Protocol):
    """What the lives of one phone are given."""

    async def open(self, handle: Handle) -> Phone:
        """Open the phone on this life's storage."""
        ...

    async def serve(self, phone: Phone) -> None:
        """Let owner and daemon run, until cancelled."""
        ...

    def down(self) -> None:
        """The process has ended."""
        ...

    def restored(self, *, whole: bool) -> None:
        """The phone's folder was put back; `whole`: its anchor too."""
        ...

    def failed(self, error: BaseException, *, opened: bool) -> None:
        """The process ended by itself; not `opened`: what the disk holds cannot be used."""
        ...

    def cloned(self, files: dict[str, bytes]) -> Coroutine[Any, Any, None]:
        """Run a second phone from a copy, until cancelled."""
        ...


class _Life:
    """One run of the phone's process."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.meter = Meter(handle)
        self.phone: Phone | None = None
        self.task: asyncio.Task[None] | None = None
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        handle.on_death = self._died

    def _died(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


class Lifetimes:
    """One phone's process: started, ended by faults, started again.

    Args:
        dice: the phone's luck; clock: true time; seconds: length of the world.
        phone_clock: what `clock_jump` sets.
    """

    def __init__(
        self,
        body: Body,
        *,
        dice: Dice,
        clock: Clock,
        phone_clock: PhoneClock,
        seconds: float,
        anchor: MemoryAnchor,
    ) -> None:
        self.disk = Disk()
        self._body, self._dice, self._clock, self._phone_clock = body, dice, clock, phone_clock
        self._anchor = anchor
        self._start = clock.now()
        self._life: _Life | None = None
        self._backup: tuple[dict[str, bytes], Mark | None] | None = None
        self._clone: asyncio.Task[None] | None = None
        self._asked = 0
        self._failures = 0
        self._calendar = self._plan(seconds)

    @property
    def phone(self) -> Phone | None:
        """The phone as it runs now; None while it is down."""
        life = self._life
        return None if life is None or not life.handle.alive else life.phone

    async def run(self) -> None:
        """Live until cancelled, or until the phone has failed so often that nobody starts it again.

        Raises what is no failure of a phone but a mistake in its code.
        """
        install(asyncio.get_running_loop())
        self._begin()
        try:
            while self._failures < _FAILURES:
                await self._turn()
        finally:
            await self._pause_all()

    async def last_open(self) -> Phone | None:
        """The phone at the end of the world, started once more where it was down; None when it
        does not open."""
        if self.phone is None:
            self.disk.full, self.disk.fuse = False, None
            self._life = _Life(Handle(self.disk, self._dice.of("torn_write")))
            try:
                self._life.phone = await self._body.open(self._life.handle)
            except FAILING as error:
                self._body.failed(error, opened=False)
        return self.phone

    async def _turn(self) -> None:
        """Wait for the end of this life or for the next entry of the calendar."""
        due = self._calendar[0][0] if self._calendar else None
        left = None if due is None else max(0.0, due - self._elapsed())
        life = self._life
        if life is not None and life.task is not None:
            ends = (life.task, life.over)
            await asyncio.wait(ends, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if life.task.done() or life.over.done():
                await self._ended(life)
                return
        else:
            assert left is not None, "a phone that is down has a time to wake"
            await self._clock.sleep(left)
        if due is not None and self._elapsed() >= due:
            await self._happen(self._calendar.pop(0)[1])

    async def _pause_all(self) -> None:
        for task in (self._life.task if self._life else None, self._clone):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Died):
                    await task

    def _plan(self, seconds: float) -> list[tuple[float, str]]:
        """What will happen, by seconds since the world began."""
        found = [
            (at, name)
            for name in FRAILTIES
            if name != "cloned_phone"
            for at in self._dice.moments(name, seconds)
        ]
        stream = self._dice.of("restored_backup") if self._dice.planned("restored_backup") else None
        for at, name in list(found):
            if name == "restored_backup" and stream is not None:
                found.append((max(0.0, at - float(stream.uniform(*_BACKUP_AGE))), "backup"))
        if self._dice.is_so("cloned_phone"):
            found.append(
                (float(self._dice.of("cloned_phone").uniform(0.1, 0.6)) * seconds, "clone")
            )
        return sorted(found)

    def _later(self, seconds: float, name: str) -> None:
        bisect.insort(self._calendar, (self._elapsed() + seconds, name))

    async def _happen(self, name: str) -> None:
        life, dice = self._life, self._dice
        match name:
            case "wake":
                self._begin()
            case "disk_freed":
                self.disk.full = False
                if self.disk.refused > self._asked:
                    dice.happened("disk_full", f"{self.disk.refused - self._asked} writes refused")
            case "backup":
                self._backup = (self.disk.copy(), self._anchor.read())
            case "disk_full":
                self.disk.full, self._asked = True, self.disk.refused
                self._later(float(dice.of(name).uniform(*_FULL)), "disk_freed")
            case "clock_jump":
                by = float(dice.of(name).choice(_JUMPS))
                self._phone_clock.jump(by)
                dice.happened(name, f"{by:+.0f} s")
            case "clone":
                dice.happened("cloned_phone")
                self._clone = asyncio.ensure_future(self._copy_of(self.disk.copy()))
            case "kill" if life is not None:
                life.meter.last = life.meter.steps + int(dice.of(name).integers(1, _STEPS))
            case "torn_write":
                self.disk.fuse = int(dice.of(name).integers(1, _WRITES))
            case "battery_dead" if life is not None:
                dice.happened(name)
                await self._bury(life, float(dice.of(name).uniform(*_OFF)))
            case "restored_backup":
                await self._restore()

    async def _copy_of(self, files: dict[str, bytes]) -> None:
        """A copy that fails is missed by nobody."""
        with suppress(*FAILING):
            await self._body.cloned(files)

    async def _restore(self) -> None:
        assert self._backup is not None
        files, mark = self._backup
        if not files:
            return
        if self._life is not None:
            await self._bury(self._life, _PAUSE[0])
        self.disk.restore(files)
        whole = bool(self._dice.of("restored_backup").random() < _WHOLE_IMAGE)
        if whole and mark is not None:
            self._anchor.write(mark)
        self._dice.happened("restored_backup", "with its anchor" if whole else "")
        self._body.restored(whole=whole)

    def _begin(self) -> None:
        self._calendar = [entry for entry in self._calendar if entry[1] != "wake"]
        life = self._life = _Life(Handle(self.disk, self._dice.of("torn_write")))
        token = METER.set(life.meter)
        life.task = asyncio.get_running_loop().create_task(self._live(life))
        METER.reset(token)

    async def _live(self, life: _Life) -> None:
        life.phone = await self._body.open(life.handle)
        await self._body.serve(life.phone)

    async def _ended(self, life: _Life) -> None:
        """The process is gone; find out of what, and start it again later."""
        assert life.task is not None
        lost, killed = life.handle.power_lost, life.meter.killed
        pause = _FULL_RETRY
        if lost:
            self._dice.happened("torn_write")
        elif killed:
            self._dice.happened("kill", f"at step {life.meter.steps}")
        if lost or killed:
            pause = float(self._dice.of("kill").uniform(*_PAUSE))
        else:
            error = None if life.task.cancelled() else life.task.exception()
            if error is None or not may_end_with(error):
                raise error or RuntimeError("a phone stopped living")
            if self.disk.refused <= self._asked:  # not for want of space, then
                self._failures += 1
                self._body.failed(error, opened=life.phone is not None)
        await self._bury(life, pause)
        if lost:
            self.disk.lose_power(self._dice.of("torn_write"))

    async def _bury(self, life: _Life, pause: float) -> None:
        await life.meter.bury()
        self._life = None
        self._body.down()
        self._later(pause, "wake")

    def _elapsed(self) -> float:
        return self._clock.now() - self._start
