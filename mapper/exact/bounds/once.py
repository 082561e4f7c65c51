"""Lower bounds on boundary costs from a row's own arrays alone: every word crosses each boundary at least once.

Tables of bounds (`bounds.py`) know tiles, but of arrays only what those of a group have in common. This knows arrays,
and nothing of tiles; the larger of the two holds, column by column.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from ....cost_models.cost import tensor_tile_words
from ....cost_models.padding import stored_points
from ....cost_models.sets import distinct_sums
from ....ir import Rank, Stored
from ...tilings import Tiling
from ..question.hierarchy import MemoryBoundary, Placement, State
from ..rows import Flags, Floats, Ints, Rows
from ..tiles.at_work import first_has, instances_at_work
from ..tiles.instances import tiles_needed
from .array_groups import Limit, partly_decided
from .boundary_costs import BoundaryBounds
from .bounds import Bounds


class OnceEach(BoundaryBounds):
    """Least costs of the boundaries between memories, for rows of which the arrays of the first few fanouts, or of all,
    are decided.

    Every instance of a memory is given each word at least once that anything inside it ever works on, however tiles
    and loops are chosen. So many words are wanted at least (`_wanted`):

    - Along a dimension that a tensor does not have, by all instances that ever have work (`tiles/at_work.py`).
    - Along a rank of several dimensions, c1 i1 + c2 i2 + ..., instances work on sets of indices A1, A2, ... that
      are apart from each other, and cover each dimension together. Sums of such sets are as many as |A1| + |A2| + ... -
      (dimensions - 1) at least, and more where one of two dimensions steps over the other (`_windows`).

    A port is busy as long as the busiest instance of its memory needs: no shorter than the first one, which has whole
    blocks along each dimension of the tensor, and of these no fewer than the average (`at_work.first_has`).
    """

    def __init__(self, bounds: Bounds, tiling: Tiling, rows: Rows) -> None:
        group = partly_decided(bounds.hierarchy, tiling, rows)
        super().__init__(bounds.hierarchy, bounds.lattice, bounds.columns.rows, group)
        self._tiling, self._rows = tiling, rows
        self._known: dict[MemoryBoundary, Floats] = {}
        self._together: dict[tuple[int, ...], Ints] = {}
        self._working: dict[tuple[int, ...], Ints] = {}
        self._parts_of_first: dict[int, Floats] = {}

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
        outside = self._fanouts_outside(boundary.inner)
        apart = [f for f in outside if not self.hierarchy.joins(f, boundary)]
        return self._wanted(boundary.tensor, outside), self._wanted(boundary.tensor, apart)

    def _inner_loads(self, tensor: int, memory: int) -> Limit:
        """Bound the ratio of total to busiest traffic at the inner memory by each row's arrays. Each instance that
        wants a word receives it, and `_wanted` counts these instances and no others."""
        if not self._loads_differ:
            return self._most_instances(memory)
        outside = self._fanouts_outside(memory)
        # Where other visits add to the same sums, the fewest instances say nothing of the sums that come in.
        wanting = self._at_work(outside) if self.cost_columns.once_of == 1 else self._spread(outside)
        return self._loads(tensor, memory, wanting)

    def _outer_loads(self, tensor: int, memory: int) -> Limit:
        """Bound the ratio of total to busiest traffic at the outer memory by each row's arrays. The busiest instance
        serves words no less often than the average."""
        if not self._loads_differ:
            return self._most_instances(memory)
        return self._loads(tensor, memory, self._spread(self._fanouts_outside(memory)))

    @property
    def _loads_differ(self) -> bool:
        """Whether instances of a memory may have more or less to do than others, and words say how much."""
        return self._tiling == "ragged" and self.cost_columns.scales_words

    def _loads(self, t: int, memory: int, alike: Ints) -> Limit:
        """Bound from above (rows, 1) the ratio of a tensor's traffic over all instances of a memory to that of the
        busiest instance. The busiest has no less than the first one along the tensor's own dimensions, and no less than
        the average along windows and over the instances of arrays that are not decided.

        alike  (rows, dims) along the other dimensions, instances that would have as much to do
        """
        loads = self._most_instances(memory, len(self._rows.arrays)) * np.ones(len(self._rows))
        columns: list[Ints | Floats] = [alike[:, d] for d in self._others(t)]
        for rank in self.tensors[t].ranks:
            of_one = self._one_in(memory) if len(rank) == 1 else self._spread(self._fanouts_outside(memory))
            columns += [of_one[:, self.dims.index(dim)] for dim, _ in rank]
        for column in columns:
            loads *= column
        return loads[:, None]

    def _one_in(self, memory: int) -> Floats:
        """Bound from above (rows, dims) the ratio of the size of each dimension to the elements that the first instance
        of a memory has of it."""
        if memory not in self._parts_of_first:
            outside, sizes = self._fanouts_outside(memory), np.array(self.lattice.sizes)
            self._parts_of_first[memory] = sizes / first_has(sizes, self._block(outside), self._spread(outside))
        return self._parts_of_first[memory]

    def _fanouts_outside(self, memory: int) -> list[int]:
        """The fanouts outside a memory whose arrays are decided."""
        return [f for f in range(len(self._rows.arrays)) if self.hierarchy.inside[f] > memory]

    def _others(self, t: int) -> list[int]:
        """The dimensions that a tensor does not have."""
        return [d for d, dim in enumerate(self.dims) if dim not in self.tensors[t].dims]

    def _spread(self, fanouts: Sequence[int]) -> Ints:
        """(rows, dims) instances of some fanouts together."""
        key = tuple(fanouts)
        if key not in self._together:
            one = np.ones((len(self._rows), len(self.dims)), dtype=np.int64)
            self._together[key] = functools.reduce(np.multiply, (self._rows.arrays[f] for f in fanouts), one)
        return self._together[key]

    def _block(self, fanouts: Sequence[int]) -> Ints:
        """(rows, dims) elements that the arrays inside some fanouts cover; one, where loops outside cut a dimension
        into visits, whose edges tiles do not cross."""
        covered = np.minimum(self._spread(range(min(fanouts, default=0))), np.array(self.lattice.sizes))
        return np.where(self._cut, 1, covered)

    @functools.cached_property
    def _cut(self) -> Flags:
        """(dims,) where loops outside cut."""
        return np.array(self.hierarchy.visit or self.lattice.sizes) < np.array(self.lattice.sizes)

    def _at_work(self, fanouts: Sequence[int]) -> Ints:
        """Bound from below (rows, dims) the instances of some fanouts that ever have work along each dimension."""
        key = tuple(fanouts)
        if key not in self._working:
            self._working[key] = self._least_at_work(fanouts)
        return self._working[key]

    def _least_at_work(self, fanouts: Sequence[int]) -> Ints:
        arrays = [self._rows.arrays[f] for f in fanouts]
        working = tiles_needed([self._spread([]), *arrays], self._tiling == "perfect")
        if self._tiling == "perfect" or len(arrays) < 2:
            return working
        block = self._block(fanouts)
        for d in np.flatnonzero(~self._cut).tolist():
            working[:, d] = instances_at_work(self.lattice.sizes[d], block[:, d], [array[:, d] for array in arrays])
        return working

    def _wanted(self, t: int, fanouts: Sequence[int]) -> Floats:
        """(rows,) instances of some fanouts that want a word of a tensor, over the whole run, averaged over its words;
        at least."""
        working = self._at_work(fanouts)
        found: Floats = working[:, self._others(t)].prod(axis=1, dtype=np.float64)
        for rank, stored in self.tensors[t].stored_ranks:
            if len(rank) > 1:
                found = found * self._windows(rank, working, stored)
        return found

    def _windows(self, rank: Rank, working: Ints, stored: Stored | None) -> Floats:
        """(rows,) words along a rank that all working instances want, as a multiple of all words along it; at least.

        With sets A of one dimension and B of the other, of steps a and b, sums a i + b j: the next larger i has
        one sum at least that is larger than all before. Where B is all of 0, 1, ..., n - 1, and b = 1, it has min(a, n)
        of them. Instances that have parts of B want as much together as one with all of it.

        Of zeros that are not stored an instance wants one for a point of its own at least: no more are wanted than
        there are points that take one.
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
        coefficients = tuple(c for _, c in rank)
        whole = distinct_sums(coefficients, tuple(sizes.tolist()))
        if stored is not None:
            points = stored_points(coefficients, tuple(sizes.tolist()), stored)
            wanted, whole = wanted - (sizes.prod() - points), stored.words
        found: Floats = np.maximum(wanted / whole, 1.0)
        return found


def all_boundaries(placement: Placement) -> list[MemoryBoundary]:
    """Those between memories, of tensors that are kept so."""
    pairs = ((t, pair) for t, held in enumerate(placement) for pair in itertools.pairwise(held))
    return [MemoryBoundary(t, inner, outer) for t, (inner, outer) in pairs]


def uncharged(state: State) -> list[MemoryBoundary]:
    """Return the boundaries of a state that are not charged yet: they wait, or their inner node is still to be
    placed."""
    return [*state.waiting, *all_boundaries(state.ahead)]
