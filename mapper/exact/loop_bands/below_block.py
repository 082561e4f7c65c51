"""Bounds on rows whose innermost tile grows, where loops directly inside the first fanout come next.

What these loops charge passes inside the fanout. Tables for any arrays take it to be shared by all the instances that
there may be; each row knows by how many at most. And it knows which loop may be the outermost one there: such loops are
tried only where that has instances side by side along its dimension (`arrays/blocks.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ..batch import Batch
from ..bounds.ahead import AroundBlock
from ..bounds.charged_inside import BlockReach
from ..context import SearchContext
from ..hierarchy import MemoryBoundary, State
from ..instances import tiles_needed
from ..rows import Flags, Floats, Ints, Rows


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

    def hopeful(
        self, choice: AroundBlock, grown: GrownRows, far: Floats, below: float, undecided: Sequence[int] = ()
    ) -> Flags:
        """Whether rows may stay below the cutoff with some of such loops.

        far        bounds on what these do not charge, around tiles that grow along the undecided dimensions
        undecided  dimensions along which tiles are still to grow before the loops come
        """
        found = self._may_stand(choice, grown)
        some = np.flatnonzero(found)
        open_rows = grown.take(some)
        found[some] = self._values(choice, open_rows, self._reach(choice, open_rows, undecided), far) < below
        return found

    def least(self, grown: GrownRows, below: float) -> Floats:
        """(rows,) the least that rows may come to, as far as that is below the cutoff: else something that is not;
        infinite where no such loops may pay."""
        least = np.full(len(grown.rows), np.inf)
        blocks, placement = self.context.blocks, self.batch.path.placement
        slides = blocks.slides_above(self.block.fanout, placement, grown.tiles)
        for choice in self.choices:
            some = np.flatnonzero(self._may_stand(choice, grown, slides))
            least[some] = np.minimum(least[some], self._closely(choice, grown.take(some), below))
        found = np.flatnonzero(least < below)
        arrays = [array[grown.rows[found]] for array in self.batch.rows.arrays]
        pays = blocks.paying_above(self.block, placement, arrays, grown.tiles[found]).any(axis=1)
        least[found[~pays]] = np.inf
        return least

    def _may_stand(self, choice: AroundBlock, grown: GrownRows, slides: Flags | None = None) -> Flags:
        """Whether the outermost of such loops may pay, and has room for two trips at least.

        slides  (rows, dims) where tiles slide; None: they may still grow
        """
        (outermost,) = choice.loops.outermost
        pays, largest = self._pays[grown.rows, outermost], self._largest[grown.rows, outermost]
        if slides is not None:
            pays = pays & (slides[:, outermost] | self._pays_anyhow[grown.rows, outermost])
        twice = np.minimum(2 * grown.tiles[:, outermost], self._sizes[outermost])
        found: Flags = pays & (twice <= largest)
        return found

    def _closely(self, choice: AroundBlock, grown: GrownRows, below: float) -> Floats:
        """(rows,) the least that rows may come to with some of such loops. The longer these are, the fewer words they
        charge, and the more all the rest costs: so where that is below the cutoff, tiles that they may come to are
        looked at part by part, along the dimension of the outermost one and along the longest of the others."""
        lengths = self.bounds.lattice.shape
        dims = (*choice.loops.outermost, *sorted(choice.loops.inner, key=lambda d: -lengths[d])[:1])
        return self._part_by_part(choice, grown, self._reach(choice, grown), dims, below)

    def _part_by_part(
        self, choice: AroundBlock, grown: GrownRows, reach: BlockReach, dims: Sequence[int], below: float
    ) -> Floats:
        """(rows,) the same, along some dimensions one after the other."""
        values = self._values(choice, grown, reach, choice.far)
        if not dims:
            return values
        smallest, open_rows = np.sort(self.bounds.lattice.least[dims[0]]), np.flatnonzero(values < below)
        at_once = max(1, self.context.rows_at_once // len(smallest))
        for first in range(0, len(open_rows), at_once):
            self.context.means.check()
            some = open_rows[first : first + at_once]
            parts, which = reach.take(some).parts(dims[0], smallest)
            least = np.full(len(some), np.inf)
            of_parts = self._part_by_part(choice, grown.take(some[which]), parts, dims[1:], below)
            np.minimum.at(least, which, of_parts)
            values[some] = np.maximum(values[some], least)
        return values

    def _reach(self, choice: AroundBlock, grown: GrownRows, undecided: Sequence[int] = ()) -> BlockReach:
        """The tiles that such loops may come to: the outermost one has two trips at least."""
        largest = self._largest[grown.rows]
        (outermost,) = choice.loops.outermost
        most_below = grown.tiles.copy()
        most_below[:, list(undecided)] = largest[:, list(undecided)]
        least, most = grown.tiles.copy(), most_below.copy()
        least[:, outermost] = np.minimum(2 * least[:, outermost], self._sizes[outermost])
        free = [outermost, *choice.loops.inner]
        most[:, free] = np.maximum(largest[:, free], least[:, free])
        return BlockReach(grown.tiles, most_below, least, most)

    def _values(self, choice: AroundBlock, grown: GrownRows, reach: BlockReach, far: Floats) -> Floats:
        """(rows,) the least that rows may come to if such loops come to some tiles."""
        costs, arrays = grown.costs, [array[grown.rows] for array in self.batch.rows.arrays]
        for boundary in choice.charged:
            shared = partial(self._most_shared, Rows(len(grown.rows), [], arrays), boundary, reach)
            costs = costs + self.bounds.charged_inside.least(boundary, choice.loops, reach, shared)
        covered = reach.least
        for array in arrays[: self._fanouts]:
            covered = np.minimum(covered * array, self._sizes)
        costs = costs + self.bounds.at(far, covered, self.batch.member[grown.rows])
        return self.context.value(costs, self.batch.steps[grown.rows])

    def _most_shared(
        self, rows: Rows, boundary: MemoryBoundary, reach: BlockReach, slides: Sequence[int]
    ) -> list[Floats]:
        """(rows,) instances that may share a word, at most: of the tile below such loops, and where it slides along
        each of some dimensions."""
        model = self.context.model(self.batch.path)
        if (reach.below < reach.most_below).any():
            return [model.most_shared(rows, boundary)] * (1 + len(slides))
        return model.most_shared_if_slid(rows, boundary, reach.below, [(d, reach.least[:, d]) for d in slides])

    @cached_property
    def _pays(self) -> Flags:
        """(the batch's rows, dims) where the outermost of such loops may pay above some tile."""
        return self._paying(growing=True)

    @cached_property
    def _pays_anyhow(self) -> Flags:
        """The same, but for loops along which a tile may slide."""
        return self._paying(growing=False)

    def _paying(self, growing: bool) -> Flags:
        arrays, placement = self.batch.rows.arrays, self.batch.path.placement
        return self.context.blocks.paying_above(self.block, placement, arrays, self._ones, growing)

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
