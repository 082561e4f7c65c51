"""Bounds on rows whose innermost tile grows, where loops directly inside the first fanout come next.

What these loops charge passes inside the fanout. Tables for any arrays take it to be shared by all the instances that
there may be; each row knows by how many at most. And it knows which loop may be the outermost one there: such loops are
tried only where that has instances side by side along its dimension (`arrays/blocks.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..batch import Batch
from ..bounds.ahead import AroundBlock
from ..context import SearchContext
from ..hierarchy import MemoryBoundary, State
from ..instances import tiles_needed
from ..rows import Flags, Floats, Ints


class GrownRows(NamedTuple):
    """Rows of a batch, as often as they are tried, with a tile for each.

    rows   (rows,) which of the batch's
    tiles  (rows, dims)
    costs  (columns, rows) everything charged so far
    """

    rows: Ints
    tiles: Ints
    costs: Floats

    def take(self, index: Ints) -> GrownRows:
        return GrownRows(self.rows[index], self.tiles[index], self.costs[:, index])


class _Reach(NamedTuple):
    """Rows with the tiles that loops above theirs may come to.

    least, most  (rows, dims) the smallest of these along each dimension, and the largest
    """

    grown: GrownRows
    least: Ints
    most: Ints

    def take(self, index: Ints) -> _Reach:
        return _Reach(self.grown.take(index), self.least[index], self.most[index])

    def parts(self, d: int, smallest: Ints) -> tuple[_Reach, Ints]:
        """The rows, once for each range of tiles along a dimension that may be come to, and which row each was;
        `smallest`: of each range, ascending."""
        first = np.searchsorted(smallest, self.least[:, d], side="right") - 1
        last = np.searchsorted(smallest, self.most[:, d], side="right") - 1
        counts = last - first + 1
        which = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts - first, counts)
        parts = self.take(which)
        parts.least[:, d] = np.maximum(parts.least[:, d], smallest[place])
        parts.most[:, d] = np.minimum(parts.most[:, d], np.append(smallest[1:] - 1, parts.most.max(initial=1))[place])
        return parts, which


class BelowBlock:
    """For the rows of a batch in which nothing is decided but the arrays.

    state  that above the tile's node group
    """

    def __init__(self, context: SearchContext, batch: Batch, state: State) -> None:
        assert state.block is not None
        self.context, self.batch, self.bounds, self.block = context, batch, batch.bounds, state.block
        self.choices = batch.bounds.around_block(state, apart=True)
        self._fanouts = batch.bounds.fanouts_after_block(state)
        self._sizes = np.array(context.sizes, dtype=np.int64)
        self._shared: dict[MemoryBoundary, Floats] = {}

    def may_stand(self, choice: AroundBlock) -> Flags:
        """(the batch's rows,) whether the outermost of such loops may pay above some tile."""
        found: Flags = np.logical_or.reduce(self._pays[:, list(choice.loops.outermost)], axis=1)
        return found

    def hopeful(
        self, choice: AroundBlock, grown: GrownRows, far: Floats, below: float, undecided: Sequence[int] = ()
    ) -> Flags:
        """Whether rows may stay below the cutoff with some of such loops.

        far        bounds on what these do not charge, around tiles that grow along the undecided dimensions
        undecided  dimensions along which tiles are still to grow before the loops come
        """
        found = self.may_stand(choice)[grown.rows]
        some = np.flatnonzero(found)
        found[some] = self._values(choice, self._reach(choice, grown.take(some)), far, undecided) < below
        return found

    def least(self, grown: GrownRows, below: float) -> Floats:
        """(rows,) the least that rows may come to, as far as that is below the cutoff: else something that is not;
        infinite where no such loops may pay."""
        least = np.full(len(grown.rows), np.inf)
        for choice in self.choices:
            some = np.flatnonzero(self.may_stand(choice)[grown.rows])
            least[some] = np.minimum(least[some], self._closely(choice, grown.take(some), below))
        found = np.flatnonzero(least < below)
        arrays = [array[grown.rows[found]] for array in self.batch.rows.arrays]
        pays = self.context.blocks.may_pay_above(self.block, self.batch.path.placement, arrays, grown.tiles[found])
        least[found[~pays]] = np.inf
        return least

    def _closely(self, choice: AroundBlock, grown: GrownRows, below: float) -> Floats:
        """(rows,) the least that rows may come to with some of such loops. The longer these are, the fewer words they
        charge, and the more all the rest costs: so tiles that they may come to are looked at part by part."""
        least, which = np.full(len(grown.rows), np.inf), np.arange(len(grown.rows))
        reach = self._reach(choice, grown)
        values = self._values(choice, reach, choice.far)
        for d in (*choice.loops.outermost, *choice.loops.inner):
            open_rows = np.flatnonzero(values < below)
            np.minimum.at(least, np.delete(which, open_rows), np.delete(values, open_rows))
            reach, of = reach.take(open_rows).parts(d, np.sort(self.bounds.lattice.least[d]))
            which, values = which[open_rows][of], self._values(choice, reach, choice.far)
        np.minimum.at(least, which, values)
        return least

    def _reach(self, choice: AroundBlock, grown: GrownRows) -> _Reach:
        """The tiles that such loops may come to: the outermost one has two trips at least."""
        least, most, loops = grown.tiles.copy(), grown.tiles.copy(), choice.loops
        if len(loops.outermost) == 1:
            (outermost,) = loops.outermost
            least[:, outermost] = np.minimum(2 * least[:, outermost], self._sizes[outermost])
        free = [*loops.outermost, *loops.inner]
        most[:, free] = np.maximum(self._largest[grown.rows][:, free], least[:, free])
        return _Reach(grown, least, most)

    def _values(self, choice: AroundBlock, reach: _Reach, far: Floats, undecided: Sequence[int] = ()) -> Floats:
        """(rows,) the least that rows may come to if such loops come to some tiles."""
        rows, tiles, costs = reach.grown
        if undecided:
            tiles = tiles.copy()
            tiles[:, list(undecided)] = self._largest[rows][:, list(undecided)]
        for boundary in choice.charged:
            shared = self._most_shared(boundary)[rows]
            costs = costs + self.bounds.charged_inside(boundary, choice.loops, tiles, reach.most, shared)
        covered = reach.least
        for array in self.batch.rows.arrays[: self._fanouts]:
            covered = np.minimum(covered * array[rows], self._sizes)
        costs = costs + self.bounds.at(far, covered, self.batch.member[rows])
        return self.context.value(costs, self.batch.steps[rows])

    def _most_shared(self, boundary: MemoryBoundary) -> Floats:
        """(the batch's rows,) instances that may share a word, at most."""
        if boundary not in self._shared:
            self._shared[boundary] = self.context.model(self.batch.path).most_shared(self.batch.rows, boundary)
        return self._shared[boundary]

    @cached_property
    def _pays(self) -> Flags:
        """(the batch's rows, dims) where the outermost of such loops may pay above some tile."""
        arrays = self.batch.rows.arrays
        return self.context.blocks.paying_above(self.block, self.batch.path.placement, arrays, self._ones)

    @cached_property
    def _largest(self) -> Ints:
        """(the batch's rows, dims) the largest tiles that leave work for all instances of all arrays."""
        visit = self.context.visit
        sizes = np.array(visit.sizes, dtype=np.int64)
        needed = tiles_needed([self._ones, *self.batch.rows.arrays], visit.perfect)
        # So many tiles at least: the largest one of which there are so many.
        ragged = np.where(needed > 1, (sizes - 1) // np.maximum(needed - 1, 1), sizes)
        return np.where(visit.perfect, sizes // needed, ragged)

    @property
    def _ones(self) -> Ints:
        return np.ones((len(self.batch), len(self._sizes)), dtype=np.int64)
