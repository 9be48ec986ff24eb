"""The clip: no vector, however hostile, leaves the ball; and rounding moves nothing on average."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privacy.audit.mechanisms.statistics import ALPHA, normal_quantile
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.budget import BUDGETS
from privacy.mechanisms.clip import clip_to_lattice

__all__ = ["check_clip"]

_DIMENSIONS = (1, 2, 3, 7, 32, 500)
_RANDOM = 200
"""Random vectors a setting."""

_ROUNDINGS = 4_000
"""Times one vector is rounded to see that rounding has no bias."""

_LENGTHS = (0.999, 1.0, 1.001, 7.0)
"""Lengths of random vectors, in clips."""

_HUGE = 1e300
_TINY = 5e-324

Vector = npt.NDArray[np.float64]


def check_clip(context: Context, findings: Findings) -> None:
    """Sensitivity after rounding in exact integers; broken vectors; bias."""
    tried = 0
    for clip, scale in _settings():
        limit = math.floor((Fraction(clip) * scale) ** 2)
        bits = context.bits("clip", clip, scale)
        for vector in _vectors(context, clip, scale):
            lattice = clip_to_lattice(vector, clip, scale, bits)
            tried += 1
            norm = sum(value * value for value in lattice.tolist())
            findings.expect(
                norm <= limit,
                f"clip {clip:.4g} at scale {scale}: a vector is "
                f"{math.sqrt(norm / max(limit, 1)):.4g} times too long",
            )
        _check_integers_stay(context, findings, clip, scale)
    _check_broken(context, findings)
    _check_bias(context, findings)
    findings.method("integer norm of hostile and random vectors; bias of the rounding")
    findings.remark(f"{tried:,} vectors")


def _settings() -> list[tuple[float, int]]:
    own = [(s.clip, s.scale) for budget in BUDGETS.values() for s in budget.streams]
    return list(dict.fromkeys([*own, (0.1, 1), (1.0, 1 << 20), (3.7, 3)]))


def _vectors(context: Context, clip: float, scale: int) -> Iterator[Vector]:
    """On, just inside and just outside the ball, half-way between lattice points, huge, tiny."""
    for d in _DIMENSIONS:
        even = np.full(d, clip / math.sqrt(d))
        axis = np.zeros(d)
        axis[0] = clip
        half = np.full(d, 0.5 / scale)
        for vector in (even, axis, axis + half, even + half):
            yield from (vector, -vector, np.nextafter(vector, np.inf), 10.0 * vector)
        yield from (np.full(d, _HUGE), np.full(d, _TINY), np.full(d, -_HUGE), np.zeros(d))
    for number in range(context.size(_RANDOM, 20)):
        d = 1 + 7 * number % 199
        vector = context.normals(d, "vector", number)
        length = _LENGTHS[number % len(_LENGTHS)]
        yield vector * (clip * length / float(np.linalg.norm(vector)))


def _check_integers_stay(context: Context, findings: Findings, clip: float, scale: int) -> None:
    """A vector already on the lattice and in the ball is passed on unchanged."""
    limit = math.isqrt(math.floor((Fraction(clip) * scale) ** 2))
    lattice = np.zeros(5, dtype=np.int64)
    lattice[[1, 3]] = limit // 2, -(limit // 3)
    passed = clip_to_lattice(lattice / scale, clip, scale, context.bits("integers"))
    findings.expect(
        bool(np.array_equal(passed, lattice)), "a vector on the lattice and in the ball is changed"
    )


def _check_broken(context: Context, findings: Findings) -> None:
    bits = context.bits("broken")
    for broken in (math.nan, math.inf, -math.inf):
        vector = np.array([0.25, broken, -0.5])
        findings.expect(
            not np.any(clip_to_lattice(vector, 1.0, 4096, bits)),
            "a vector with NaN or infinity does not become zeros",
        )


def _check_bias(context: Context, findings: Findings) -> None:
    """Every coordinate of a vector off the lattice keeps its mean, within the test's error."""
    scale, d = 16, 25
    vector = np.linspace(-0.9, 0.9, d) / math.sqrt(d) / 1.1 + 0.01
    bits = context.bits("bias")
    rounds = context.size(_ROUNDINGS, 500)
    total = np.zeros(d)
    for _ in range(rounds):
        total += clip_to_lattice(vector, 1.0, scale, bits)
    allowed = normal_quantile(1.0 - ALPHA / (2 * d)) * 0.5 / math.sqrt(rounds)
    bias = float(np.max(np.abs(total / rounds - vector * scale)))
    findings.expect(bias <= allowed, f"rounding shifts a coordinate by {bias:.3f} lattice units")
