"""Gradient noise that is what the account says it is: integers, from a cryptographic generator.

A float Gaussian is not the distribution its name says: the low bits of its samples tell which sum
they were added to (Mironov, CCS 2012; opacus#616), and a generator such as torch's or numpy's can
be run backwards from enough of its output. Here the summed gradient is rounded to a lattice and an
exact discrete Gaussian in lattice units is added, drawn by `privacy.mechanisms` from given bits.

Sensitivity. Let two corpora differ in one unit, and both batches hold the same other units. The
true sums differ by that unit's clipped gradient: at most `clip` in L2. To it is added

- rounding to the lattice: it moves each of d values by at most half a step in either sum, so the
  difference by at most step·sqrt(d);
- float64 summation: n ≤ 2^16 rows, each of norm ≤ clip, are summed with an error of at most
  n·2^-53·n·clip ≤ 2^-21·clip, in any order, in either sum: together 2^-20·clip. float32 would
  leave 2^9·clip: hence the float64 network. (A row's own gradient is taken to be the same number
  whoever else is in the batch, up to that same rounding; a hidden unit that is zero to sixteen
  digits could break this, and is not defended against.)

Noise is scaled to the sum of the three, so that noise over sensitivity is at least the multiplier
the accountant is given. The discrete Gaussian's moments under integer shifts are at most the
continuous one's (Canonne, Kamath & Steinke 2020, Proposition 5), coordinate by coordinate, so
the Rényi account of the sampled Gaussian holds for it; at more than 2^16 lattice units of noise
the loss distributions of the two agree to twelve figures, so that of loss distributions does too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from opacus.optimizers import DPOptimizerFastGradientClipping

from privacy.bits import BitSource
from privacy.mechanisms import gaussian_table

__all__ = ["ExactNoiseOptimizer", "NoiseLattice"]

LATTICE_BITS = 16
"""A clip is this many binary digits of lattice steps: the rounding's sqrt(d) is then under 1 % of
it for a million values, and one split of the sampler's table is enough."""
FLOAT_SLACK = 2.0**-20
"""Bound on what float64 summation adds to the sensitivity, as a share of the clip."""


@dataclass(frozen=True)
class NoiseLattice:
    """`step`: a power of two, in the gradient's units; `variance`: of the noise, in steps²."""

    step: float
    variance: int

    @classmethod
    def of(cls, clip: float, multiplier: float, dimension: int) -> NoiseLattice:
        """The lattice of a sum of `dimension` values to which every unit adds at most `clip`."""
        step = 2.0 ** (math.floor(math.log2(clip)) - LATTICE_BITS)
        # Rounded up to whole steps at every turn: never less noise than said.
        reach = math.ceil(clip * (1.0 + FLOAT_SLACK) / step) + math.isqrt(dimension) + 1
        return cls(step, math.ceil((Fraction(multiplier) * reach) ** 2))

    def noised(self, total: NDArray[np.float64], bits: BitSource) -> NDArray[np.float64]:
        """`total` rounded to the lattice, plus noise: float64 of the same shape, exact in it."""
        steps = np.rint(total / self.step).astype(np.int64)
        if self.variance:
            steps += gaussian_table(self.variance).sample(steps.size, bits).reshape(steps.shape)
        noised: NDArray[np.float64] = steps.astype(np.float64) * self.step
        return noised


class ExactNoiseOptimizer(DPOptimizerFastGradientClipping):  # type: ignore[misc]
    """Opacus' optimiser for ghost-clipped gradients with the noise of `NoiseLattice`.

    Args:
        bits: where the noise comes from. settings: those of the parent class.
    """

    def __init__(self, *args: Any, bits: BitSource, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._bits = bits
        self._lattice = NoiseLattice.of(
            float(self.max_grad_norm),
            self.noise_multiplier,
            sum(parameter.numel() for parameter in self.params),
        )

    def add_noise(self) -> None:
        """Set every parameter's gradient to its share of the noised sum."""
        parts = [parameter.summed_grad.reshape(-1).double() for parameter in self.params]
        noised = torch.from_numpy(self._lattice.noised(torch.cat(parts).numpy(), self._bits))
        start = 0
        for parameter in self.params:
            end = start + parameter.numel()
            parameter.grad = noised[start:end].view_as(parameter).to(parameter.dtype)
            start = end
