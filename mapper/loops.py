"""Growing partial mappings by a block: its tile, and the order of the temporal loops below it.

Expanding a batch towards a block

1. grows, dimension by dimension, every tile of the block around each row's tile. A partial tile is dropped when the
   memory cannot hold it even if it grows no further, or when the bound over the dimensions to come, with every tensor
   charged as well as it can be (`Bounds.ahead`), reaches the cutoff;
2. tries every charging order of the loops (`orders.py`). An order is first bounded by table; rows that stay below the
   cutoff are charged. A tensor is charged by the first real loop, from the inside, that moves it; below the outermost
   memory, whatever still waits is charged once;
3. leaves out, per row, orders that cost no less than one other order in every column, and leave the same crossings
   waiting: all that follows depends on tiles, arrays and waiting crossings alone, so it costs both the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..ir import ceil_div
from .batch import Batch, Growth, Pending, merged
from .bounds import at
from .hierarchy import Block, Crossing
from .orders import Order, charging_orders
from .rows import Flags, Floats, Ints, Rows
from .tilings import factors, grow
from .traffic import Charge


def expand_loops(growth: Growth, batch: Batch, below: float) -> Iterator[Batch]:
    """Every next block of the rows that stays below the cutoff, as batches of one path and state each."""
    for block in growth.hierarchy.next_blocks(batch.state):
        yield from _BlockGrowth(growth, batch, block, below).batches()


class _BlockGrowth:
    """One batch, growing towards one block."""

    def __init__(self, growth: Growth, batch: Batch, block: Block, below: float) -> None:
        self.growth, self.block, self.below = growth, block, below
        self.bounds, self.state, self.path = growth.bounds, batch.state, batch.path
        self.start = growth.model(batch.path).array_tile(batch.rows, batch.path.gap)
        parents, self.tiles = self._tiles(batch)
        self.batch = batch.take(parents)
        self.start = self.start[parents]
        self.real: Flags = self.tiles > self.start
        self.array_places = self.bounds.lattice.place(self.start)
        self.tile_places = self.bounds.lattice.place(self.tiles)

    # ---- tiles ---------------------------------------------------------------------------------------------

    def _tiles(self, batch: Batch) -> tuple[Ints, Ints]:
        """(parents, tiles): the row each child comes from, and the tile (children, dims) of the block."""
        parents, tiles = np.arange(len(batch)), self.start.copy()
        if self.growth.hierarchy.is_last(self.block):
            return parents, np.broadcast_to(np.array(self.growth.sizes, dtype=np.int64), tiles.shape).copy()
        tenants = self.growth.hierarchy.tenants(self.state, self.block)
        room = np.prod(batch.rows.arrays[self.state.passed :], axis=0, dtype=np.int64) * np.ones_like(tiles)
        for d in range(len(self.growth.sizes)):
            which, grown = self._grown(tiles[:, d], room[parents, d], d)
            parents, tiles = parents[which], tiles[which]
            tiles[:, d] = grown
            keep = self._hopeful(batch, parents, tiles, d + 1)
            parents, tiles = parents[keep], tiles[keep]
            fits = self.growth.footprints.leaves_room(tenants, self.block, self._earlier(batch, parents), tiles)
            self.growth.pruned["capacity"] += int(np.count_nonzero(~fits))
            parents, tiles = parents[fits], tiles[fits]
        fresh = self._in_order(batch, parents, tiles)
        return parents[fresh], tiles[fresh]

    def _hopeful(self, batch: Batch, parents: Ints, tiles: Ints, done: int) -> Flags:
        """Whether tiles of which `done` dimensions are decided may lead to something below the cutoff."""
        costs = batch.costs[:, parents] + at(
            self.bounds.placed_ahead(self.state, self.block)[done], self._places_above(batch.rows, parents, tiles)
        )
        if self.state.waiting:
            charged = self.bounds.charged_ahead(self.state, self.block)[done]
            costs = costs + at(charged, self.bounds.lattice.place(tiles))
        return self.growth.below(self.growth.value(costs, batch.steps[parents]), self.below)

    def _places_above(self, rows: Rows, parents: Ints, tiles: Ints) -> tuple[Ints, ...]:
        """Cells of the tiles, grown by the arrays of the fanouts that follow the block directly."""
        _, count = self.bounds.after(self.state, self.block, ())
        for array in rows.arrays[self.state.passed : self.state.passed + count]:
            tiles = np.minimum(tiles * array[parents], np.array(self.growth.sizes))
        return self.bounds.lattice.place(tiles)

    def _least_above(self, still: tuple[Crossing, ...], index: Ints) -> Floats:
        """(columns, rows) least cost of all that lies above the block, where the crossings `still` go on waiting."""
        after, count = self.bounds.after(self.state, self.block, still)
        if count:
            return at(self.bounds.table(after), self._places_above(self.batch.rows, index, self.tiles[index]))
        return at(self.bounds.end(self.state, self.block, still), tuple(p[index] for p in self.tile_places))

    def _earlier(self, batch: Batch, parents: Ints) -> list[tuple[int, Ints]]:
        """Tiles that blocks inside this one hold in the same memory."""
        return [
            (t, batch.rows.tiles[k][parents])
            for k, block in enumerate(self.path.blocks)
            if block.memory == self.block.memory
            for t in block.tensors
        ]

    def _in_order(self, batch: Batch, parents: Ints, tiles: Ints) -> Flags:
        """Of blocks without a loop between them, whose order says nothing, only one order is grown."""
        keep = np.ones(len(parents), dtype=bool)
        if not self.path.blocks or self.path.gap in self.path.gaps:
            return keep
        last = self.path.blocks[-1]
        if (last.memory, last.tensors) > (self.block.memory, self.block.tensors):
            keep = (tiles > self.start[parents]).any(axis=1)
        return keep

    def _grown(self, tiles: Ints, room: Ints, d: int) -> tuple[Ints, Ints]:
        """All tiles that may follow along one dimension: (index of the tile grown from, new tile)."""
        radix = int(room.max(initial=0)) + 1
        known, which = np.unique(tiles * radix + room, return_inverse=True)
        lists = [np.array(self._followers(*divmod(int(code), radix), d), dtype=np.int64) for code in known]
        counts = np.array([len(x) for x in lists], dtype=np.int64)[which]
        index = np.repeat(np.arange(len(tiles)), counts)
        grown = np.concatenate([lists[w] for w in which]) if len(which) else np.zeros(0, dtype=np.int64)
        return index, grown

    def _followers(self, tile: int, room: int, d: int) -> list[int]:
        """Tiles grown from one that leave room for the instances of the fanouts to come."""
        size, tiling = self.growth.sizes[d], self.growth.tiling
        found = []
        for factor in factors(ceil_div(size, tile), tiling, self.growth.even[d]):
            grown = grow(tile, factor, size)
            left = ceil_div(size, grown)
            if left % room == 0 if tiling == "perfect" else left >= room:
                found.append(grown)
        return found

    # ---- orders --------------------------------------------------------------------------------------------

    def batches(self) -> Iterator[Batch]:
        """The grown rows, by the crossings that go on waiting."""
        found: dict[object, list[Batch]] = {}
        earlier: dict[tuple[Crossing, ...], list[Floats]] = {}
        for order in self._orders():
            for still, movers, index in self._waiting(order):
                index = index[self._hopeful_order(order, still, index)]
                if not len(index):
                    continue
                piece, kept = self._charge(order, still, movers, index)
                if self._comparable(still):
                    piece = piece.take(np.flatnonzero(self._better(piece, kept, earlier.setdefault(still, []))))
                slides = tuple(p.charge.slide[0] if p.charge and p.charge.slide else None for p in piece.pending)
                found.setdefault((still, slides), []).append(piece)
        for pieces in found.values():
            batch = merged(pieces)
            if len(batch):
                yield batch

    def _orders(self) -> tuple[Order, ...]:
        problem = self.growth.hierarchy.problem
        moving = tuple(problem.tensors[c.tensor].dims for c in self.state.waiting)
        names = problem.dim_names
        sliding = tuple(frozenset(names[d] for d in self.bounds.sliding(c)) for c in self.state.waiting)
        return charging_orders(names, moving, sliding)

    def _waiting(self, order: Order) -> Iterator[tuple[tuple[Crossing, ...], list[Ints], Ints]]:
        """Rows by the crossings that no loop charges: those crossings, per waiting crossing its charging position in
        the order (-1: none), and the rows."""
        waiting = self.state.waiting
        movers = [self._first_mover(order, crossing) for crossing in waiting]
        pattern = np.zeros(len(self.batch), dtype=np.int64)
        for bit, mover in enumerate(movers):
            pattern |= (mover < 0).astype(np.int64) << bit
        slid = self._sliding_along(order, movers)
        for value in np.unique(pattern).tolist():
            still = tuple(c for bit, c in enumerate(waiting) if value >> bit & 1)
            rows = np.flatnonzero(pattern == value)
            for along in np.unique(slid[rows]).tolist():
                yield still, movers, rows[slid[rows] == along]

    def _sliding_along(self, order: Order, movers: Sequence[Ints]) -> Ints:
        """(rows,) a number for the dimensions along which crossings slide that are not booked for good: rows of one
        batch must have them alike."""
        number = np.zeros(len(self.batch), dtype=np.int64)
        for crossing, mover in zip(self.state.waiting, movers, strict=True):
            sliding = self.bounds.sliding(crossing)
            if sliding and self.growth.unsettled(crossing, self.state.passed):
                dims = np.array([self.growth.footprints.index[dim] for dim in order] + [-1])
                slides = np.isin(dims, sorted(sliding))
                number = number * (len(order) + 1) + np.where(slides[mover], dims[mover] + 1, 0)
        return number

    def _first_mover(self, order: Order, crossing: Crossing) -> Ints:
        """(rows,) position in the order of the first loop, with more than one trip, that moves the tensor; or -1."""
        position = np.full(len(self.batch), -1, dtype=np.int64)
        for place in range(len(order) - 1, -1, -1):
            d = self.growth.footprints.index[order[place]]
            if d in self.bounds.moving[crossing.tensor]:
                position[self.real[:, d]] = place
        return position

    def _hopeful_order(self, order: Order, still: tuple[Crossing, ...], index: Ints) -> Flags:
        """Whether the bound by table, under an order, stays below the cutoff.

        A crossing that the order charges is charged at the block's tile in the dimensions that it stays over, and in
        the one that slides, at the array's in the others. Where the loop that the order would have charge it has only
        one trip, some other order says so.
        """
        tile, array = [p[index] for p in self.tile_places], [p[index] for p in self.array_places]
        costs = self.batch.costs[:, index] + self._least_above(still, index)
        for crossing in self.state.waiting:
            if crossing not in still:
                dims = self._at_tile(order, crossing)
                place = tuple(tile[d] if d in dims else array[d] for d in range(len(tile)))
                costs = costs + at(self.bounds.cost(crossing, self.state.passed), place)
        return self.growth.below(self.growth.value(costs, self.batch.steps[index]), self.below)

    def _at_tile(self, order: Order, crossing: Crossing) -> set[int]:
        found = set()
        for dim in order:
            d = self.growth.footprints.index[dim]
            if d in self.bounds.moving[crossing.tensor]:
                return found | ({d} & self.bounds.sliding(crossing))
            found.add(d)
        return found

    def _charge(
        self, order: Order, still: tuple[Crossing, ...], movers: Sequence[Ints], index: Ints
    ) -> tuple[Batch, Ints]:
        """Charge what the loops, in this order, move: the rows above the block that may still be better, and which."""
        growth, last = self.growth, self.growth.hierarchy.is_last(self.block)
        batch = self.batch.take(index)
        pending = batch.pending
        for crossing, mover in zip(self.state.waiting, movers, strict=True):
            if crossing in still and not last:
                continue
            charges = list(self._charges(order, crossing, mover[index], index))
            booked = np.zeros_like(batch.costs)
            for rows, charge in charges:
                booked[:, rows] += growth.book(self.path, batch.rows.take(rows), crossing, charge)
            batch.costs = batch.costs + booked
            if growth.unsettled(crossing, self.state.passed):
                pending = [*pending, Pending(crossing, _joined(charges, len(index)), booked)]
        still = () if last else still
        costs = batch.costs + self._least_above(still, index)
        bound = growth.value(costs, batch.steps)
        keep = np.flatnonzero(growth.below(bound, self.below))
        number = np.full((len(index), 1), growth.order_number(order))
        tiles = [*batch.rows.tiles, self.tiles[index]]
        grown = replace(
            batch,
            path=self.path.placing(self.block),
            state=growth.hierarchy.place(self.state, self.block, still),
            rows=Rows(len(index), tiles, batch.rows.arrays),
            bound=bound,
            orders=np.concatenate([batch.orders, number], axis=1),
            pending=pending,
        )
        return grown.take(keep), index[keep]

    def _charges(self, order: Order, crossing: Crossing, mover: Ints, index: Ints) -> Iterator[tuple[Ints, Charge]]:
        """Rows and where they charge a crossing, by the position of the charging loop; -1: at the whole problem."""
        moving, sliding = self.bounds.moving[crossing.tensor], self.bounds.sliding(crossing)
        dims = [self.growth.footprints.index[dim] for dim in order]
        for place in np.unique(mover).tolist():
            rows = np.flatnonzero(mover == place)
            chosen = index[rows]
            tile = self.start[chosen]
            for d in dims if place < 0 else dims[:place]:
                if d not in moving:
                    tile[:, d] = self.tiles[chosen, d]
            slide = None
            if place >= 0 and dims[place] in sliding:
                slide = (dims[place], self.tiles[chosen, dims[place]])
            yield rows, Charge(self.path.gap, tile, slide)

    def _comparable(self, still: tuple[Crossing, ...]) -> bool:
        """Whether what has been charged here is known for good: no fanout to come changes it."""
        charged = (c for c in self.state.waiting if c not in still)
        return not any(self.growth.unsettled(c, self.state.passed) for c in charged)

    def _better(self, piece: Batch, rows: Ints, earlier: list[Floats]) -> Flags:
        """Per row of an order, whether no earlier order with the same crossings waiting costs as little in all columns.

        The order's own costs join `earlier`.
        """
        costs = np.full((len(piece.costs), len(self.batch)), np.inf)
        costs[:, rows] = piece.costs
        dominated = undercut(piece.costs, [other[:, rows] for other in earlier])
        earlier.append(costs)
        return ~dominated


def _joined(charges: Sequence[tuple[Ints, Charge]], count: int) -> Charge:
    """One charge of all rows; those that do not slide are written as sliding over nothing."""
    slides = {c.slide[0] for _, c in charges if c.slide is not None}
    first = charges[0][1]
    tile = np.zeros((count, first.tile.shape[1]), dtype=np.int64)
    for rows, charge in charges:
        tile[rows] = charge.tile
    if not slides:
        return Charge(first.gap, tile)
    dim = slides.pop()
    assert not slides, "one order charges a crossing along one sliding dimension"
    above = tile[:, dim].copy()
    for rows, charge in charges:
        if charge.slide is not None:
            above[rows] = charge.slide[1]
    return Charge(first.gap, tile, (dim, above))


def undercut(costs: Floats, others: Sequence[Floats]) -> Flags:
    """(rows,) whether one of the others costs no more in any column; all (columns, rows).

    Others are compared one by one: two of them may be the least in one column each, and a row that is second in both
    may still have the least product.
    """
    found = np.zeros(costs.shape[1], dtype=np.bool_)
    for other in others:
        found |= (other <= costs).all(axis=0)
    return found
