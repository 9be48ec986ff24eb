"""A virtual loop with a lane of time for every phone.

A phone sees of the world outside only what it meets in a session with the cloud, so phones' times
need not be one time. Each lane runs on alone, far ahead of the others, until it is `bound` to the
border up to which the world outside is known, or until its phone asks something outside. Then the
lane's time stands still and the next lane runs. Questions of many lanes thus go out together, as
those of many phones do at a real gateway, and what one phone touches is touched in one go.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from simulator.virtual import Deadlock, VirtualLoop

__all__ = ["Lane", "LaneLoop"]

_TOGETHER: Final = 1_000
"""Lanes that take turns: what their phones touch stays in the processor's caches until their
questions are answered, and a message still carries the questions of many."""

Bring = Callable[[Sequence[Any]], Sequence[tuple[Any, BaseException | None]]]
"""Takes all questions that wait and gives (answer, None) or (None, error) for each."""


class Lane:
    """The time of one strand of a world."""

    __slots__ = (
        "_answered",
        "_asked",
        "_begin",
        "_bound",
        "_cancelled",
        "_now",
        "_task",
        "_timers",
    )

    def __init__(self, now: float, begin: Callable[[], asyncio.Task[None]] | None = None) -> None:
        """`begin` makes the lane's task when its time first runs; without one it has none."""
        self._now, self._begin = now, begin
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._cancelled = 0
        self._task: asyncio.Task[None] | None = None
        self._bound = 0
        """Who in it keeps to the border."""
        self._asked = 0
        """Questions outside that are not answered yet."""
        self._answered: list[tuple[asyncio.Future[Any], Any, BaseException | None]] | None = None

    @property
    def task(self) -> asyncio.Task[None] | None:
        """What lives in the lane, once it has begun."""
        return self._task

    @property
    def now(self) -> float:
        """Virtual seconds it has lived, while another lane runs."""
        return self._now

    @property
    def due(self) -> float:
        """When something happens next; inf for never."""
        if self._begin is not None or self._asked:
            return self._now
        return self._timers[0][0] if self._timers else math.inf

    def goes_on(self, border: float, horizon: float) -> bool:
        """Whether anything happens in it by then."""
        return self.due <= (border if self._bound or self._asked else horizon)


class _Asked(NamedTuple):
    """A question outside that waits for its answer."""

    lane: Lane
    at: float
    answer: asyncio.Future[Any]
    question: object


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
        self._asking: list[_Asked] = []
        self._border = self._beyond = 0.0
        self.bring: Bring = _nobody

    @contextmanager
    def bound(self) -> Iterator[None]:
        """Inside, the lane that runs now keeps to the border: it sees the world outside."""
        lane = self._lane
        lane._bound += 1
        try:
            yield
        finally:
            lane._bound -= 1

    def ask_outside(self, question: object) -> asyncio.Future[Any]:
        """The answer to `question`, at the very moment at which it was asked: until `bring` has
        answered, the time of the asker's lane stands still. It goes out once the border is there.
        """
        future: asyncio.Future[Any] = self.create_future()
        self._lane._asked += 1
        self._asking.append(_Asked(self._lane, self._now, future, question))
        return future

    def run_lanes(self, lanes: Sequence[Lane], border: float, horizon: float | None = None) -> None:
        """Run each lane up to and at `border` (virtual seconds), and the common one; those that are
        not bound up to `horizon`, which is the border unless given.

        Raises Deadlock when a lane's task waits although it has set no timer.
        """
        beyond = border if horizon is None else horizon
        due = [lane for lane in lanes if lane.goes_on(border, beyond)]
        self._border, self._beyond = border, beyond
        for first in range(0, max(1, len(due)), _TOGETHER):  # once for the common lane alone
            self._turns.extend(due[first : first + _TOGETHER])
            self.run_until(border)

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
            free = lane is not self._common and not lane._bound
            horizon = self._beyond if free else self._horizon
            if self._advanced(horizon):
                return
            self._ended(lane, horizon)
        if self._turns:
            self._enter(self._turns.popleft())
        elif asking := self._take_due():
            self._fetch(asking)
        else:
            self._enter(self._common)
            self.stop()

    def _ended(self, lane: Lane, horizon: float) -> None:
        """Nothing more is due in this lane before the horizon."""
        if not self._timers and lane._task is not None and not lane._task.done():
            raise Deadlock(self._deadlock())
        self._now = max(self._now, horizon)

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

    def _take_due(self) -> list[_Asked]:
        """The questions to whose moment the world outside has come; the others wait on."""
        due: list[_Asked] = []
        early: list[_Asked] = []
        for asked in self._asking:
            now = asked.at <= self._border or asked.lane is self._common
            (due if now else early).append(asked)
        self._asking = early
        return due

    def _fetch(self, asking: Sequence[_Asked]) -> None:
        """Have these questions answered, and go on with the lanes that asked them."""
        answers = self.bring([asked.question for asked in asking])
        lanes: dict[Lane, None] = {}
        for (lane, _, future, _), (value, error) in zip(asking, answers, strict=True):
            if lane._answered is None:
                lane._answered = []
            lane._answered.append((future, value, error))
            lanes[lane] = None
        self._turns.extend(lanes)
        self._enter(self._turns.popleft())
