"""What boundaries cost at least if every word passes once, for the very arrays of each row.

Tables of bounds (`bounds.py`) know tiles, but of arrays only what those of a group have in common. This knows arrays,
and nothing of tiles; the larger of the two holds, column by column.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from ....cost_models.cost import tensor_tile_words
from ....cost_models.sets import distinct_sums
from ....ir import Rank
from ...tilings import Tiling
from ..hierarchy import MemoryBoundary, Placement, State
from ..instances import tiles_needed
from ..rows import Floats, Ints, Rows, ceil_div_array
from .array_groups import Limit, partly_decided
from .boundary_costs import BoundaryBounds
from .bounds import Bounds


class OnceEach(BoundaryBounds):
    """Least costs of the boundaries between memories, for rows of which the arrays of the first few fanouts, or of all,
    are decided.

    Every instance of a memory is given each word at least once that anything inside it ever works on, however tiles
    and loops are chosen. So many words are wanted at least (`_wanted`):

    - Along a dimension that a tensor does not have, by all instances that ever have work. Of nested arrays, all
      instances but the last one have a whole tile, with work for all that is inside them (`instances.tiles_needed`).
    - Along a rank of several dimensions, c1 i1 + c2 i2 + ..., instances work on sets of indices A1, A2, ... that
      are apart from each other, and cover each dimension together. Sums of such sets are as many as |A1| + |A2| + ... -
      (dimensions - 1) at least, and more where one of two dimensions steps over the other (`_windows`).
    """

    def __init__(self, bounds: Bounds, tiling: Tiling, rows: Rows) -> None:
        group = partly_decided(bounds.hierarchy, tiling, rows)
        super().__init__(bounds.hierarchy, bounds.lattice, bounds.columns.rows, group)
        self._tiling, self._rows = tiling, rows
        self._known: dict[MemoryBoundary, Floats] = {}

    def of(self, boundary: MemoryBoundary) -> Floats:
        """(columns, rows) of one boundary."""
        if boundary not in self._known:
            words = np.array([float(tensor_tile_words(self.tensors[boundary.tensor], self.hierarchy.problem.sizes))])
            self._known[boundary] = self.book(boundary, len(self.hierarchy.fanouts), words)[:, :, 0].T
        return self._known[boundary]

    def of_all(self, boundaries: Iterable[MemoryBoundary]) -> Floats | float:
        """(columns, rows) of several together."""
        return sum(map(self.of, boundaries), 0.0)

    def _copies(self, boundary: MemoryBoundary, passed: int) -> tuple[Limit, Limit, Limit]:
        assert passed == len(self.hierarchy.fanouts)
        filled, served = self.times(boundary)
        return filled[:, None], served[:, None], 1.0

    def times(self, boundary: MemoryBoundary) -> tuple[Floats, Floats]:
        """(rows,) how many times each word of a tensor is given to instances of the inner memory, on average, and how
        many times it is served to them; at least."""
        outside = [f for f in range(len(self._rows.arrays)) if self.hierarchy.inside[f] > boundary.inner]
        apart = [f for f in outside if not self.hierarchy.joins(f, boundary)]
        return self._wanted(boundary.tensor, outside), self._wanted(boundary.tensor, apart)

    def _equal_loads(self, tensor: int, memory: int) -> Limit:
        """Along a dimension with as many words as elements, some instance has a whole number of elements, and no less
        than the average; those that want the same words have them all."""
        instances = self._most_instances(memory)
        if self._tiling == "perfect" or not self.cost_columns.scales_words:
            return instances
        outside = [array for f, array in enumerate(self._rows.arrays) if self.hierarchy.inside[f] > memory]
        for rank in self.tensors[tensor].ranks:
            if len(rank) == 1 and outside:
                d = self.dims.index(rank[0][0])
                spread, size = np.prod([array[:, d] for array in outside], axis=0), self.lattice.sizes[d]
                instances = instances * (size / (spread * ceil_div_array(size, spread)))[:, None]
        return instances

    def _wanted(self, t: int, fanouts: Sequence[int]) -> Floats:
        """(rows,) instances of some fanouts that want a word of a tensor, over the whole run, averaged over its words;
        at least."""
        tensor, arrays = self.tensors[t], [self._rows.arrays[f] for f in fanouts]
        one = np.ones((len(self._rows), len(self.dims)), dtype=np.int64)
        working = tiles_needed([one, *arrays], self._tiling == "perfect")
        others = [d for d, dim in enumerate(self.dims) if dim not in tensor.dims]
        found: Floats = working[:, others].prod(axis=1, dtype=np.float64)
        for rank in tensor.ranks:
            if len(rank) > 1:
                found = found * self._windows(rank, working)
        return found

    def _windows(self, rank: Rank, working: Ints) -> Floats:
        """(rows,) words along a rank that all working instances want, as a multiple of all words along it; at least.

        With sets A of one dimension and B of the other, of steps a and b, sums a i + b j: the next larger i has
        one sum at least that is larger than all before. Where B is all of 0, 1, ..., n - 1, and b = 1, it has min(a, n)
        of them. Instances that have parts of B want as much together as one with all of it.
        """
        places = [self.dims.index(dim) for dim, _ in rank]
        sizes = np.array([self.lattice.sizes[d] for d in places])
        counts = working[:, places].astype(np.float64)
        every = counts.prod(axis=1)
        wanted: Floats = (sizes / counts).sum(axis=1) * every - (len(rank) - 1) * every
        for (other, (_, step)), (own, (_, unit)) in itertools.permutations(enumerate(rank), 2):
            if len(rank) == 2 and unit == 1:
                new = min(step, sizes[own])
                wanted = np.maximum(wanted, sizes[other] * new + counts[:, other] * (sizes[own] - new))
        whole = distinct_sums(tuple(c for _, c in rank), tuple(sizes.tolist()))
        found: Floats = np.maximum(wanted / whole, 1.0)
        return found


def all_boundaries(placement: Placement) -> list[MemoryBoundary]:
    """Those between memories, of tensors that are kept so."""
    pairs = ((t, pair) for t, held in enumerate(placement) for pair in itertools.pairwise(held))
    return [MemoryBoundary(t, inner, outer) for t, (inner, outer) in pairs]


def uncharged(state: State) -> list[MemoryBoundary]:
    """Those that nothing has been charged for: they wait, or their inner node is still to be placed."""
    return [*state.waiting, *all_boundaries(state.ahead)]
