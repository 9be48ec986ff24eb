"""A weighted candidate is the same candidate in all but its score."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from device.memory.records import Turn
from device.recall.candidates import from_turn

TURN = Turn("r-7", 12.0, "阿明", "明天去爬山", "talk", "chat", "dialogue")


@given(st.floats(0.0, 5.0), st.floats(0.0, 5.0))
def test_scaling_is_replacing_the_score(score: float, weight: float) -> None:
    candidate = from_turn(TURN, score, 0.5)
    scaled = candidate.scaled(weight)
    assert scaled == replace(candidate, score=score * weight)
    assert scaled.shown(("time",)) == replace(candidate.hit, score=score * weight, tells=("time",))
