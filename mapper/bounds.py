"""Lower bounds on what the gaps of a skeleton cost, for every tile at once.

The tiles of a dimension that matter for bounds form a short list (`tilings.grid`); all dimensions together form a
lattice. On it, "the least cost over all tiles around this one" is a running minimum along each axis. From the
outermost gap inwards this gives, for every tile A just above the array of gap k, the least that gap k and all gaps
further out can cost: `around[k][column][A]`. Columns (energy, ports) are bounded one by one.

A tensor that is charged in gap k is charged at A, or, if loops that do not move it come first, at the tile V of
block k in those dimensions; which tensors can wait together follows from the loop orders (`orders.py`). A tensor
that nothing in the gap moves waits on, and is bounded by its words at the whole problem.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..cost_models.sets import distinct_sums
from ..ir import Rank, Tensor
from .ledger import CrossingCosts
from .orders import absorbed, charging_orders
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
            table = _least_multiple(table, dim, self.axes[dim]) if self.tiling == "perfect" else _least_larger(table, dim)
        return table


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
        self._halves: dict[int, list[tuple[Floats, Floats]]] = {}
        for gap in range(self.skeleton.blocks - 1, 0, -1):
            self.around[gap] = self._bound_gap(gap)

    # ---- words at a tile -----------------------------------------------------------------------------------

    def _words(self, tensor: Tensor, exact_halo: bool) -> np.ndarray:
        """Words of one tensor if it is charged at each tile, at best; broadcastable over the lattice."""
        if exact_halo:
            return np.full((1,) * len(self.dims), float(self.costs.model.distinct_words(tensor)))
        repeats = self._ones()
        for i, dim in enumerate(self.dims):
            if dim not in tensor.dims:
                repeats = repeats * self.lattice.along(i, np.ceil(self.lattice.sizes[i] / self.lattice.axes[i]))
        ranks = [rank for rank in tensor.ranks if rank]
        plain = [self._rank_words(rank, None) for rank in ranks]
        best = _product(plain, self._ones())
        for r, rank in enumerate(ranks):
            if len(rank) > 1:
                for dim, _ in rank:
                    sliding = [*plain[:r], self._rank_words(rank, dim), *plain[r + 1 :]]
                    best = np.minimum(best, _product(sliding, self._ones()))
        return repeats * best

    def _rank_words(self, rank: Rank, merged: str | None) -> np.ndarray:
        """Words along a rank over all tiles, if the tiles along `merged` slide into one."""
        coefficients = tuple(c for _, c in rank)
        indices = [self.dims.index(dim) for dim, _ in rank]
        if len(rank) == 1:
            return self._ones() * self.lattice.sizes[indices[0]]
        axes = [self.lattice.axes[i] if self.dims[i] != merged else self.lattice.axes[i][-1:] for i in indices]
        words = np.empty([len(axis) for axis in axes])
        for place in itertools.product(*(range(len(axis)) for axis in axes)):
            tiles = [int(axis[p]) for axis, p in zip(axes, place, strict=True)]
            words[place] = _all_tiles(coefficients, tiles, [self.lattice.sizes[i] for i in indices])
        order = np.argsort(indices)
        shape = [1] * len(self.dims)
        for i, axis in zip(indices, axes, strict=True):
            shape[i] = len(axis)
        return np.transpose(words, order).reshape(shape)

    def _ones(self) -> np.ndarray:
        return np.ones((1,) * len(self.dims))

    # ---- gaps ----------------------------------------------------------------------------------------------

    def _crossings(self, gap: int) -> list[Crossing]:
        return [c for c in self.skeleton.crossings if c.inner == gap - 1 and c.inner != MAC]

    def _tables(self, gap: int) -> dict[int, tuple[Floats, Floats]]:
        """Per tensor of block gap-1: cost columns at each tile, and at the whole problem (waiting on)."""
        found = {}
        for crossing in self._crossings(gap):
            tensor = self.tensors[crossing.tensor]
            exact = not tensor.is_output and self.skeleton.memories[crossing.inner].halo == "exact"
            words = np.broadcast_to(self._words(tensor, exact), self.lattice.shape)
            found[crossing.tensor] = (self._book(crossing, words), self._book(crossing, words[self._whole].reshape(1)))
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
        tables = self._tables(gap)
        beyond = self._beyond(gap)
        best: Floats | None = None
        self._halves[gap] = []
        for at_array, at_tile, (growing, waiting) in self._ways(gap, tables):
            inside = self.lattice_sum(tables, at_array, 0)
            outside = self.lattice_sum(tables, at_tile, 0) + self.lattice_sum(tables, waiting, 1) + beyond
            self._halves[gap].append((inside, outside))
            table = inside + np.stack([self.lattice.around(column, growing) for column in outside])
            best = table if best is None else np.minimum(best, table)
        assert best is not None
        return best

    def from_tile(self, gap: int, array: tuple[Ints, ...], tile: tuple[Ints, ...]) -> Floats:
        """(columns, rows) least cost of gap `gap` and beyond, from places of array tiles to places of block tiles."""
        at_array, at_tile = (slice(None), *array), (slice(None), *tile)
        inside, outside = self._halves[gap][0]
        best: Floats = inside[at_array] + outside[at_tile]
        for inside, outside in self._halves[gap][1:]:
            best = np.minimum(best, inside[at_array] + outside[at_tile])
        return best

    def lattice_sum(self, tables: dict[int, tuple[Floats, Floats]], tensors: Sequence[int], which: int) -> Floats:
        """Columns of some tensors, added; `which` 0 takes them at each tile, 1 at the whole problem."""
        total = np.zeros((self.costs.ledger.columns, *self.lattice.shape))
        for t in tensors:
            columns = tables[t][which]
            total += columns if which == 0 else columns.reshape((-1,) + (1,) * len(self.dims))
        return total

    def _ways(self, gap: int, tables: dict[int, tuple[Floats, Floats]]) -> list[
        tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]]]
    ]:
        """Which tensors are charged at A, which at V, and (dimensions that grow, tensors that wait on)."""
        here = sorted(tables)
        everything = tuple(range(len(self.dims)))
        relevant = tuple(self.tensors[t].dims for t in here)
        ways = {}
        for order in charging_orders(self.dims, relevant, tuple(frozenset() for _ in here)):
            late = tuple(t for t in here if absorbed(order, self.tensors[t].dims))
            ways[tuple(t for t in here if t not in late), late] = (everything, ())
        found = [(at_array, late, grow) for (at_array, late), grow in ways.items()]
        if gap == self.skeleton.blocks - 1:
            found.append(((), tuple(here), (everything, ())))
        for count in range(1, len(here) + 1):
            for waiting in itertools.combinations(here, count):
                still = tuple(i for i in everything if all(self.dims[i] not in self.tensors[t].dims for t in waiting))
                found.append(((), tuple(t for t in here if t not in waiting), (still, waiting)))
        return found

    def _beyond(self, gap: int) -> Floats:
        """What block `gap` allows and what lies beyond it, per tile V of the block."""
        if gap == self.skeleton.blocks - 1:
            only = np.full((self.costs.ledger.columns, *self.lattice.shape), np.inf)
            only[(slice(None), *self._whole)] = 0.0
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
        if self.lattice.tiling == "perfect":
            return np.where((grown <= size) & (size % grown == 0), self.lattice.places[dim][np.minimum(grown, size)], -1)
        return self.lattice.places[dim][np.minimum(grown, size)]

    def fits(self, block: int, tiles: Sequence[Ints]) -> np.ndarray:
        """Whether block `block` can hold its tensors' tiles, over the lattice spanned by `tiles` per dimension."""
        shape = tuple(len(axis) for axis in tiles)
        grids = np.meshgrid(*tiles, indexing="ij") if len(tiles) > 1 else [tiles[0]]
        flat = np.stack([g.ravel() for g in grids], axis=1)
        return self.costs.model.fits(block, flat).reshape(shape)


def _product(factors: Sequence[np.ndarray], one: np.ndarray) -> np.ndarray:
    total = one
    for factor in factors:
        total = total * factor
    return total


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
