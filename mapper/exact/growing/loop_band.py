"""A band between two node groups: the rows of a stage of its loops, and how their tiles grow.

Tiles grow dimension by dimension. A partial tile is dropped when the memory cannot hold it even if it grows no
further, or when the bound over all that may follow (`bounds/`) reaches the cutoff.

Loops that may as well stand further out are not tried.

Lemma. A loop directly below a node group that moves none of its tensors may stand directly above it instead, where no
fanout comes next.

Proof. The loops of the nest stay what they are, in their order; only the nodes change places with one of them. Their
tiles have the same words, since the loop does not move them, and the same loops move them. So everything that crosses
any boundary stays the same, and so does the room that it takes. If the band above has a loop of that dimension too, the
two are joined at the place of the inner one: a tensor that they move is charged at the same tile, and another one stays
over no fewer loops. (With halo `exact` every loop counts, and joining may cost.)

So a loop below a node group is needed only if it moves something that is kept there, or if something stays over it that
the same band moves further out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ....ir import ceil_div
from ...tilings import grow
from ..bounds.bounds import Growing
from ..bounds.once import OnceEach, uncharged
from ..question.hierarchy import MemoryBoundary, NodeGroup, State
from ..rows import Flags, Floats, Ints, distinct, repeated, row_codes, taken
from ..tiles.instances import tiles_needed
from .batch import Batch, Pending
from .context import SearchContext
from .first_tiles import first_tiles


@dataclass(frozen=True)
class Followers:
    """The tiles that may follow each row of a stage along one dimension.

    tiles  per kind of row, ascending
    kinds  (rows,) which of them follow each row
    """

    tiles: Sequence[Ints]
    kinds: Ints

    @property
    def counts(self) -> Ints:
        """Count (rows,) the tiles that may follow each row."""
        return np.array([len(tiles) for tiles in self.tiles], dtype=np.int64)[self.kinds]

    def all_of(self, rows: slice) -> tuple[Ints, Ints]:
        """Repeat each of some rows as often as tiles follow it, and return these tiles."""
        which, found = repeated(self.tiles, self.kinds[rows])
        return which + (rows.start or 0), found

    def parts(self, most: int) -> Iterator[slice]:
        """Cut the rows into slices that so many tiles follow at most; a single row may have more."""
        ends = np.cumsum(self.counts)
        first, count = 0, len(ends)
        while first < count:
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
            yield slice(first, last)
            first = last


@dataclass
class Stage:
    """Rows of a band in which the same boundaries have been charged, in the same order.

    parents  (rows,) the batch's row that each grew from
    tiles    (rows, dims) the tile so far
    costs    (columns, rows) everything charged so far
    charged  boundaries charged in this band whose costs are not settled, with where and at what
    order    dimensions of the band so far, innermost first
    base     (rows, dims) the tile at which something was charged last, or where the band begins
    """

    state: State
    parents: Ints
    tiles: Ints
    costs: Floats
    charged: list[Pending]
    order: tuple[int, ...]
    base: Ints

    def take(self, index: np.ndarray) -> Stage:
        charged = [p.take(index) for p in self.charged]
        parents, tiles, base = (taken(each, index) for each in (self.parents, self.tiles, self.base))
        costs = taken(self.costs, index, axis=1)
        return replace(self, parents=parents, tiles=tiles, costs=costs, charged=charged, base=base)

    def __len__(self) -> int:
        return len(self.parents)


class LoopBand:
    """The band of loops above one batch, in which tiles grow.

    below   the cutoff
    start   (rows, dims) tiles below the first loop
    node_groups  those that the band may end with
    last    whether that is the outermost memory's
    room    (rows, dims) instances of the fanouts to come
    needed  (rows, dims) tiles that have to be left for them
    trip_rules  (rows, dims, 4) where loops may be longer than leaves as many tiles (`tiles/trip_rules.py`)
    largest  per dimension, the largest tile that there is room for
    whole   per dimension, the tile that the last band comes to
    memory  whose loops these are
    innermost  whether nothing stands inside the band
    further_out  per node group, dimensions whose loops may as well stand above it (see above)
    """

    def __init__(self, context: SearchContext, batch: Batch, below: float) -> None:
        self.context, self.batch, self.below = context, batch, below
        self.bounds, self.hierarchy, self.path = batch.bounds, context.hierarchy, batch.path
        self.model = context.model(batch.path)
        self.sizes = np.array(context.sizes, dtype=np.int64)
        self.start = self.model.loops.array_tile(batch.rows, batch.path.band)
        self.node_groups = self.hierarchy.next_node_groups(batch.state)
        self.last = self.hierarchy.is_last(self.node_groups[0])
        self.innermost = not (self.path.node_groups or self.path.bands or self.last)
        later = batch.rows.arrays[batch.state.passed :]
        self.room = np.prod(later, axis=0, dtype=np.int64) * np.ones_like(self.start)
        self.needed = tiles_needed([np.ones_like(self.start), *later], context.visit.perfect)
        self.whole = np.array(context.visit.sizes, dtype=np.int64)
        self.trip_rules = context.trip_rules(batch, self.node_groups)
        self.largest = context.largest(batch.state, self.node_groups)
        self.memory = batch.state.loops_at
        self.further_out = {node_group: self._may_stand_above(node_group) for node_group in self.node_groups}
        self._once_of: dict[tuple[MemoryBoundary, ...], Floats] = {}

    def _may_stand_above(self, node_group: NodeGroup) -> frozenset[int]:
        """Return the dimensions whose loops may as well stand above a node group as directly below."""
        hierarchy, state = self.hierarchy, self.batch.state
        if not self.context.may_stand_further_out or hierarchy.is_last(node_group):
            return frozenset()
        if hierarchy.at_fanout(hierarchy.place(state, node_group, ())):
            return frozenset()
        kept = frozenset[int]().union(*(self.bounds.moves.moving[t] for t in node_group.tensors))
        return frozenset(range(len(self.sizes))) - kept

    @cached_property
    def out_of_all(self) -> frozenset[int]:
        """Dimensions whose loops may as well stand above whatever ends the band."""
        return frozenset.intersection(*self.further_out.values())

    def first(self, stage: Stage, dims: tuple[int, ...]) -> Iterator[Stage] | None:
        """Yield the innermost tiles of all rows at once, in parts; None where something stands inside them already, and
        tiles grow one dimension after the other."""
        others = set(range(len(self.sizes))).difference(dims)
        if not self.innermost or not others <= self.out_of_all or len(stage) < len(self.batch):
            return None
        found = first_tiles(self.context, self.batch, self.node_groups, self.memory, self.below, dims)
        if found is None:
            return None
        return (replace(stage.take(rows), tiles=tiles, order=dims) for rows, tiles in found)

    def grown(self, stage: Stage, dims: tuple[int, ...]) -> Iterator[Stage]:
        """Grow the tiles of the rows along some dimensions, one after the other, and yield them in parts."""
        later = tuple(d for d in self.bounds.moves.free(stage.state.waiting) if d not in (*stage.order, *dims))
        tables = self.bounds.growing(stage.state, dims, later)
        for grown in self._grown_further(stage, dims, 0, tables):
            yield replace(grown, order=(*stage.order, *dims))

    def _grown_further(self, stage: Stage, dims: tuple[int, ...], done: int, tables: Growing) -> Iterator[Stage]:
        """Grow the tiles along the dimensions that are not done yet."""
        if done == len(dims) or not len(stage):
            yield stage
            return
        for longer in self.longer(stage, dims[done]):
            self.context.means.check()
            hopeful = self.hopeful(longer, tables.near[done + 1], tables.far[done + 1], tables.fanouts)
            yield from self._grown_further(hopeful, dims, done + 1, tables)

    def longer(self, stage: Stage, d: int) -> Iterator[Stage]:
        """Grow the tiles along one dimension to every size, as many at once as there is room for."""
        followers = self.followers(stage, d)
        for part in followers.parts(self.context.rows_at_once):
            which, tiles = followers.all_of(part)
            grown = stage.take(which)
            grown.tiles[:, d] = tiles
            yield grown

    def hopeful(self, stage: Stage, near: Floats | None, far: Floats | None = None, fanouts: int = 0) -> Stage:
        """Keep the rows that fit and whose bound stays below the cutoff.

        near, far  bounds on what follows, to be added: by the tile, and by what the fanouts that follow make of it
        fanouts    how many follow
        """
        # Room is quicker to look at than bounds are; but where most of what bounds leave fits, it is looked at last.
        most_fit = self.context.tiling == "perfect"
        if not (self.last or most_fit):
            stage = self._fitting(stage)
        costs = stage.costs
        for table, count in ((near, 0), (far, fanouts)):
            if table is not None:
                costs = costs + self.ahead(table, stage, stage.state, count)
        keep = self.context.below(self.context.value(costs, self.batch.steps[stage.parents]), self.below)
        stage = stage.take(np.flatnonzero(keep))
        return self._fitting(stage) if most_fit and len(stage) and not self.last else stage

    def _fitting(self, stage: Stage) -> Stage:
        """Keep the rows that fit some node group."""
        fits = np.zeros(len(stage), dtype=bool)
        for node_group in self.node_groups:
            fits |= self.fits(stage, node_group)
        self.context.leave_aside("capacity", int(np.count_nonzero(~fits)))
        return stage.take(np.flatnonzero(fits))

    def fits(self, stage: Stage, node_group: NodeGroup) -> Flags:
        """Whether a node group's memory holds the tiles, besides those that node groups inside it hold there
        already."""
        residents = self.hierarchy.residents(self.batch.state, node_group)
        return self.context.footprints.leaves_room(residents, node_group, self._earlier(stage, node_group), stage.tiles)

    def holds(self, stage: Stage, node_group: NodeGroup) -> Flags:
        """Whether a node group's memory holds its tiles and those of the node groups inside it, in their formats."""
        own = [(t, stage.tiles) for t in node_group.tensors]
        return self.context.footprints.fits(node_group.memory, [*own, *self._earlier(stage, node_group)], exactly=True)

    def _earlier(self, stage: Stage, node_group: NodeGroup) -> list[tuple[int, Ints]]:
        """Return the tiles that inner node groups hold already in the memory of a node group."""
        return [
            (t, taken(self.batch.rows.tiles[k], stage.parents))
            for k, inner in enumerate(self.path.node_groups)
            if inner.memory == node_group.memory
            for t in inner.tensors
        ]

    def ahead(self, table: Floats, stage: Stage, state: State, fanouts: int = 0) -> Floats:
        """Bound (columns, rows) the costs that are still to be charged in a state: by a table, at the tiles that the
        arrays of the next `fanouts` fanouts make of a stage's; and by what all words cost that pass once."""
        tiles, passed = stage.tiles, self.batch.state.passed
        for array in self.batch.rows.arrays[passed : passed + fanouts]:
            tiles = np.minimum(tiles * taken(array, stage.parents), self.sizes)
        found = self.bounds.at(table, tiles, self.batch.member[stage.parents])
        if not self.context.many_arrays:
            return found
        larger: Floats = np.maximum(found, taken(self._once_ahead(state), stage.parents, axis=1))
        return larger

    def _once_ahead(self, state: State) -> Floats:
        """Bound from below (columns, rows of the batch) the costs that a state has still to charge: every word crosses
        each uncharged boundary at least once."""
        if state.waiting not in self._once_of:
            least = self._once.of_all(uncharged(state))
            self._once_of[state.waiting] = least * np.ones_like(self.batch.costs)
        return self._once_of[state.waiting]

    @cached_property
    def _once(self) -> OnceEach:
        return OnceEach(self.bounds, self.context.tiling, self.batch.rows)

    def followers(self, stage: Stage, d: int) -> Followers:
        """Return all tiles that may follow along one dimension."""
        if self.last:
            return Followers([self.whole[d : d + 1]], np.zeros(len(stage), dtype=np.int64))
        known_before = (self.needed[:, d], *self.trip_rules[:, d].T)
        columns = [stage.tiles[:, d], *(taken(column, stage.parents) for column in known_before)]
        first, which = distinct(row_codes(columns))
        lists = [
            np.array(self._followers(d, *known), dtype=np.int64)
            for known in zip(*(column[first].tolist() for column in columns), strict=True)
        ]
        return Followers(lists, which)

    def _followers(self, d: int, tile: int, needed: int, *trip_rules: int) -> list[int]:
        """List the tiles grown from a tile that leave room for the instances of the fanouts to come."""
        size, tiling, largest = self.context.visit.sizes[d], self.context.visit.tilings[d], self.largest[d]
        left, found = ceil_div(size, tile), []
        most = left if largest >= size else largest // tile
        for factor in self.context.trips(d, left, most, *trip_rules):
            grown = grow(tile, factor, size)
            kept = ceil_div(size, grown)
            if factor > self.context.limits.most_trips(self.memory, d):
                break
            if kept % needed == 0 if tiling == "perfect" else kept >= needed:
                found.append(grown)
        return found
