"""A gap between two blocks: the rows of a stage of its loops, and how their tiles grow.

Tiles grow dimension by dimension. A partial tile is dropped when the memory cannot hold it even if it grows no
further, or when the bound over all that may follow (`bounds/`) reaches the cutoff.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...ir import ceil_div
from ..tilings import grow
from .arrays import tiles_needed
from .batch import Batch, Growth, Pending
from .first_tiles import first_tiles
from .hierarchy import Block, State
from .rows import Flags, Floats, Ints, distinct, row_codes, taken


@dataclass
class Stage:
    """Rows of a gap in which the same crossings have been charged, in the same order.

    parents  (rows,) the batch's row that each grew from
    tiles    (rows, dims) the tile so far
    costs    (columns, rows) everything charged so far
    charged  crossings charged in this gap whose costs are not settled, with where and at what
    order    dimensions of the gap so far, innermost first
    group    the group of dimensions that loops may now come from, where constraints order them; else 0
    """

    state: State
    parents: Ints
    tiles: Ints
    costs: Floats
    charged: list[Pending]
    order: tuple[int, ...]
    group: int

    def take(self, index: np.ndarray) -> Stage:
        charged = [p.take(index) for p in self.charged]
        parents, tiles = taken(self.parents, index), taken(self.tiles, index)
        return replace(self, parents=parents, tiles=tiles, costs=taken(self.costs, index, axis=1), charged=charged)

    def __len__(self) -> int:
        return len(self.parents)


class Gap:
    """One batch, and the gap above it.

    below   the cutoff
    start   (rows, dims) tiles below the first loop
    blocks  those that the gap may end with
    last    whether that is the outermost memory's
    room    (rows, dims) instances of the fanouts to come
    needed  (rows, dims) tiles that have to be left for them
    looseness  (rows, dims, 4) where loops may be longer than leaves as many tiles (`loose_trips.py`)
    largest  per dimension, the largest tile that there is room for
    memory  whose loops these are
    """

    def __init__(self, growth: Growth, batch: Batch, below: float) -> None:
        self.growth, self.batch, self.below = growth, batch, below
        self.bounds, self.hierarchy, self.path = batch.bounds, growth.hierarchy, batch.path
        self.model = growth.model(batch.path)
        self.sizes = np.array(growth.sizes, dtype=np.int64)
        self.start = self.model.loops.array_tile(batch.rows, batch.path.gap)
        self.blocks = self.hierarchy.next_blocks(batch.state)
        self.last = self.hierarchy.is_last(self.blocks[0])
        later = batch.rows.arrays[batch.state.passed :]
        self.room = np.prod(later, axis=0, dtype=np.int64) * np.ones_like(self.start)
        self.needed = tiles_needed([np.ones_like(self.start), *later], growth.tiling)
        self.looseness = growth.looseness(batch, self.blocks)
        self.largest = growth.largest(batch.state, self.blocks)
        self.memory = batch.path.memory_at(batch.path.gap)

    def first(self, stage: Stage, dims: tuple[int, ...]) -> Stage | None:
        """The innermost tiles of all rows at once, where nothing stands inside them; None: one dimension after the
        other."""
        if self.path.blocks or self.path.gaps or self.last:
            return None
        if len(dims) < len(self.sizes) or len(stage) < len(self.batch):
            return None
        found = first_tiles(self.growth, self.batch, self.blocks, self.memory, self.below)
        if found is None:
            return None
        grown = stage.take(found[0])
        return replace(grown, tiles=found[1], order=dims)

    def grown(self, stage: Stage, dims: tuple[int, ...]) -> Stage:
        """The rows with all tiles that some dimensions may grow to, one dimension after the other."""
        later = tuple(d for d in self.bounds.moves.free(stage.state.waiting) if d not in (*stage.order, *dims))
        tables = self.bounds.growing(stage.state, dims, later)
        for done, d in enumerate(dims, 1):
            if not len(stage):
                break
            which, grown = self.followed(stage, d)
            stage = stage.take(which)
            stage.tiles[:, d] = grown
            stage = self.hopeful(stage, tables.near[done], tables.far[done])
        return replace(stage, order=(*stage.order, *dims))

    def hopeful(self, stage: Stage, near: Floats | None, far: Floats | None) -> Stage:
        """The rows that may lead to something below the cutoff, and that fit.

        near, far  bounds on what follows, by the tile, and by what the arrays that follow make of it
        """
        # Room is quicker to look at than bounds are; but where most of what bounds leave fits, it is looked at last.
        most_fit = self.growth.tiling == "perfect"
        if not (self.last or most_fit):
            stage = self._fitting(stage)
        costs = stage.costs
        if near is not None:
            costs = costs + self.ahead(near, stage)
        if far is not None:
            costs = costs + self.ahead(far, stage, self.bounds.fanouts_after(stage.state))
        keep = self.growth.below(self.growth.value(costs, self.batch.steps[stage.parents]), self.below)
        stage = stage.take(np.flatnonzero(keep))
        return self._fitting(stage) if most_fit and len(stage) and not self.last else stage

    def _fitting(self, stage: Stage) -> Stage:
        """The rows that fit some block."""
        fits = np.zeros(len(stage), dtype=bool)
        for block in self.blocks:
            fits |= self.fits(stage, block)
        self.growth.pruned["capacity"] += int(np.count_nonzero(~fits))
        return stage.take(np.flatnonzero(fits))

    def fits(self, stage: Stage, block: Block) -> Flags:
        """Whether a block's memory holds the tiles, besides those that blocks inside it hold there already."""
        tenants = self.hierarchy.tenants(self.batch.state, block)
        earlier = [
            (t, taken(self.batch.rows.tiles[k], stage.parents))
            for k, inner in enumerate(self.path.blocks)
            if inner.memory == block.memory
            for t in inner.tensors
        ]
        return self.growth.footprints.leaves_room(tenants, block, earlier, stage.tiles)

    def ahead(self, table: Floats, stage: Stage, fanouts: int = 0) -> Floats:
        """(columns, rows) of a table of bounds, at the tiles that the arrays of so many fanouts to come make of a
        stage's."""
        tiles, passed = stage.tiles, self.batch.state.passed
        for array in self.batch.rows.arrays[passed : passed + fanouts]:
            tiles = np.minimum(tiles * taken(array, stage.parents), self.sizes)
        return self.bounds.at(table, tiles, self.batch.member[stage.parents])

    def followed(self, stage: Stage, d: int) -> tuple[Ints, Ints]:
        """All tiles that may follow along one dimension: (index of the row grown from, new tile)."""
        if self.last:
            return np.arange(len(stage)), np.full(len(stage), self.sizes[d])
        known_before = (self.needed[:, d], *self.looseness[:, d].T)
        columns = [stage.tiles[:, d], *(taken(column, stage.parents) for column in known_before)]
        first, which = distinct(row_codes(columns))
        lists = [
            np.array(self._followers(d, *known), dtype=np.int64)
            for known in zip(*(column[first].tolist() for column in columns), strict=True)
        ]
        counts = np.array([len(x) for x in lists], dtype=np.int64)
        starts = np.cumsum(counts) - counts
        rows = np.repeat(np.arange(len(stage)), counts[which])
        offsets = np.arange(len(rows)) - np.repeat(np.cumsum(counts[which]) - counts[which], counts[which])
        return rows, np.concatenate(lists)[starts[which][rows] + offsets] if len(rows) else rows

    def _followers(self, d: int, tile: int, needed: int, *looseness: int) -> list[int]:
        """Tiles grown from one that leave room for the instances of the fanouts to come."""
        size, tiling, largest = self.growth.sizes[d], self.growth.tiling, self.largest[d]
        left, found = ceil_div(size, tile), []
        most = left if largest == size else largest // tile
        for factor in self.growth.trips(d, left, most, *looseness):
            grown = grow(tile, factor, size)
            kept = ceil_div(size, grown)
            if factor > self.growth.limits.most_trips(self.memory, d):
                break
            if kept % needed == 0 if tiling == "perfect" else kept >= needed:
                found.append(grown)
        return found
