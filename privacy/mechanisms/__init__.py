"""Exact integer mechanisms: clip to the lattice, then add discrete Gaussian noise.

clip.py   real vector → integers with a proven L2 norm
exact.py  discrete Gaussian, exact, one draw at a time (the reference)
table.py  the same distribution for whole vectors, with a stated distance from exact
"""

from privacy.mechanisms.clip import clip_to_lattice
from privacy.mechanisms.exact import discrete_gaussian
from privacy.mechanisms.table import GaussianTable, gaussian_table

__all__ = ["GaussianTable", "clip_to_lattice", "discrete_gaussian", "gaussian_table"]
