"""Sparse operands: densities, formats, what gating and skipping save, what a mapping costs with them (docs/sparse.md).

densities.py   how a tensor's nonzero words are distributed
parsing.py     the same as text
formats.py     bits of metadata
savings.py     what one access serves, so that it may be left out
shares.py      which part of the dense traffic is left
walk.py        the walk over masks that the shares are the means of
cost.py        words, energy, cycles, capacity
sparseloop.py  counts by the conventions of Timeloop's sparse model, for comparison
sparseloop_nest.py     tiles, chances and formats by its rules
sparseloop_savings.py  gating and skipping by its rules
ranks.py       its formats
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
