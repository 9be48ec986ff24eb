"""One timer for a whole session, however many messages it has.

`asyncio.timeout` around every message makes and cancels a timer each time. Here only the deadline
moves; the timer looks at it when it fires, and sleeps on when it came too early.
"""

from __future__ import annotations

import asyncio

__all__ = ["Patience"]


class Patience:
    """Interrupts the task that made it once a deadline has passed.

    Call `within` before whatever may take long, and `stop` at the end. The interrupted wait raises
    CancelledError; `spent` then tells this one from a cancellation by somebody else.
    """

    __slots__ = ("_cancelled", "_deadline", "_interrupted", "_loop", "_task", "_timer", "_wakes")

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._loop = task, asyncio.get_running_loop()
        self._cancelled = task.cancelling()
        self._deadline = self._wakes = float("inf")
        self._timer: asyncio.TimerHandle | None = None
        self._interrupted = False

    def within(self, seconds: float, latest: float = float("inf")) -> None:
        """Wait so long from now on, but not beyond `latest` (the loop's clock, seconds)."""
        moment = self._deadline = min(self._loop.time() + seconds, latest)
        if moment < self._wakes:
            if self._timer is not None:
                self._timer.cancel()
            self._set(moment)

    def over(self, moment: float) -> bool:
        """Whether that moment of the loop's clock has come."""
        return self._loop.time() >= moment

    def stop(self) -> None:
        """Interrupt no more."""
        self._deadline = float("inf")
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def spent(self) -> bool:
        """Whether the CancelledError just caught came from here; else it must be raised again."""
        if not self._interrupted:
            return False
        self._interrupted = False
        return self._task.uncancel() <= self._cancelled

    def _set(self, moment: float) -> None:
        self._wakes = moment
        self._timer = self._loop.call_at(moment, self._look)

    def _look(self) -> None:
        if self._loop.time() < self._deadline:
            self._set(self._deadline)
            return
        self._timer, self._wakes = None, float("inf")
        self._interrupted = True
        self._task.cancel()
