"""A virtual loop with a lane of time for every phone.

Between two borders no phone can see what another does, so their time need not be one time: each
lane runs on alone until the border, or until its phone asks something outside. Then the lane's
time stands still and the next lane runs. Questions of many lanes thus go out together, as those of
many phones do at a real gateway, and what one phone touches is touched in one go.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from simulator.virtual import Deadlock, VirtualLoop

__all__ = ["Lane", "LaneLoop"]

Bring = Callable[[Sequence[Any]], Sequence[tuple[Any, BaseException | None]]]
"""Takes all questions that wait and gives (answer, None) or (None, error) for each."""


class Lane:
    """The time of one strand of a world."""

    __slots__ = ("_answered", "_asked", "_begin", "_cancelled", "_now", "_task", "_timers")

    def __init__(self, now: float, begin: Callable[[], asyncio.Task[None]] | None = None) -> None:
        """`begin` makes the lane's task when its time first runs; without one it has none."""
        self._now, self._begin = now, begin
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._cancelled = 0
        self._task: asyncio.Task[None] | None = None
        self._asked = 0
        """Questions outside that are not answered yet."""
        self._answered: list[tuple[asyncio.Future[Any], Any, BaseException | None]] | None = None

    @property
    def task(self) -> asyncio.Task[None] | None:
        """What lives in the lane, once it has begun."""
        return self._task

    @property
    def due(self) -> float:
        """When something happens next; inf for never."""
        if self._begin is not None:
            return self._now
        return self._timers[0][0] if self._timers else math.inf


def _nobody(questions: Sequence[Any]) -> Sequence[tuple[Any, BaseException | None]]:
    raise RuntimeError(f"nobody is there to answer {len(questions)} questions")


class LaneLoop(VirtualLoop):
    """Runs lanes one after the other. What belongs to none is in a lane of its own, the common one,
    which is also where the loop stands while it does not run."""

    def __init__(self) -> None:
        super().__init__()
        self._common: Final = Lane(0.0)
        self._lane = self._common
        self._turns: deque[Lane] = deque()
        self._asking: list[tuple[Lane, asyncio.Future[Any], Any]] = []
        self.bring: Bring = _nobody

    def ask_outside(self, question: object) -> asyncio.Future[Any]:
        """The answer to `question`, at the very moment at which it was asked: until `bring` has
        answered, the time of the asker's lane stands still."""
        future: asyncio.Future[Any] = self.create_future()
        self._lane._asked += 1
        self._asking.append((self._lane, future, question))
        return future

    def run_lanes(self, lanes: Iterable[Lane], moment: float) -> None:
        """Run each lane up to and at `moment` (virtual seconds), and the common one.

        Raises Deadlock when a lane's task waits although it has set no timer.
        """
        self._turns.extend(lanes)
        self.run_until(moment)

    def run_in_order(
        self, lanes: Sequence[Lane], moment: float, stopped: Callable[[], bool]
    ) -> None:
        """The same, instant by instant across all lanes, for who wants to watch; `stopped` ends it
        after an instant. Every lane sees what it sees with `run_lanes`."""
        ahead = [(lane.due, number) for number, lane in enumerate(lanes)]
        heapq.heapify(ahead)
        while ahead and ahead[0][0] <= moment and not stopped():
            due, number = heapq.heappop(ahead)
            self.run_lanes([lanes[number]], max(due, self._now))
            heapq.heappush(ahead, (lanes[number].due, number))
        if not stopped():
            self.run_lanes(lanes, moment)

    def _leap(self) -> None:
        """Move the lane's clock; when it may not move any more, go on with another lane."""
        lane = self._lane
        if not lane._asked:
            if self._advanced():
                return
            self._ended(lane)
        if self._turns:
            self._enter(self._turns.popleft())
        elif self._asking:
            self._fetch()
        else:
            self._enter(self._common)
            self.stop()

    def _ended(self, lane: Lane) -> None:
        """Nothing more is due in this lane before the horizon."""
        if not self._timers and lane._task is not None and not lane._task.done():
            raise Deadlock(self._deadlock())
        self._now = max(self._now, self._horizon)

    def _enter(self, lane: Lane) -> None:
        """Go on in `lane`: begin it, or give it the answers it waits for."""
        left = self._lane
        left._now, left._cancelled = self._now, self._cancelled_timers
        self._lane = lane
        self._now, self._timers = lane._now, lane._timers
        self._cancelled_timers = lane._cancelled
        if lane._begin is not None:
            begin, lane._begin = lane._begin, None
            lane._task = begin()
        answered, lane._answered = lane._answered, None
        for future, value, error in answered or ():
            lane._asked -= 1
            if future.done():
                continue  # the asker was cancelled
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

    def _fetch(self) -> None:
        """Have all questions answered, and go on with the lanes that asked them."""
        asking, self._asking = self._asking, []
        answers = self.bring([question for _, _, question in asking])
        lanes: dict[Lane, None] = {}
        for (lane, future, _), (value, error) in zip(asking, answers, strict=True):
            if lane._answered is None:
                lane._answered = []
            lane._answered.append((future, value, error))
            lanes[lane] = None
        self._turns.extend(lanes)
        self._enter(self._turns.popleft())
