"""Growing partial mappings by one gap: the tile of the next block, and the order of the loops between.

A batch holds labels of one branch that are complete up to the arrays of the same gap and have the same tensors
waiting: crossings that no loop has charged yet. Expanding it at gap k

1. grows, dimension by dimension, every tile of block k around each label's array tile. A partial tile is dropped
   when block k cannot hold it even if it grows no further, or when the bound over the dimensions to come, with every
   tensor charged as well as it can be (`Bounds.ahead`), reaches the cutoff;
2. tries every charging order of the gap's loops (`orders.py`). An order is first bounded by table (`Bounds.in_order`);
   rows that stay below the cutoff are charged. A tensor is charged by the first real loop, from the inside, that
   moves it; in the last gap, whatever still waits is charged once;
3. leaves out, per row, orders that cost no less than one other order in every column, and waits for the same tensors:
   all that follows depends on tiles, arrays and waiting tensors alone, so it costs both the same.

Charges are exact, since tiles further out enter a charge only by their number, which is known already (see
`traffic.py`); exact halos and words shared over fanouts further out are bounded from below.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..cost_models import Objective
from ..ir import ceil_div
from .bounds import Bounds, at
from .inner_stage import Labels
from .ledger import CrossingCosts
from .orders import Order, absorbed, charging_orders
from .skeleton import MAC, Crossing
from .tilings import factors, grow
from .traffic import Charge, Floats, Ints, Rows


@dataclass
class Batch:
    """Labels at the arrays of gap `gap`, sorted by bound.

    waiting  crossings that no loop has charged yet
    orders   (rows, gaps done) index into `orders_of` of the order chosen in gaps 1, 2, ...
    """

    gap: int
    waiting: tuple[Crossing, ...]
    labels: Labels
    orders: Ints

    def take(self, index: np.ndarray) -> Batch:
        return Batch(self.gap, self.waiting, self.labels.take(index), self.orders[index])

    def __len__(self) -> int:
        return len(self.labels.bound)


class Expansion:
    """Expands batches of one skeleton."""

    def __init__(self, bounds: Bounds, objective: Objective, pruned: Counter[str]) -> None:
        self.bounds = bounds
        self.objective = objective
        self.pruned = pruned
        self.costs: CrossingCosts = bounds.costs
        self.skeleton = bounds.skeleton
        self.problem = self.skeleton.problem
        self.model = self.costs.model
        self.sizes = [size for _, size in self.problem.dims]
        self.order_lists: dict[tuple[int, tuple[Crossing, ...]], tuple[Order, ...]] = {}
        self.all_orders: list[Order] = []
        self._order_number: dict[Order, int] = {}

    def start(self, labels: Labels) -> Batch:
        """The first batch: gap 0 is done, and all crossings of block 0 wait."""
        waiting = tuple(c for c in self.skeleton.crossings if c.inner == 0)
        return Batch(1, waiting, labels, np.zeros((len(labels.bound), 0), dtype=np.int64))

    @property
    def last_gap(self) -> int:
        return self.skeleton.blocks - 1

    def complete(self, batch: Batch) -> bool:
        """Whether no gap is left: the batch's rows are mappings."""
        return batch.gap > self.last_gap

    def expand(self, batch: Batch, below: float) -> Iterator[Batch]:
        """Every way to complete the batch's gap whose bound stays below the cutoff, as batches that wait alike."""
        parents, tiles = self._tiles_of_block(batch, below)
        grown = batch.take(parents)
        array_tiles = self.model.array_tile(grown.labels.rows, batch.gap)
        grown.labels.rows.tiles.append(tiles)
        found: dict[tuple[Crossing, ...], list[Batch]] = {}
        earlier: dict[tuple[Crossing, ...], list[Floats]] = {}
        for order, index in self._worthwhile(grown, array_tiles, below):
            for piece, rows in self._charge(grown.take(index), array_tiles[index], order, below):
                better = self._better(piece, index[rows], earlier.setdefault(piece.waiting, []), len(grown))
                found.setdefault(piece.waiting, []).append(piece.take(np.flatnonzero(better)))
        for pieces in found.values():
            yield _merge(pieces)

    def _better(self, piece: Batch, rows: Ints, earlier: list[Floats], count: int) -> npt.NDArray[np.bool_]:
        """Per row of an order, whether no earlier order with the same tensors waiting costs as little in all columns.

        The order's own costs join `earlier`.
        """
        costs = np.full((self.costs.ledger.columns, count), np.inf)
        costs[:, rows] = piece.labels.costs
        dominated = undercut(piece.labels.costs, [other[:, rows] for other in earlier])
        earlier.append(costs)
        return ~dominated

    # ---- tiles ---------------------------------------------------------------------------------------------

    def _tiles_of_block(self, batch: Batch, below: float) -> tuple[Ints, Ints]:
        """(parents, tiles): the label each child comes from, and the tile (children, dims) of block `gap`."""
        start = self.model.array_tile(batch.labels.rows, batch.gap)
        if batch.gap == self.last_gap:
            whole = np.broadcast_to(np.array(self.sizes, dtype=np.int64), start.shape).copy()
            return np.arange(len(batch)), whole
        parents, tiles = np.arange(len(batch)), start.copy()
        for d in range(len(self.sizes)):
            which, grown = self._grown(tiles[:, d], batch.gap, d)
            parents, tiles = parents[which], tiles[which]
            tiles[:, d] = grown
            fits = self.model.fits(batch.gap, tiles)
            self.pruned["capacity"] += int(np.count_nonzero(~fits))
            parents, tiles = parents[fits], tiles[fits]
            keep = self._hopeful(batch, parents, tiles, d + 1, below)
            parents, tiles = parents[keep], tiles[keep]
        return parents, tiles

    def _hopeful(self, batch: Batch, parents: Ints, tiles: Ints, done: int, below: float) -> npt.NDArray[np.bool_]:
        """Whether some completion of the tiles, of which `done` dimensions are chosen, may stay below the cutoff."""
        table = self.bounds.ahead(batch.gap, done)
        ahead = at(table, self._places(tiles))
        costs = batch.labels.costs[:, parents] + ahead
        keep: npt.NDArray[np.bool_] = (
            self.costs.ledger.objective(self.objective, costs, batch.labels.steps[parents]) < below
        )
        self.pruned["bound"] += int(np.count_nonzero(~keep))
        return keep

    def _places(self, tiles: Ints) -> tuple[Ints, ...]:
        return tuple(self.bounds.lattice.places[d][tiles[:, d]] for d in range(len(self.sizes)))

    def _grown(self, tiles: Ints, gap: int, d: int) -> tuple[Ints, Ints]:
        """All tiles that may follow along one dimension: (index of the tile grown from, new tile)."""
        known, which = np.unique(tiles, return_inverse=True)
        lists = [np.array(self._followers(int(tile), gap, d), dtype=np.int64) for tile in known]
        counts = np.array([len(x) for x in lists], dtype=np.int64)[which]
        index = np.repeat(np.arange(len(tiles)), counts)
        grown = np.concatenate([lists[w] for w in which]) if len(which) else np.zeros(0, dtype=np.int64)
        return index, grown

    def _followers(self, tile: int, gap: int, d: int) -> list[int]:
        """Tiles of block `gap` along one dimension, grown from `tile`, that leave room for the outer arrays."""
        size, lattice = self.sizes[d], self.bounds.lattice
        found = []
        for factor in factors(ceil_div(size, tile), lattice.tiling, lattice.even[d]):
            grown, fits = grow(tile, factor, size), True
            left = ceil_div(size, grown)
            for place in self.model.fanouts:
                if place.gap > gap:
                    wanted = int(self.bounds.outer_arrays[place.index][d])
                    exact = left % wanted == 0 if lattice.tiling == "perfect" else left >= wanted
                    fits, left = fits and exact, ceil_div(left, wanted)
            if fits:
                found.append(grown)
        return found

    # ---- orders --------------------------------------------------------------------------------------------

    def _orders(self, batch: Batch) -> tuple[Order, ...]:
        key = (batch.gap, batch.waiting)
        if key not in self.order_lists:
            tensors = [self.problem.tensors[c.tensor] for c in batch.waiting]
            sliding = [self._sliding(c) for c in batch.waiting]
            self.order_lists[key] = charging_orders(
                self.problem.dim_names, tuple(t.dims for t in tensors), tuple(sliding)
            )
        return self.order_lists[key]

    def _sliding(self, crossing: Crossing) -> frozenset[str]:
        """Dimensions along which the inner block reuses overlaps."""
        tensor = self.problem.tensors[crossing.tensor]
        if tensor.is_output or self.skeleton.memories[crossing.inner].halo != "innermost":
            return frozenset()
        return frozenset(dim for rank in tensor.ranks if len(rank) > 1 for dim, _ in rank)

    def _number(self, order: Order) -> int:
        if order not in self._order_number:
            self._order_number[order] = len(self.all_orders)
            self.all_orders.append(order)
        return self._order_number[order]

    def _worthwhile(self, grown: Batch, array_tiles: Ints, below: float) -> Iterator[tuple[Order, Ints]]:
        """Orders, each with the rows whose bound under that order stays below the cutoff."""
        array, tile = self._places(array_tiles), self._places(grown.labels.rows.tiles[grown.gap])
        orders = self._orders(grown)
        here = [c for c in grown.waiting if c.inner == grown.gap - 1]
        for order in orders:
            ahead = self.bounds.in_order(grown.gap, array, tile, {c: self._at_tile(c, order) for c in here})
            bound = self.costs.ledger.objective(self.objective, grown.labels.costs + ahead, grown.labels.steps)
            index = np.flatnonzero(bound < below)
            self.pruned["bound"] += len(grown) - len(index)
            if len(index):
                yield order, index

    def _at_tile(self, crossing: Crossing, order: Order) -> frozenset[int]:
        """Dimensions in which an order charges a crossing at the block's tile, at best (see `bounds.py`)."""
        stays = absorbed(order, self.problem.tensors[crossing.tensor].dims)
        mover = order[len(stays)] if len(stays) < len(order) else None
        slides = [mover] if mover in self._sliding(crossing) else []
        return frozenset(self.model.dim_index[d] for d in (*stays, *slides) if d is not None)

    def _charge(self, grown: Batch, array_tiles: Ints, order: Order, below: float) -> Iterator[tuple[Batch, Ints]]:
        """Charge what the loops of the gap, in this order, move; split by the tensors that go on waiting."""
        real = grown.labels.rows.tiles[grown.gap] > array_tiles
        costs = grown.labels.costs.copy()
        movers = {c.tensor: self._first_mover(real, order, c.tensor) for c in grown.waiting}
        for crossing in grown.waiting:
            self._add_charges(costs, grown, array_tiles, crossing, order, movers[crossing.tensor])
        pattern = np.zeros(len(grown), dtype=np.int64)
        for bit, tensor in enumerate(movers):
            pattern |= (movers[tensor] < 0).astype(np.int64) << bit
        bound = self._bound_after(grown, costs)
        orders = np.column_stack([grown.orders, np.full(len(grown), self._number(order))])
        self.pruned["bound"] += int(np.count_nonzero(bound >= below))
        for value in np.unique(pattern[bound < below]):
            keep = np.flatnonzero((pattern == value) & (bound < below))
            still = {t for bit, t in enumerate(movers) if value >> bit & 1}
            yield self._next_batch(grown, keep, costs, bound, orders, still), keep

    def _first_mover(self, real: np.ndarray, order: Order, tensor: int) -> Ints:
        """(rows,) position in the order of the first loop, with more than one trip, that moves the tensor; or -1."""
        relevant = self.problem.tensors[tensor].dims
        position = np.full(len(real), -1, dtype=np.int64)
        for place in range(len(order) - 1, -1, -1):
            if order[place] in relevant:
                position[real[:, self.model.dim_index[order[place]]]] = place
        return position

    def _add_charges(
        self, costs: Floats, grown: Batch, array_tiles: Ints, crossing: Crossing, order: Order, position: Ints
    ) -> None:
        """Add what one crossing costs where the order's loop at `position` charges it; -1: no loop does."""
        relevant, sliding = self.problem.tensors[crossing.tensor].dims, self._sliding(crossing)
        rows, gap = grown.labels.rows, grown.gap
        for place in np.unique(position).tolist():
            if place < 0 and gap < self.last_gap:
                continue
            index = np.flatnonzero(position == place)
            tile = array_tiles[index]
            for dim in order if place < 0 else order[:place]:
                if dim not in relevant:
                    d = self.model.dim_index[dim]
                    tile[:, d] = rows.tiles[gap][index, d]
            slide = None
            if place >= 0 and order[place] in sliding:
                d = self.model.dim_index[order[place]]
                slide = (d, rows.tiles[gap][index, d])
            costs[:, index] += self.costs.charged(rows.take(index), crossing, Charge(gap, tile, slide))

    def _bound_after(self, grown: Batch, costs: Floats) -> Floats:
        if grown.gap < self.last_gap:
            above = self.model.array_tile(grown.labels.rows, grown.gap + 1)
            costs = costs + at(self.bounds.around[grown.gap + 1], self._places(above))
        return self.costs.ledger.objective(self.objective, costs, grown.labels.steps)

    def _next_batch(
        self, grown: Batch, keep: Ints, costs: Floats, bound: Floats, orders: Ints, still: set[int]
    ) -> Batch:
        waiting = tuple(c for c in grown.waiting if c.tensor in still)
        if grown.gap < self.last_gap:
            waiting += tuple(c for c in self.skeleton.crossings if c.inner == grown.gap and c.inner != MAC)
        labels = Labels(grown.labels.rows.take(keep), costs[:, keep], grown.labels.steps[keep], bound[keep])
        return Batch(grown.gap + 1, waiting, labels, orders[keep])


def undercut(costs: Floats, others: Sequence[Floats]) -> npt.NDArray[np.bool_]:
    """(rows,) whether one of the others costs no more in any column; all (columns, rows).

    Others are compared one by one: two of them may be the least in one column each, and a row that is second in both
    may still have the least product.
    """
    found = np.zeros(costs.shape[1], dtype=np.bool_)
    for other in others:
        found |= (other <= costs).all(axis=0)
    return found


def _merge(pieces: list[Batch]) -> Batch:
    """One batch of several with the same waiting tensors, sorted by bound."""
    first = pieces[0]
    rows = Rows(
        [np.concatenate(t) for t in zip(*(p.labels.rows.tiles for p in pieces), strict=True)],
        [np.concatenate(a) for a in zip(*(p.labels.rows.arrays for p in pieces), strict=True)],
    )
    labels = Labels(
        rows,
        np.concatenate([p.labels.costs for p in pieces], axis=1),
        np.concatenate([p.labels.steps for p in pieces]),
        np.concatenate([p.labels.bound for p in pieces]),
    )
    merged = Batch(first.gap, first.waiting, labels, np.concatenate([p.orders for p in pieces]))
    return merged.take(np.argsort(merged.labels.bound, kind="stable"))
