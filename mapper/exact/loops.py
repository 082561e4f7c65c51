"""Growing partial mappings by a block: the temporal loops below it, and its tile.

Loops are added from the inside out, in stages. Crossings that wait are charged by the first loop that moves them, at
the tile below it; so

1. dimensions that move no waiting crossing come first, since their loops are free;
2. then either the block is placed, and what still waits goes on waiting (below the outermost memory it is charged
   once); or some loop charges the crossings that it moves, and the dimensions that move nothing any more, this loop's
   among them, may grow: the next stage.

Of orders that charge the same crossings at the same tiles one is tried. Where a tile slides along the charging loop,
that loop stands innermost in its stage, and its words depend on its length.

Tiles grow dimension by dimension. A partial tile is dropped when the memory cannot hold it even if it grows no
further, or when the bound over all that may follow (`bounds/`) reaches the cutoff. Rows that come to the same tile
and the same waiting crossings are compared: one that costs no less than another in every column is left aside.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ...ir import ceil_div
from ..tilings import factors, grow
from .batch import Batch, Growth, Pending, merged
from .bounds.bounds import at
from .bounds.moves import Move
from .charge import Charge
from .dominance import undominated
from .first_tiles import first_tiles
from .hierarchy import Block, Crossing, State
from .rows import Flags, Floats, Ints, Rows, distinct


def expand_loops(growth: Growth, batch: Batch, below: float) -> Iterator[Batch]:
    """Every next block of the rows that stays below the cutoff, as batches of one path and state each."""
    yield from _Gap(growth, batch, below).batches()


@dataclass
class _Stage:
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

    def take(self, index: np.ndarray) -> _Stage:
        charged = [p.take(index) for p in self.charged]
        parents, tiles, costs = self.parents[index], self.tiles[index], self.costs[:, index]
        return replace(self, parents=parents, tiles=tiles, costs=costs, charged=charged)

    def __len__(self) -> int:
        return len(self.parents)


@dataclass(frozen=True)
class _Charging:
    """A stage that some loop is to charge.

    rows    what the rows of the stage have grown from
    charge  at their tiles
    booked  what crossings cost that have been charged so
    """

    stage: _Stage
    rows: Rows
    charge: Charge
    booked: dict[Crossing, Floats] = field(default_factory=dict)


class _Gap:
    """One batch, and the gap above it."""

    def __init__(self, growth: Growth, batch: Batch, below: float) -> None:
        self.growth, self.batch, self.below = growth, batch, below
        self.bounds, self.hierarchy, self.path = batch.bounds, growth.hierarchy, batch.path
        self.model = growth.model(batch.path)
        self.sizes = np.array(growth.sizes, dtype=np.int64)
        self.start = self.model.array_tile(batch.rows, batch.path.gap)
        self.blocks = self.hierarchy.next_blocks(batch.state)
        self.last = self.hierarchy.is_last(self.blocks[0])
        later = batch.rows.arrays[batch.state.passed :]
        self.room = np.prod(later, axis=0, dtype=np.int64) * np.ones_like(self.start)
        self.memory = batch.path.memory_at(batch.path.gap)
        self.groups = growth.limits.groups.get(self.memory, ())
        self.found: dict[object, list[Batch]] = {}

    def batches(self) -> Iterator[Batch]:
        """The rows above the gap, by block and by the crossings that go on waiting."""
        batch = self.batch
        innermost = max(len(self.groups) - 1, 0)
        group = innermost if batch.group is None else batch.group
        first = _Stage(batch.state, np.arange(len(batch)), self.start, batch.costs, [], (), group)
        self._continue(first)
        for pieces in self.found.values():
            batch = merged(pieces)
            yield batch if self.growth.every_mapping else undominated(self.growth, batch)

    def _continue(self, stage: _Stage) -> None:
        """Go on with the dimensions that are free: all of them at once, since loops that charge nothing stand best as
        far inside as they can; or, if worse orders are wanted too, any of them, the others later."""
        free = self._newly_free(stage)
        if not self.growth.every_mapping or not stage.state.waiting:
            self._visit(stage, free)
            return
        for count in range(len(free) + 1):
            for dims in itertools.combinations(free, count):
                self._visit(stage, dims, real=True)

    def _visit(self, stage: _Stage, dims: tuple[int, ...], real: bool = False) -> None:
        """Let the tile grow along some dimensions; then place a block, or charge something.

        real  only where it really grows along each of them
        """
        first = self._first(stage, dims)
        stage = self._grown(stage, dims) if first is None else first
        if real:
            stage = stage.take(np.flatnonzero((stage.tiles > self.start[stage.parents])[:, dims].all(axis=1)))
        if not len(stage):
            return
        for block in self.blocks:
            self._place(stage, block)
        if stage.state.waiting:
            self._charge_next(stage)
        if stage.group:
            outwards = replace(stage, group=stage.group - 1)
            self._continue(outwards)

    def _may_loop(self, stage: _Stage, d: int) -> bool:
        """Whether constraints let a loop over a dimension come next."""
        if d in stage.order:
            return False
        return all(d not in group or g == stage.group for g, group in enumerate(self.groups))

    def _newly_free(self, stage: _Stage) -> tuple[int, ...]:
        """Dimensions that may grow without charging anything, and have not yet."""
        return tuple(d for d in self.bounds.moves.free(stage.state.waiting) if self._may_loop(stage, d))

    # ---- tiles ---------------------------------------------------------------------------------------------

    def _first(self, stage: _Stage, dims: tuple[int, ...]) -> _Stage | None:
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

    def _grown(self, stage: _Stage, dims: tuple[int, ...]) -> _Stage:
        later = tuple(d for d in self.bounds.moves.free(stage.state.waiting) if d not in (*stage.order, *dims))
        tables = self.bounds.growing(stage.state, dims, later)
        for done, d in enumerate(dims, 1):
            if not len(stage):
                break
            which, grown = self._followed(stage, d)
            stage = stage.take(which)
            stage.tiles[:, d] = grown
            stage = self._hopeful(stage, tables.near[done], tables.far[done])
        return replace(stage, order=(*stage.order, *dims))

    def _hopeful(self, stage: _Stage, near: Floats | None, far: Floats | None) -> _Stage:
        """The rows that may lead to something below the cutoff, and that fit.

        near, far  bounds on what follows, by the tile, and by what the arrays that follow make of it
        """
        costs = stage.costs
        if near is not None:
            costs = costs + at(near, self.bounds.lattice.place(stage.tiles))
        if far is not None:
            costs = costs + at(far, self._places_above(stage))
        keep = self.growth.below(self.growth.value(costs, self.batch.steps[stage.parents]), self.below)
        stage = stage.take(np.flatnonzero(keep))
        if self.last or not len(stage):
            return stage
        fits = np.zeros(len(stage), dtype=bool)
        for block in self.blocks:
            fits |= self._fits(stage, block)
        self.growth.pruned["capacity"] += int(np.count_nonzero(~fits))
        return stage.take(np.flatnonzero(fits))

    def _fits(self, stage: _Stage, block: Block) -> Flags:
        """Whether a block's memory holds the tiles, besides those that blocks inside it hold there already."""
        tenants = self.hierarchy.tenants(self.batch.state, block)
        earlier = [
            (t, self.batch.rows.tiles[k][stage.parents])
            for k, inner in enumerate(self.path.blocks)
            if inner.memory == block.memory
            for t in inner.tensors
        ]
        return self.growth.footprints.leaves_room(tenants, block, earlier, stage.tiles)

    def _places_above(self, stage: _Stage) -> tuple[Ints, ...]:
        """Cells of the tiles, grown by the arrays of the fanouts that follow the block directly."""
        tiles, passed = stage.tiles, self.batch.state.passed
        for array in self.batch.rows.arrays[passed : passed + self.bounds.fanouts_after(stage.state)]:
            tiles = np.minimum(tiles * array[stage.parents], self.sizes)
        return self.bounds.lattice.place(tiles)

    def _followed(self, stage: _Stage, d: int) -> tuple[Ints, Ints]:
        """All tiles that may follow along one dimension: (index of the row grown from, new tile)."""
        if self.last:
            return np.arange(len(stage)), np.full(len(stage), self.sizes[d])
        tiles, room = stage.tiles[:, d], self.room[stage.parents, d]
        radix = int(room.max(initial=0)) + 1
        codes = tiles * radix + room
        first, which = distinct(codes)
        known = codes[first]
        lists = [np.array(self._followers(*divmod(int(code), radix), d), dtype=np.int64) for code in known]
        counts = np.array([len(x) for x in lists], dtype=np.int64)
        starts = np.cumsum(counts) - counts
        rows = np.repeat(np.arange(len(tiles)), counts[which])
        offsets = np.arange(len(rows)) - np.repeat(np.cumsum(counts[which]) - counts[which], counts[which])
        return rows, np.concatenate(lists)[starts[which][rows] + offsets] if len(rows) else rows

    def _followers(self, tile: int, room: int, d: int) -> list[int]:
        """Tiles grown from one that leave room for the instances of the fanouts to come."""
        size, tiling = self.growth.sizes[d], self.growth.tiling
        found = []
        for factor in factors(ceil_div(size, tile), tiling, self.growth.even[d]):
            grown = grow(tile, factor, size)
            left = ceil_div(size, grown)
            if factor > self.growth.limits.most_trips(self.memory, d):
                break
            if left % room == 0 if tiling == "perfect" else left >= room:
                found.append(grown)
        return found

    # ---- charges -------------------------------------------------------------------------------------------

    def _charge_next(self, stage: _Stage) -> None:
        """Every loop that may charge something next, each followed by its next stage."""
        here = _Charging(stage, self.batch.rows.take(stage.parents), Charge(self.path.gap, stage.tiles))
        for move in self.bounds.moves.of(stage.state.waiting):
            dims = tuple(d for d in move.dims if self._may_loop(stage, d))
            for together in [(d,) for d in dims] if self.growth.every_mapping else [dims] if dims else []:
                self._move(here, move._replace(dims=together))

    def _move(self, here: _Charging, move: Move) -> None:
        """Charge what a loop moves, then go on to the next stage."""
        stage = self._charged(here, move)
        if not len(stage):
            return
        if move.sliding:
            self._continue(self._slid(stage, move))
            return
        # Dimensions whose loop would charge just this come first: where none of them grows, nothing is charged.
        above_loop = self._grown(stage, move.dims)
        moved = (above_loop.tiles > self.start[above_loop.parents])[:, move.dims].any(axis=1)
        self._continue(above_loop.take(np.flatnonzero(moved)))

    def _charged(self, here: _Charging, move: Move) -> _Stage:
        """The rows for which a loop may lead to something below the cutoff, with the crossings charged that it moves
        and that do not slide along it."""
        stage, costs = here.stage, here.stage.costs
        for crossing in move.fixed:
            if crossing not in here.booked:
                here.booked[crossing] = self.growth.book(self.path, here.rows, crossing, here.charge)
            costs = costs + here.booked[crossing]
        ahead = at(self.bounds.after_fixed(stage.state, move), self.bounds.lattice.place(stage.tiles))
        bound = self.growth.value(costs + ahead, self.batch.steps[stage.parents])
        index = np.flatnonzero(self.growth.below(bound, self.below))
        pending = [
            Pending(crossing, here.charge, here.booked[crossing]).take(index)
            for crossing in move.fixed
            if self.growth.unsettled(crossing, stage.state.passed)
        ]
        kept = stage.take(index)
        return replace(
            kept, state=stage.state.charging(move.moved), costs=costs[:, index], charged=[*kept.charged, *pending]
        )

    def _slid(self, stage: _Stage, move: Move) -> _Stage:
        """The rows with the crossings charged that slide along a loop, for every length of it."""
        (along,) = move.dims
        which, grown = self._followed(stage, along)
        real = grown > stage.tiles[which, along]
        stage, above = stage.take(which[real]), grown[real]
        rows, charge = self.batch.rows.take(stage.parents), Charge(self.path.gap, stage.tiles.copy(), (along, above))
        for crossing in move.sliding:
            amount = self.growth.book(self.path, rows, crossing, charge)
            stage.costs += amount
            if self.growth.unsettled(crossing, stage.state.passed):
                stage.charged.append(Pending(crossing, charge, amount))
        stage.tiles[:, along] = above
        stage = replace(stage, order=(*stage.order, along))
        return self._hopeful(stage, self.bounds.table(stage.state), None)

    # ---- blocks --------------------------------------------------------------------------------------------

    def _place(self, stage: _Stage, block: Block) -> None:
        """Rows whose gap ends here."""
        stage = stage.take(np.flatnonzero(self._may_end(stage, block)))
        if not self.last:
            stage = self._finishable(stage, block)
        if self.growth.limits.bounded(self.memory) and not self._goes_on(block):
            enough = self.growth.limits.enough_trips(self.path, self.batch.rows.take(stage.parents), self._gaps(stage))
            self.growth.pruned["constraint"] += int(np.count_nonzero(~enough))
            stage = stage.take(np.flatnonzero(enough))
        if not len(stage):
            return
        still, charged = stage.state.waiting, list(stage.charged)
        rows = self.batch.rows.take(stage.parents)
        if self.last:
            for crossing in still:
                charge = Charge(self.path.gap, stage.tiles)
                amount = self.growth.book(self.path, rows, crossing, charge)
                stage.costs += amount
                if self.growth.unsettled(crossing, stage.state.passed):
                    charged.append(Pending(crossing, charge, amount))
            still = ()
        costs = stage.costs + self._least_above(stage, block, still)
        bound = self.growth.value(costs, self.batch.steps[stage.parents])
        keep = np.flatnonzero(self.growth.below(bound, self.below))
        missing = tuple(d for d in range(len(self.sizes)) if d not in stage.order)
        order = tuple(self.bounds.dims[d] for d in (*stage.order, *missing))
        number = np.full((len(stage), 1), self.growth.order_number(order))
        before = self.batch.take(stage.parents)
        placed = Batch(
            self.path.placing(block),
            self.hierarchy.place(self.batch.state, block, still),
            self.bounds,
            Rows(len(stage), [*rows.tiles, stage.tiles], rows.arrays),
            stage.costs,
            before.steps,
            bound,
            np.concatenate([before.orders, number], axis=1),
            [*before.pending, *charged],
            stage.group if self._goes_on(block) else None,
        ).take(keep)
        if len(placed):
            key = (block, still, placed.group, tuple((p.crossing, p.slides_along) for p in placed.pending))
            self.found.setdefault(key, []).append(placed)

    def _finishable(self, stage: _Stage, block: Block) -> _Stage:
        """The rows whose tiles the loops outside the block may still make as large as the problem."""
        above = self.path.placing(block)
        reach = self.growth.limits.reach(above.memory_at(above.gap))
        if np.isinf(reach).all():
            return stage
        enough = (stage.tiles * self.room[stage.parents] * reach >= self.sizes).all(axis=1)
        self.growth.pruned["constraint"] += int(np.count_nonzero(~enough))
        return stage.take(np.flatnonzero(enough))

    def _goes_on(self, block: Block) -> bool:
        """Whether the loops above a block belong to the same memory as those below it."""
        above = self.path.placing(block)
        return not self.last and above.memory_at(above.gap) == self.memory

    def _gaps(self, stage: _Stage) -> list[tuple[Ints, Ints]]:
        """The tiles below and above the loops of every gap of the same memory."""
        rows, path = self.batch.rows.take(stage.parents), self.path
        inner = [gap for gap in range(path.gap) if path.memory_at(gap) == self.memory]
        pairs = [(self.model.array_tile(rows, gap), rows.tiles[gap]) for gap in inner]
        return [*pairs, (self.start[stage.parents], stage.tiles)]

    def _may_end(self, stage: _Stage, block: Block) -> Flags:
        """Whether the block may stand here: it fits, and of blocks without a loop between them, whose order says
        nothing, it is the one that is to come first."""
        if self.last:
            whole: Flags = (stage.tiles == self.sizes).all(axis=1)
            return whole
        keep = self._fits(stage, block)
        if self.path.blocks and self.path.gap not in self.path.gaps:
            inner = self.path.blocks[-1]
            if (inner.memory, inner.tensors) > (block.memory, block.tensors):
                keep &= (stage.tiles > self.start[stage.parents]).any(axis=1)
        return keep

    def _least_above(self, stage: _Stage, block: Block, still: tuple[Crossing, ...]) -> Floats:
        """(columns, rows) least cost of all that lies above the block."""
        if self.last:
            return np.zeros((len(stage.costs), 1))
        state, count = self.bounds.after(self.batch.state, block, still)
        tiles, passed = stage.tiles, self.batch.state.passed
        for array in self.batch.rows.arrays[passed : passed + count]:
            tiles = np.minimum(tiles * array[stage.parents], self.sizes)
        return at(self.bounds.table(state), self.bounds.lattice.place(tiles))
