"""The garbage collector comes seldom while a world plays, and is as it was afterwards."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from simulator.garbage import Sweeper, seldom_collected, settle
from simulator.resident import resident

DAY = 86_400.0


def test_it_is_put_back_as_it_was_whatever_happens() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()

    def world() -> None:
        with seldom_collected():
            settle()
            assert gc.get_threshold() > before
            assert gc.get_freeze_count() > frozen
            raise KeyError

    with pytest.raises(KeyError):
        world()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize(("end", "due"), [(9, [1.0, 2.0, 4.0, 8.0]), (8, [1.0, 2.0, 4.0])])
def test_a_sweep_is_due_after_one_two_four_days_and_none_at_the_end(
    monkeypatch: pytest.MonkeyPatch, end: int, due: list[float]
) -> None:
    swept: list[float] = []
    sweeper, hour = Sweeper(end * DAY), 0
    monkeypatch.setattr(gc, "collect", lambda: swept.append(hour / 24))
    for hour in range(1, end * 24 + 1):
        sweeper.passed(hour * DAY / 24)
    assert swept == due


def test_memory_is_that_of_a_process_and_all_under_it(tmp_path: Path) -> None:
    for number, parent, kib in ((1, 0, 5), (7, 1, 100), (8, 7, 20), (9, 8, 3), (10, 1, 900)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "status").write_text(f"Name:\tx\nPPid:\t{parent}\nVmRSS:\t {kib} kB\n")
    (tmp_path / "11").mkdir()  # a process that has just ended
    assert resident(7, tmp_path) == 123 * 1024
    assert resident(os.getpid(), tmp_path / "elsewhere") == 0
