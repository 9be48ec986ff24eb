"""Exact integer mechanisms: what makes a report private.

clip.py     real vector → integers with a proven L2 norm, unbiased rounding
exact.py    discrete Gaussian and Laplace, exact, one draw at a time (the reference)
table.py    the Gaussian for whole vectors, with a stated distance from exact
local.py    subset selection and k-RR: one answer, no server trusted
uniform.py  random bytes → uniform integers
"""

from privacy.mechanisms.clip import clip_to_lattice
from privacy.mechanisms.exact import discrete_gaussian, discrete_laplace
from privacy.mechanisms.local import SubsetSelection
from privacy.mechanisms.table import GaussianTable, gaussian_table, sampling_delta

__all__ = [
    "GaussianTable",
    "SubsetSelection",
    "clip_to_lattice",
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian_table",
    "sampling_delta",
]
