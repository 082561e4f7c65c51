"""Words that cross the boundaries of a skeleton, for many partial mappings at once.

A row is one partial mapping from the inside out. For every dimension it has the tile of each block placed so far
and the instances along each fanout. A tensor that has been charged has words that no loop further out can change:
the tiles above the charge point enter only through their number, ceil(size / tile). All counts are exact, except
where a bound is named; a bound is never above the exact count.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..cost_models.closed_form import rank_words
from ..cost_models.cost import capacity_parts, held_width_bits, tensor_tile_words
from ..cost_models.sets import distinct_sums
from ..ir import Digit, Rank, Tensor, ceil_div
from .skeleton import Crossing, Skeleton

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass
class Rows:
    """Partial mappings, all of the same depth.

    tiles    (rows, dims) per block placed so far, innermost first: elements of its tile
    arrays   (rows, dims) per fanout, in the skeleton's flat order (gap by gap outwards, inner fanouts first)
    """

    tiles: list[Ints]
    arrays: list[Ints]

    def __len__(self) -> int:
        return len(self.arrays[0]) if self.arrays else len(self.tiles[0])

    def take(self, index: npt.NDArray[np.intp]) -> Rows:
        return Rows([t[index] for t in self.tiles], [a[index] for a in self.arrays])


@dataclass(frozen=True)
class FanoutPlace:
    """A fanout in its skeleton: the gap it lies in, its place among that gap's fanouts (0 innermost), its flags."""

    index: int
    gap: int
    multicast: bool
    spatial_reduction: bool


@dataclass(frozen=True)
class Spread:
    """Instances along one dimension of one fanout: how many, and the tile of each."""

    place: FanoutPlace
    trips: Ints
    tile: Ints


@dataclass(frozen=True)
class Charge:
    """Where a crossing is charged.

    gap    the gap whose loop moves the tensor
    tile   (rows, dims) elements below that loop, loops that the tensor stays over included
    slide  dimension index of that loop if the tile slides along it, and (rows,) the tile above the loop
    """

    gap: int
    tile: Ints
    slide: tuple[int, Ints] | None = None


