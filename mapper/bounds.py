"""Lower bounds on what the gaps of a branch cost, for every tile at once.

The tiles of a dimension that matter for bounds form a short list (`tilings.grid`); all dimensions together form a
lattice. On it, "the least cost over all tiles around this one" is a running minimum along each axis. From the
outermost gap inwards this gives, for every tile A just above the array of gap k, the least that gap k and all gaps
further out can cost: `around[k][column][A]`. Columns (energy, ports) are bounded one by one.

Let V be the tile of block k, around A. A tensor that is charged in gap k is charged at A, or, in the dimensions of
loops that do not move it and come first, at V; which tensors can do so together follows from the loop orders
(`orders.py`). A tensor that nothing in the gap moves waits on, and is bounded by its words at the whole problem.
Beyond V lie the arrays of gap k + 1, which the branch has fixed, and `around[k + 1]`.

Why these are bounds: words are counted at the tile that charges them, divided by all instances further out that might
share them, and the cycles of a port by all instances that there are (`_book`); of output words, first visits are
free; of operands with an exact halo, only distinct words count. A minimum over tiles, and over orders, is taken column
by column, so it lies below every single mapping; and objectives only rise with every column. A tile off the lattice is
bounded as the largest lattice tile inside it, which has as many tiles above it and takes no more room.

`in_order` reads the same tables for one order and given A and V, `ahead` for a V of which some dimensions are open.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..cost_models.sets import distinct_sums
from ..ir import Rank, Tensor
from .ledger import CrossingCosts
from .orders import Order, absorbed, charging_orders
from .skeleton import MAC, Crossing, Skeleton
from .tilings import Tiling, even_growth, grid
from .traffic import Floats, Ints, Rows


@dataclass(frozen=True)
class Lattice:
    """The tiles that stand for all others, per dimension, and where any tile finds its place among them."""

    sizes: tuple[int, ...]
    tiling: Tiling
    even: tuple[bool, ...]

    @cached_property
    def axes(self) -> tuple[Ints, ...]:
        return tuple(
            np.array(grid(size, self.tiling, even), dtype=np.int64)
            for size, even in zip(self.sizes, self.even, strict=True)
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def places(self) -> tuple[Ints, ...]:
        """Per dimension, for every tile from 0 to the size: its index on the axis (tiles in as many pieces alike)."""
        return tuple(
            np.searchsorted(axis, np.arange(size + 1), side="right") - 1
            for axis, size in zip(self.axes, self.sizes, strict=True)
        )

    def along(self, dim: int, values: np.ndarray) -> np.ndarray:
        """Values per tile of one dimension, shaped to broadcast over the lattice."""
        shape = [1] * len(self.sizes)
        shape[dim] = -1
        return values.reshape(shape)

    def around(self, table: Floats, dims: Sequence[int]) -> Floats:
        """For every tile, the least of the table over tiles that contain it, growing along `dims` only."""
        for dim in dims:
            perfect = self.tiling == "perfect"
            table = _least_multiple(table, dim, self.axes[dim]) if perfect else _least_larger(table, dim)
        return table


def at(table: Floats, places: tuple[Ints, ...]) -> Floats:
    """(columns, rows) of a table over the lattice, at one place per row."""
    index: tuple[Any, ...] = (slice(None), *places)
    found: Floats = table[index]
    return found


def _least_larger(table: Floats, dim: int) -> Floats:
    flipped = np.flip(table, axis=dim)
    return np.flip(np.minimum.accumulate(flipped, axis=dim), axis=dim)


def _least_multiple(table: Floats, dim: int, tiles: Ints) -> Floats:
    """Running minimum over multiples: from the largest divisor down, each takes the least of those it divides."""
    lines = np.moveaxis(table, dim, 0).copy()
    for i in range(len(tiles) - 2, -1, -1):
        multiples = [j for j in range(i + 1, len(tiles)) if tiles[j] % tiles[i] == 0]
        lines[i] = np.minimum(lines[i], lines[multiples].min(axis=0))
    return np.moveaxis(lines, 0, dim)


class Bounds:
    """Bounds for one skeleton whose outer fanouts (gap 2 and further out) are already fixed."""

    def __init__(self, costs: CrossingCosts, tiling: Tiling, outer_arrays: dict[int, Ints]) -> None:
        self.costs = costs
        self.skeleton: Skeleton = costs.skeleton
        problem = self.skeleton.problem
        self.tensors = problem.tensors
        self.dims = problem.dim_names
        self.outer_arrays = outer_arrays
        self.lattice = Lattice(
            tuple(size for _, size in problem.dims), tiling, tuple(even_growth(problem, d) for d in self.dims)
        )
        self._whole = tuple(int(n) - 1 for n in self.lattice.shape)
        self.around: dict[int, Floats] = {}
        self._gap_tables: dict[int, dict[int, Floats]] = {}
        self._gap_beyond: dict[int, Floats] = {}
        self._ahead: dict[tuple[int, int], Floats] = {}
        for gap in range(self.skeleton.blocks - 1, 0, -1):
            self.around[gap] = self._bound_gap(gap)

    # ---- words at a tile -----------------------------------------------------------------------------------

    def _words(self, tensor: Tensor, exact_halo: bool) -> np.ndarray:
        """Words of one tensor if it is charged at each tile; broadcastable over the lattice."""
        if exact_halo:
            return np.full((1,) * len(self.dims), float(self.costs.model.distinct_words(tensor)))
        words = np.ones((1,) * len(self.dims))
        for i, dim in enumerate(self.dims):
            if dim not in tensor.dims:
                words = words * self.lattice.along(i, np.ceil(self.lattice.sizes[i] / self.lattice.axes[i]))
        for rank in tensor.ranks:
            words = words * self._rank_words(rank)
        return words

    def _rank_words(self, rank: Rank) -> np.ndarray | float:
        """Words along a rank, over all tiles of each size."""
        indices = [self.dims.index(dim) for dim, _ in rank]
        if len(rank) <= 1:
            return float(math.prod(self.lattice.sizes[i] for i in indices))
        axes = [self.lattice.axes[i] for i in indices]
        words = np.empty([len(axis) for axis in axes])
        for place in itertools.product(*(range(len(axis)) for axis in axes)):
            tiles = [int(axis[p]) for axis, p in zip(axes, place, strict=True)]
            words[place] = _all_tiles(tuple(c for _, c in rank), tiles, [self.lattice.sizes[i] for i in indices])
        shape = [1] * len(self.dims)
        for i, axis in zip(indices, axes, strict=True):
            shape[i] = len(axis)
        return np.transpose(words, np.argsort(indices)).reshape(shape)

    # ---- gaps ----------------------------------------------------------------------------------------------

    def _crossings(self, gap: int) -> list[Crossing]:
        return [c for c in self.skeleton.crossings if c.inner == gap - 1 and c.inner != MAC]

    def _tables(self, gap: int) -> dict[int, Floats]:
        """Per tensor of block gap-1: cost columns if it is charged at each tile."""
        found = {}
        for crossing in self._crossings(gap):
            tensor = self.tensors[crossing.tensor]
            exact = not tensor.is_output and self.skeleton.memories[crossing.inner].halo == "exact"
            words = np.broadcast_to(self._words(tensor, exact), self.lattice.shape)
            found[crossing.tensor] = self._book(crossing, words)
        return found

    def _book(self, crossing: Crossing, words: np.ndarray) -> Floats:
        """Cost columns of at least `words`, whatever the arrays: as if every fanout above were in full use."""
        flat = np.ascontiguousarray(words, dtype=np.float64).ravel()
        rows = self._full_rows(len(flat))
        shared = 1.0
        for place in self.costs.model.fanouts:
            if crossing.inner < place.gap <= crossing.outer and place.gap >= 2:
                shared *= float(np.prod(self.outer_arrays[place.index]))
        booked = self._book_minimum(crossing, flat, flat / shared, rows)
        return booked.reshape((len(booked), *words.shape))

    def _book_minimum(self, crossing: Crossing, filled: Floats, served: Floats, rows: Rows) -> Floats:
        tensor = self.tensors[crossing.tensor]
        if not tensor.is_output:
            return self.costs.book(crossing, filled, served, rows)
        # A word's first visit is free on the way in, once per instance that holds a part of its sum; instances inside
        # the charge repeat all visits alike, so only those further out can lessen the visits after the first.
        arch, distinct = self.costs.ledger.arch, float(self.costs.model.distinct_words(tensor))
        costs = np.zeros((self.costs.ledger.columns, len(filled)))
        outer, inner = self.skeleton.memories[crossing.outer], self.skeleton.memories[crossing.inner]
        wide = arch.partial_width_bits(tensor)
        narrow = min(wide, arch.width_bits(tensor))
        again = np.maximum(served - distinct * self._parts(crossing.outer), 0.0)
        instances = np.full(len(filled), float(self._most_instances(crossing.outer)))
        self.costs.ledger.book(costs, outer, again * wide, again * wide + distinct * narrow, instances)
        again = np.maximum(filled - distinct * self._parts(crossing.inner + 1), 0.0)
        reads = (again * wide + distinct * narrow) * arch.inner_drain_read
        instances = np.full(len(filled), float(self._most_instances(crossing.inner)))
        self.costs.ledger.book(costs, inner, reads, again * wide, instances)
        return costs

    def _parts(self, gap: int) -> float:
        """Instances, over the fixed fanouts further out than `gap`, among which each holds a part of the same sums."""
        parts = 1.0
        for place in self.costs.model.fanouts:
            if place.gap > gap and place.index in self.outer_arrays:
                for i, dim in enumerate(self.dims):
                    if dim not in self.skeleton.problem.output.dims:
                        parts *= float(self.outer_arrays[place.index][i])
        return parts

    def _most_instances(self, block: int) -> int:
        return self.skeleton.arch.instances(self.skeleton.memories[block].name)

    def _full_rows(self, count: int) -> Rows:
        """Rows in which every fanout counts in full, as one plain number."""
        arrays = []
        for place in self.costs.model.fanouts:
            size = self.skeleton.gap_fanouts[place.gap][::-1][self._inner_rank(place.index)].instances
            full = np.ones((1, len(self.dims)), dtype=np.int64)
            full[0, 0] = size
            arrays.append(np.broadcast_to(full, (count, len(self.dims))))
        ones = np.broadcast_to(np.ones((1, len(self.dims)), dtype=np.int64), (count, len(self.dims)))
        return Rows([ones] * self.skeleton.blocks, arrays)

    def _inner_rank(self, index: int) -> int:
        place = self.costs.model.fanouts[index]
        return sum(1 for other in self.costs.model.fanouts if other.gap == place.gap and other.index < index)

    def _bound_gap(self, gap: int) -> Floats:
        tables, beyond = self._tables(gap), self._beyond(gap)
        self._gap_tables[gap], self._gap_beyond[gap] = tables, beyond
        best = self._waiting_on(tables, beyond)
        for order in self._orders(tables):
            best = np.minimum(best, self._charged_in_order(tables, beyond, order))
        return best

    def _orders(self, tables: dict[int, Floats]) -> tuple[Order, ...]:
        tensors = [self.tensors[t] for t in tables]
        sliding = (frozenset(d for r in t.ranks if len(r) > 1 for d, _ in r) for t in tensors)
        return charging_orders(self.dims, tuple(t.dims for t in tensors), tuple(sliding))

    def _at_tile(self, order: Order, tensor: Tensor) -> frozenset[int]:
        """Dimensions in which an order charges a tensor at the block's tile: those it stays over, and the one that
        slides (tiles that slide into each other are at best one tile)."""
        stays = absorbed(order, tensor.dims)
        mover = order[len(stays)] if len(stays) < len(order) else None
        slides = any(len(rank) > 1 and any(d == mover for d, _ in rank) for rank in tensor.ranks)
        return frozenset(self.dims.index(d) for d in (*stays, *([mover] if slides and mover else [])))

    def _charged_in_order(self, tables: dict[int, Floats], beyond: Floats, order: Order) -> Floats:
        """Least cost around each array tile, if the gap's loops are in this order.

        What a tensor costs depends on V in the dimensions of its `_at_tile`, on A in the others. These sets are
        nested along the order, so dimensions can be minimized away from the largest set to the smallest.
        """
        at_tile = {t: self._at_tile(order, self.tensors[t]) for t in tables}
        table, still_v = beyond, frozenset(range(len(self.dims)))
        for t in sorted(tables, key=lambda t: -len(at_tile[t])):
            table = self._minimum(table, still_v - at_tile[t]) + tables[t]
            still_v = still_v & at_tile[t]
        return self._minimum(table, still_v)

    def _minimum(self, table: Floats, dims: Iterable[int]) -> Floats:
        chosen = sorted(dims)
        return np.stack([self.lattice.around(column, chosen) for column in table]) if chosen else table

    def _waiting_on(self, tables: dict[int, Floats], beyond: Floats) -> Floats:
        """Least cost if nothing in the gap moves some of the tensors: they are charged further out, at best once."""
        best = np.full_like(beyond, np.inf)
        for count in range(1, len(tables) + 1):
            for waiting in itertools.combinations(tables, count):
                still = [i for i, d in enumerate(self.dims) if all(d not in self.tensors[t].dims for t in waiting)]
                table = beyond
                for t, words in tables.items():
                    table = table + (self._at_whole(words) if t in waiting else words)
                best = np.minimum(best, self._minimum(table, still))
        return best

    def _at_whole(self, table: Floats) -> Floats:
        """The costs at the whole problem, shaped to broadcast over the lattice."""
        whole: Floats = table[:, *(slice(n, n + 1) for n in self._whole)]
        return whole

    def in_order(
        self, gap: int, array: tuple[Ints, ...], tile: tuple[Ints, ...], at_tile: Mapping[Crossing, frozenset[int]]
    ) -> Floats:
        """(columns, rows) least cost of gap `gap` and beyond, between places of array tiles and of block tiles.

        at_tile  per crossing of block gap-1, the dimensions in which it is charged at the block's tile; a crossing
                 that no loop of the gap moves is charged further out, at best once
        """
        total = at(self._gap_beyond[gap], tile)
        for crossing, dims in at_tile.items():
            table = self._gap_tables[gap][crossing.tensor]
            place = tuple(tile[i] if i in dims else array[i] for i in range(len(self.dims)))
            here = at(table, place)
            stays = self._stays_over(tile, array, self.tensors[crossing.tensor])
            total = total + np.where(stays, self._at_whole(table).reshape(-1, 1), here)
        return total

    def ahead(self, gap: int, done: int) -> Floats:
        """(columns, lattice) least cost of gap `gap` and beyond over the block's tile in the dimensions from `done`
        on, as if every tensor were charged there: places of V in the first `done` dimensions, of A in the others."""
        if (gap, done) not in self._ahead:
            if done == len(self.dims):
                least = self._gap_beyond[gap]
                for table in self._gap_tables[gap].values():
                    least = least + np.minimum(table, self._at_whole(table))
                self._ahead[gap, done] = least
            else:
                self._ahead[gap, done] = self._minimum(self.ahead(gap, done + 1), [done])
        return self._ahead[gap, done]

    def _stays_over(self, tile: tuple[Ints, ...], array: tuple[Ints, ...], tensor: Tensor) -> npt.NDArray[np.bool_]:
        """(rows,) whether no loop between the two tiles moves the tensor."""
        moved = np.zeros(len(tile[0]), dtype=bool)
        for i, dim in enumerate(self.dims):
            if dim in tensor.dims:
                moved |= tile[i] != array[i]
        return ~moved

    def _beyond(self, gap: int) -> Floats:
        """What block `gap` allows and what lies beyond it, per tile V of the block."""
        if gap == self.skeleton.blocks - 1:
            only = np.full((self.costs.ledger.columns, *self.lattice.shape), np.inf)
            only.reshape(len(only), -1)[:, -1] = 0.0  # the last place of the lattice is the whole problem
            return only
        beyond = self.around[gap + 1]
        for dim, trips in enumerate(self._array_of_gap(gap + 1)):
            if trips > 1:
                places = self._after_array(dim, int(trips))
                taken = np.take(beyond, np.maximum(places, 0), axis=dim + 1)
                closed = self.lattice.along(dim, np.where(places < 0, np.inf, 0.0))
                beyond = taken + closed[None]
        fits = self.fits(gap, self.lattice.axes)
        return np.where(fits[None], beyond, np.inf)

    def _array_of_gap(self, gap: int) -> Ints:
        total = np.ones(len(self.dims), dtype=np.int64)
        for place in self.costs.model.fanouts:
            if place.gap == gap and place.index in self.outer_arrays:
                total = total * self.outer_arrays[place.index]
        return total

    def _after_array(self, dim: int, trips: int) -> Ints:
        """For every tile of the axis: the place of the array tile above it; -1 if it cannot be."""
        size, axis = self.lattice.sizes[dim], self.lattice.axes[dim]
        grown = axis * trips
        places = self.lattice.places[dim][np.minimum(grown, size)]
        if self.lattice.tiling == "perfect":
            return np.where((grown <= size) & (size % grown == 0), places, -1)
        return places

    def fits(self, block: int, tiles: Sequence[Ints]) -> np.ndarray:
        """Whether block `block` can hold its tensors' tiles, over the lattice spanned by `tiles` per dimension."""
        shape = tuple(len(axis) for axis in tiles)
        grids = np.meshgrid(*tiles, indexing="ij") if len(tiles) > 1 else [tiles[0]]
        flat = np.stack([g.ravel() for g in grids], axis=1)
        return self.costs.model.fits(block, flat).reshape(shape)


def _all_tiles(coefficients: tuple[int, ...], tiles: Sequence[int], sizes: Sequence[int]) -> float:
    """Distinct sums of every tile, ragged last ones included, added up."""
    kinds = []
    for tile, size in zip(tiles, sizes, strict=True):
        full, rest = divmod(size, tile)
        kinds.append([(full, tile)] + ([(1, rest)] if rest else []))
    total = 0
    for combination in itertools.product(*kinds):
        count = 1
        for number, _ in combination:
            count *= number
        total += count * distinct_sums(coefficients, tuple(extent for _, extent in combination))
    return float(total)
