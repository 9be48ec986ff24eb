"""How sure a preference is: frequency, time span, emotional strength (002, preferences).

Said once, "I like spicy food" is no lasting preference; said again weeks later it is.
"""

from __future__ import annotations

__all__ = ["CERTAIN", "OWNER_SOURCE", "VOLUNTEERED", "preference_confidence"]

DAY_SECONDS = 86_400.0
FREQUENCY_WEIGHT, SPAN_WEIGHT, EMOTION_WEIGHT = 0.6, 0.2, 0.2
FULL_SPAN_DAYS = 30.0
CERTAIN = 1.0
OWNER_SOURCE = "owner"
"""Source of a turn in which the owner told a preference outright: certain at once."""
VOLUNTEERED = 0.5
"""A preference below this is used only when asked for, never volunteered."""


def preference_confidence(times_said: int, span_seconds: float, emotion: float) -> float:
    """Confidence (0 … 1) of a preference said `times_said` (≥ 1) times over `span_seconds`.

    `emotion` is the strongest |sentiment| it was said with. Grows with each argument.
    """
    frequency = 1.0 - 0.5 ** max(times_said, 1)
    span = min(max(span_seconds, 0.0) / DAY_SECONDS / FULL_SPAN_DAYS, 1.0)
    total = FREQUENCY_WEIGHT * frequency + SPAN_WEIGHT * span + EMOTION_WEIGHT * min(emotion, 1.0)
    return min(total, 1.0)
