"""Sparse operands: densities, formats, what gating and skipping save, what a mapping costs with them (docs/sparse.md).

densities.py   how a tensor's nonzero words are distributed; parsing.py reads them
formats.py     bits of metadata
savings.py     what one access serves, so that it may be left out
shares.py      which part of the dense traffic is left; walk.py, the walk over masks that it has the means of
cost.py        words, energy, cycles, capacity
sparseloop*.py, ranks.py   the conventions of Timeloop's sparse model, for comparison
"""

from .cost import SparseCost, SparseMemoryUse, SparseTraffic, evaluate_sparse
from .densities import Banded, Density, Even, Measured, Structured, Uniform
from .parsing import DensityLike, density_text, parse_densities
from .shares import Operations

__all__ = [
    "Banded",
    "Density",
    "DensityLike",
    "Even",
    "Measured",
    "Operations",
    "SparseCost",
    "SparseMemoryUse",
    "SparseTraffic",
    "Structured",
    "Uniform",
    "density_text",
    "evaluate_sparse",
    "parse_densities",
]
