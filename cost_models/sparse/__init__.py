"""Sparse operands: densities, formats, what gating and skipping save, what a mapping costs with them (docs/sparse.md).

densities.py   how a tensor's nonzero words are distributed
parsing.py     the same as text
formats.py     bits of metadata
savings.py     what one access serves, so that it may be left out
positions.py   where accesses stand, and how large the tiles there are
shares.py      which part of the dense traffic is left, and what the units themselves leave out
walk.py        the walk over masks that the shares are the means of
recount.py     these means against such walks, as `verify` does it
cost.py        words, energy, cycles, capacity
choices.py     the best formats, where several are allowed
least.py       words and operations that are left on any machine
"""

from .choices import evaluate_zeros
from .cost import evaluate_sparse
from .densities import Banded, Density, Measured, Structured, Uniform
from .parsing import DensityLike, densities_of, density_text, parse_densities, with_densities

__all__ = [
    "Banded",
    "Density",
    "DensityLike",
    "Measured",
    "Structured",
    "Uniform",
    "densities_of",
    "density_text",
    "evaluate_sparse",
    "evaluate_zeros",
    "parse_densities",
    "with_densities",
]
