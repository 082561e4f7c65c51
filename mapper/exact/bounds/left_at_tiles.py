"""What memories that gate or skip leave of the words across a boundary at least, tile by tile.

Of any tile, a memory may leave out as many accesses as meet a single zero. But an access serves for as long as nothing
charges it, and by then its words have met all that the loops inside have touched.

Lemma. Let a boundary of a tensor be charged at tile T of a perfect tiling, and let a_d be the instances along dimension
d of the arrays that stand between its inner node and the charge. While one access serves, the loops inside touch
T_d / a_d elements along d; and instances that share the access, T_d along dimensions that the tensor does not have, if
all these arrays share. With no fewer words of an operand in use, where any of them may be nonzero, the chance that all
are zero is no higher. So what is left for u_d <= T_d / a_d elements along each dimension (T_d where instances share) is
no more than what is left.

Of an operand's only saver, the part of its words that passes at the MACs, and part of the operations, follows from that
(`counting/charges.py`, `_book_further_in`): bounds add at the charge what rows have not been charged for these, at
least, since of a larger part that is left here no smaller one is left there.
"""

from __future__ import annotations

import math

import numpy as np

from ..counting.zeros import Left, ZeroBounds
from ..question.hierarchy import Hierarchy, MemoryBoundary
from ..rows import Ints
from ..tiles.instances import axis_limits
from ..tiles.lattice import Lattice
from .array_groups import ArrayGroup


class LeftAtTiles:
    """Over one lattice, for the arrays of some groups."""

    def __init__(self, hierarchy: Hierarchy, lattice: Lattice, arrays: ArrayGroup, zeros: ZeroBounds) -> None:
        self.hierarchy = hierarchy
        self.lattice = lattice
        self.arrays = arrays
        self.zeros = zeros

    def of(self, boundary: MemoryBoundary, passed: int) -> Left | None:
        """(groups, cells) of the words across a boundary that is charged at each tile, inside fanout `passed`; None: as
        much as of any tile."""
        if self.lattice.tiling != "perfect" or not self.zeros.vary_with_use(boundary):
            return None
        cells = np.stack([g.ravel() for g in np.meshgrid(*self.lattice.least, indexing="ij")], axis=1)
        used = np.stack([-(-cells // apart) for apart in self._served_apart(boundary, passed)])
        left = self.zeros.left_of(boundary, used.reshape(-1, len(self.lattice.sizes)))
        return Left(*(np.reshape(part, used.shape[:2]) for part in left))

    def _served_apart(self, boundary: MemoryBoundary, passed: int) -> Ints:
        """(groups, dims) instances that an access does not serve together, at most: of the fanouts between the inner
        node and the charge."""
        hierarchy, tensor = self.hierarchy, self.hierarchy.problem.tensors[boundary.tensor]
        found = np.ones((self.arrays.stacked, len(self.lattice.sizes)), dtype=np.int64)
        for fanout in (f for f in range(passed) if hierarchy.inside[f] > boundary.inner):
            shares = hierarchy.joins(fanout, boundary)
            own = [d for d, dim in enumerate(hierarchy.problem.dim_names) if dim in tensor.dims or not shares]
            found[:, own] *= self._most_instances(fanout)[:, own]
        return found

    def _most_instances(self, fanout: int) -> Ints:
        """(groups, dims) along each dimension."""
        problem, level = self.hierarchy.problem, self.hierarchy.fanouts[fanout]
        limits = [math.prod(axis_limits(problem, level, dim)) for dim in problem.dim_names]
        return np.array([limits if known is None else known.max(axis=0) for known in self.arrays.arrays[fanout]])