@dataclass
class TrafficModel:
    """Counts for one skeleton."""

    skeleton: Skeleton
    sizes: Ints = field(init=False)
    fanouts: tuple[FanoutPlace, ...] = field(init=False)
    _tables: dict[Rank, Ints] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.sizes = np.array([size for _, size in self.skeleton.problem.dims], dtype=np.int64)
        places: list[FanoutPlace] = []
        for gap, fanouts in enumerate(self.skeleton.gap_fanouts):
            for fanout in reversed(fanouts):
                places.append(FanoutPlace(len(places), gap, fanout.multicast, fanout.spatial_reduction))
        self.fanouts = tuple(places)
        self.dim_index = {dim: i for i, dim in enumerate(self.skeleton.problem.dim_names)}

    # ---- instances -----------------------------------------------------------------------------------------

    def spreads(self, rows: Rows, dim: int, above: int, up_to: int) -> list[Spread]:
        """Instances along `dim` of the fanouts in gaps above block `above`, up to gap `up_to`, outermost first."""
        found = []
        for place in self.fanouts:
            if above < place.gap <= up_to:
                tile = rows.tiles[place.gap - 1][:, dim] if place.gap else np.ones(len(rows), dtype=np.int64)
                for inner in self.fanouts:
                    if inner.gap == place.gap and inner.index < place.index:
                        tile = tile * rows.arrays[inner.index][:, dim]
                found.append(Spread(place, rows.arrays[place.index][:, dim], tile))
        return found[::-1]

    def array_tile(self, rows: Rows, gap: int) -> Ints:
        """(rows, dims) elements that all instances of a gap's fanouts cover together."""
        tile = rows.tiles[gap - 1] if gap else np.ones((len(rows), len(self.sizes)), dtype=np.int64)
        for place in self.fanouts:
            if place.gap == gap:
                tile = tile * rows.arrays[place.index]
        return np.minimum(tile, self.sizes)

    def instances(self, rows: Rows, block: int) -> Ints:
        """(rows,) instances of a block's memory in use."""
        used = np.ones(len(rows), dtype=np.int64)
        for place in self.fanouts:
            if place.gap > block:
                used = used * rows.arrays[place.index].prod(axis=1)
        return used

    # ---- capacity ------------------------------------------------------------------------------------------

    def fits(self, block: int, tiles: Ints) -> npt.NDArray[np.bool_]:
        """(rows,) whether one instance of the block's memory holds the tiles (rows, dims) of its tensors."""
        memory = self.skeleton.memories[block]
        copies = 2 if memory.double_buffered else 1
        fine = np.ones(len(tiles), dtype=bool)
        for part in capacity_parts(memory):
            used = np.zeros(len(tiles), dtype=np.int64)
            for t in self.skeleton.kept[block]:
                tensor = self.skeleton.problem.tensors[t]
                if tensor.role in part.roles:
                    width = held_width_bits(self.skeleton.arch, memory, tensor)
                    used = used + copies * width * self.tile_words(tensor, tiles)
            fine &= used <= part.bits
        return fine

    def tile_words(self, tensor: Tensor, tiles: Ints) -> Ints:
        """(rows,) distinct words of a tensor in each tile (rows, dims)."""
        words = np.ones(len(tiles), dtype=np.int64)
        for rank in tensor.ranks:
            columns = [tiles[:, self.dim_index[dim]] for dim, _ in rank]
            if len(columns) == 1:
                words = words * columns[0]
            elif columns:
                words = words * self._sums_table(rank)[tuple(columns)]
        return words

    def _sums_table(self, rank: Rank) -> Ints:
        """Distinct sums along a rank for all extents up to the sizes, indexed by extents."""
        if rank not in self._tables:
            sizes = [int(self.sizes[self.dim_index[dim]]) for dim, _ in rank]
            coefficients = tuple(c for _, c in rank)
            table = np.zeros([size + 1 for size in sizes], dtype=np.int64)
            for extents in itertools.product(*(range(1, size + 1) for size in sizes)):
                table[extents] = distinct_sums(coefficients, extents)
            self._tables[rank] = table
        return self._tables[rank]

    # ---- words ---------------------------------------------------------------------------------------------

    def filled(self, rows: Rows, crossing: Crossing, charge: Charge) -> Ints:
        """(rows,) words given to all instances of the inner block (operands), or leaving them (partial sums)."""
        return self._charged(rows, crossing, charge, lambda place: False)

    def served(self, rows: Rows, crossing: Crossing, charge: Charge) -> Floats:
        """(rows,) words read from, or arriving at, the outer block; a bound where fanouts lie above the charge."""
        joins = self._joins(crossing)
        words = self._charged(rows, crossing, charge, joins)
        return words / self._shared_above(rows, crossing, charge.gap)

    def computed(self, rows: Rows, crossing: Crossing, gap: int) -> Floats:
        """(rows,) words that the MACs take from, or give to, the innermost block that keeps the tensor.

        Tiles are known up to the array of `gap`; a bound where fanouts lie further out below the outer block.
        """
        tensor = self.skeleton.problem.tensors[crossing.tensor]
        joins = self._joins(crossing)
        words = np.ones(len(rows), dtype=np.int64)
        for dim, index in self.dim_index.items():
            if dim not in tensor.dims:
                words = words * count_active(int(self.sizes[index]), self._every_step(rows, index, gap, joins))
        for rank in tensor.ranks:
            words = words * self._computed_along(rows, rank, gap, joins)
        return words / self._shared_above(rows, crossing, gap)

    def steps(self, rows: Rows, gap: int) -> Floats:
        """(rows,) time steps, given tiles up to the array of `gap`; a bound where fanouts lie further out."""
        steps = np.ones(len(rows), dtype=np.float64)
        for index in range(len(self.sizes)):
            digits = self._every_step(rows, index, gap, lambda place: True)
            steps = steps * count_active(int(self.sizes[index]), digits)
        for place in self.fanouts:
            if place.gap > gap:
                steps = steps / rows.arrays[place.index].prod(axis=1)
        return steps

    def first_words(self, rows: Rows, tensor: Tensor, block: int) -> Floats:
        """(rows,) distinct output words that the instances of a block ever hold, each instance its own."""
        return float(self.distinct_words(tensor)) * self.reduction_instances(rows, block)

    def reduction_instances(self, rows: Rows, block: int) -> Floats:
        """(rows,) instances above a block among which each holds a part of the same sums."""
        parts = np.ones(len(rows))
        for place in self.fanouts:
            if place.gap > block:
                for dim, index in self.dim_index.items():
                    if dim not in self.skeleton.problem.output.dims:
                        parts = parts * rows.arrays[place.index][:, index]
        return parts

    def distinct_words(self, tensor: Tensor) -> int:
        """Distinct words of the whole tensor."""
        return tensor_tile_words(tensor, self.skeleton.problem.sizes)

    # ---- parts ---------------------------------------------------------------------------------------------

    def _joins(self, crossing: Crossing) -> Callable[[FanoutPlace], bool]:
        output = self.skeleton.problem.tensors[crossing.tensor].is_output

        def joined(place: FanoutPlace) -> bool:
            between = crossing.inner < place.gap <= crossing.outer
            return between and (place.spatial_reduction if output else place.multicast)

        return joined

    def _shared_above(self, rows: Rows, crossing: Crossing, gap: int) -> Floats:
        """How many instances, at most, share a word over fanouts between the charge and the outer block."""
        joins = self._joins(crossing)
        shared = np.ones(len(rows))
        for place in self.fanouts:
            if place.gap > gap and joins(place):
                shared = shared * rows.arrays[place.index].prod(axis=1)
        return shared

    def _charged(self, rows: Rows, crossing: Crossing, charge: Charge, joins: Callable[[FanoutPlace], bool]) -> Ints:
        tensor = self.skeleton.problem.tensors[crossing.tensor]
        repeats = np.ones(len(rows), dtype=np.int64)
        for dim, index in self.dim_index.items():
            if dim not in tensor.dims:
                size, tile = int(self.sizes[index]), charge.tile[:, index]
                spread = [s for s in self.spreads(rows, index, crossing.inner, charge.gap) if not joins(s.place)]
                digits = [(ceil_div_array(size, tile), tile), *((s.trips, s.tile) for s in spread)]
                repeats = repeats * count_active(size, digits)
        slid = self._sliding_rank(tensor, charge)
        words = np.ones(len(rows), dtype=np.int64)
        kept = np.ones(len(rows), dtype=np.int64)
        for rank in tensor.ranks:
            wanted, held = self._along(rows, rank, crossing, charge, joins, rank is slid)
            words = words * wanted
            kept = kept * (held if rank is slid else wanted)
        return repeats * (words - kept if slid is not None else words)

    def _sliding_rank(self, tensor: Tensor, charge: Charge) -> Rank | None:
        if charge.slide is None:
            return None
        dim = self.skeleton.problem.dim_names[charge.slide[0]]
        return next(rank for rank in tensor.ranks if any(d == dim for d, _ in rank))

    def _along(
        self,
        rows: Rows,
        rank: Rank,
        crossing: Crossing,
        charge: Charge,
        joins: Callable[[FanoutPlace], bool],
        slides: bool,
    ) -> tuple[Ints, Ints]:
        """Words wanted along a rank over the whole run, and held over when the tile slides."""
        dims = [self.dim_index[dim] for dim, _ in rank]
        if len(dims) <= 1:
            total = self.sizes[dims[0]] if dims else np.int64(1)
            return np.broadcast_to(total, len(rows)), np.zeros(len(rows), dtype=np.int64)
        columns: list[Ints] = []
        for index in dims:
            columns += [rows.tiles[crossing.inner][:, index], charge.tile[:, index]]
            spread = self.spreads(rows, index, crossing.inner, charge.gap)
            columns += [x for s in spread for x in (s.trips, s.tile)]
            moves = slides and charge.slide is not None and charge.slide[0] == index
            columns.append(charge.slide[1] if moves and charge.slide else charge.tile[:, index])
        joined = tuple(joins(s.place) for s in self.spreads(rows, dims[0], crossing.inner, charge.gap))
        moving = dims.index(charge.slide[0]) if slides and charge.slide else None
        sizes = tuple(int(self.sizes[i]) for i in dims)
        coefficients = tuple(c for _, c in rank)

        def count(key: tuple[int, ...]) -> tuple[int, int]:
            return _rank_total(coefficients, sizes, key, joined, moving)

        values = per_distinct_row(columns, count)
        return values[:, 0], values[:, 1]

    def _every_step(
        self, rows: Rows, dim: int, gap: int, skipped: Callable[[FanoutPlace], bool]
    ) -> list[tuple[Ints, Ints]]:
        """All loops of a dimension, outermost first, as (trips, tile), without the skipped fanouts."""
        size = int(self.sizes[dim])
        top = self.array_tile(rows, gap)[:, dim]
        digits = [(ceil_div_array(size, top), top)]
        for level in range(gap, -1, -1):
            spread = self.spreads(rows, dim, level - 1, level)
            digits += [(s.trips, s.tile) for s in spread if not skipped(s.place)]
            if level:
                below = self.array_tile(rows, level - 1)[:, dim]
                digits.append((-(-rows.tiles[level - 1][:, dim] // below), below))
        return digits

    def _computed_along(self, rows: Rows, rank: Rank, gap: int, joins: Callable[[FanoutPlace], bool]) -> Ints:
        """Words that all steps want along a rank: instances that share a step want a word once."""
        dims = [self.dim_index[dim] for dim, _ in rank]
        total = np.int64(math.prod(int(self.sizes[i]) for i in dims))
        if len(dims) <= 1:
            return np.broadcast_to(total, len(rows))
        joined = [i for i, place in enumerate(self.fanouts) if place.gap <= gap and joins(place)]
        spread_dims = np.zeros(len(rows), dtype=np.int64)
        for i in dims:
            shared = np.ones(len(rows), dtype=np.int64)
            for f in joined:
                shared = shared * rows.arrays[f][:, i]
            spread_dims += shared > 1
        overlapping = spread_dims > 1
        words = np.full(len(rows), total)
        if overlapping.any():
            chosen = rows.take(np.flatnonzero(overlapping))
            words[overlapping] = self._overlapping_steps(chosen, rank, dims, gap, joins)
        return words

    def _overlapping_steps(
        self, rows: Rows, rank: Rank, dims: Sequence[int], gap: int, joins: Callable[[FanoutPlace], bool]
    ) -> Ints:
        columns: list[Ints] = []
        shapes: list[tuple[bool, ...]] = []
        for index in dims:
            flags: list[bool] = []
            for level in range(gap, -1, -1):
                spread = self.spreads(rows, index, level - 1, level)
                below = self.array_tile(rows, level)[:, index]
                above = rows.tiles[level][:, index] if level < gap else np.full(len(rows), self.sizes[index])
                columns += [-(-above // below), below]
                flags.append(False)
                for s in spread:
                    columns += [s.trips, s.tile]
                    flags.append(joins(s.place))
            shapes.append(tuple(flags))
        coefficients = tuple(c for _, c in rank)
        sizes = tuple(int(self.sizes[i]) for i in dims)

        def count(key: tuple[int, ...]) -> tuple[int, int]:
            return _every_step_total(coefficients, sizes, key, tuple(shapes)), 0

        return per_distinct_row(columns, count)[:, 0]


def ceil_div_array(size: int, tile: Ints) -> Ints:
    """Tiles along a dimension, elementwise."""
    return -(-size // tile)


def count_active(size: int, digits: Sequence[tuple[Ints, Ints]]) -> Ints:
    """Settings of nested loops (trips, tile), outermost first, whose first index lies inside `size`; elementwise.

    Whole outer blocks hold all settings of the loops inside them; the last block holds those that are left.
    """
    left = np.full(len(digits[0][0]), size, dtype=np.int64)
    total = np.ones_like(left)
    inside = [np.ones_like(left)]
    for trips, _ in reversed(digits[1:]):
        inside.append(inside[-1] * trips)
    for (trips, tile), settings in zip(digits, reversed(inside), strict=True):
        last = np.minimum(trips, -(-left // tile)) - 1
        total = total + last * settings
        left = left - last * tile
    return total


def per_distinct_row(columns: Sequence[Ints], function: Callable[[tuple[int, ...]], tuple[int, int]]) -> Ints:
    """Apply a function to every distinct row of some columns; (rows, 2)."""
    table = np.column_stack(columns)
    code = np.zeros(len(table), dtype=np.int64)
    room = np.iinfo(np.int64).max
    for column in columns:
        radix = int(column.max()) + 1
        if room < radix:
            code = np.unique(code, return_inverse=True)[1]
            room = np.iinfo(np.int64).max // len(table)
        code = code * radix + column
        room //= radix
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    values = np.array([function(tuple(key)) for key in table[first].tolist()], dtype=np.int64)
    result: Ints = values.reshape(-1, 2)[inverse]
    return result


@lru_cache(maxsize=1 << 17)
def _rank_total(
    coefficients: tuple[int, ...],
    sizes: tuple[int, ...],
    key: tuple[int, ...],
    joined: tuple[bool, ...],
    moving: int | None,
) -> tuple[int, int]:
    """Words wanted along a rank by the instances below a charge, in all their places; and held when it slides.

    key  per dimension: tile of the inner block, tile below the charge, (trips, tile) of each fanout outermost first,
         tile above the charging loop
    """
    width = 3 + 2 * len(joined)
    positions = range(2, 2 + len(joined))
    digits, tiles = [], []
    for d, size in enumerate(sizes):
        tile, below, *spread, above = key[d * width : (d + 1) * width]
        spatial = [Digit(p, spread[2 * i], spread[2 * i + 1], True) for i, p in enumerate(positions)]
        if moving == d:
            time = [Digit(0, ceil_div(size, above), above, False), Digit(1, ceil_div(above, below), below, False)]
        else:
            time = [Digit(0, ceil_div(size, below), below, False)]
        digits.append(tuple(x for x in (*time, *spatial) if x.trips > 1))
        tiles.append(tile)
    shared = frozenset(p for p, join in zip(positions, joined, strict=True) if join)
    wanted, _ = rank_words(coefficients, sizes, tuple(digits), tuple(tiles), None, shared)
    if moving is None or not any(x.position == 1 for x in digits[moving]):
        return wanted, 0
    return wanted, rank_words(coefficients, sizes, tuple(digits), tuple(tiles), 1, shared)[1]


@lru_cache(maxsize=1 << 16)
def _every_step_total(
    coefficients: tuple[int, ...], sizes: tuple[int, ...], key: tuple[int, ...], shapes: tuple[tuple[bool, ...], ...]
) -> int:
    values = iter(key)
    digits, shared = [], set()
    for flags in shapes:
        found = []
        for position, joined in enumerate(flags):
            found.append(Digit(position, next(values), next(values), joined))
            shared |= {position} if joined else set()
        digits.append(tuple(x for x in found if x.trips > 1))
    return rank_words(coefficients, sizes, tuple(digits), (1,) * len(sizes), None, frozenset(shared))[0]
