"""The tiles that stand for all others, as a lattice over which least costs are tabulated.

Per dimension there is an axis of *cells*, largest tile first: with perfect tiling one cell per divisor, with ragged
tiling one per number of tiles, ceil(size / tile), or, where that would make the lattice too large, per few of them.
The product of all axes is the lattice. On it, "the least over all tiles around this one" is a running minimum along
each axis; with perfect tiling an axis is folded by the prime factors of the size, so that "around" means multiples.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import EllipsisType
from typing import Any

import numpy as np

from ....ir import Problem, ProblemError
from ...effort import AT_ONCE
from ...tilings import Tiling, grid, linear_growth, prime_exponents
from ..rows import Floats, Ints

LONGEST_DIMENSION = 2**25
"""The largest size of a dimension that is searched: tables have an entry for each of its elements."""

LONGEST_WINDOW = 2**14
"""The same for ragged tilings of a dimension under strides: every size of a tile counts there."""

_COUNTS = [count for doubling in range(6) for count in (2 << doubling, 3 << doubling)]
STEPS = (*(1 / count for count in reversed(_COUNTS[:5])), 1, *_COUNTS[:-1])
"""Cells for every doubling of a tile that are tried, where neighbours share cells: a power of two, or halfway to the
next, of them; or as many doublings for a cell."""


def check_searchable(problem: Problem, tiling: Tiling) -> None:
    """ProblemError for a problem whose tables would not fit the memory of a computer."""
    hint = "give a part of the layer"
    for dim, size in problem.dims:
        every_size = tiling == "ragged" and not linear_growth(problem, dim)
        most = LONGEST_WINDOW if every_size else LONGEST_DIMENSION
        if size > most:
            message = f"dimension {dim} has {size:,} elements, expected {most:,} at most for a search"
            raise ProblemError(message, where=problem.name, hint=hint)


MOST_LISTED = AT_ONCE
"""Tiles of a dimension of which each is listed with its cell; of more, cells are looked up."""


class ByTile:
    """A number for every tile of a dimension: that of the largest tile that is no larger and has one of its own.

    tiles    that have, ascending
    numbers  theirs
    """

    def __init__(self, tiles: Ints, numbers: Ints) -> None:
        self.tiles = tiles
        self.numbers = numbers

    def __getitem__(self, tiles: Any) -> Any:
        inside = np.searchsorted(self.tiles, tiles, side="right") - 1
        return self.numbers[np.maximum(inside, 0)]

    def __mul__(self, times: int) -> ByTile:
        return ByTile(self.tiles, self.numbers * times)


class Lattice:
    """A lattice groups the tiles of each dimension into cells; a table of bounds has one entry for each cell.

    for_perfect  whether the tiles of a search are perfect all the same, and the lattice is a coarse one of ragged tiles
    group_cells  cells of the lattices for groups of arrays, at most
    least        per dimension, the smallest tile of each cell
    places       per dimension, for every tile from 0 to the size: its cell
    """

    def __init__(
        self,
        sizes: Sequence[int],
        tiling: Tiling,
        even: Sequence[bool],
        most_cells: float = math.inf,
        for_perfect: bool = False,
        group_cells: tuple[int, ...] = (),
    ) -> None:
        self.sizes = tuple(sizes)
        self.tiling = tiling
        self.even = tuple(even)
        self.for_perfect = for_perfect
        self.group_cells = group_cells
        self.folds: list[tuple[int, ...]] = []
        self.tiles: list[Ints] = []
        for size, grows in zip(self.sizes, self.even, strict=True):
            if tiling == "perfect":
                folds, axis = _divisors(size)
            else:
                axis = np.array(grid(size, tiling, grows)[::-1], dtype=np.int64)
                folds = (len(axis),)
            self.folds.append(folds)
            self.tiles.append(axis)
        self.cells = [np.arange(len(axis)) for axis in self.tiles]
        if tiling == "ragged":
            self._coarsen(most_cells)

    def _coarsen(self, most_cells: float) -> None:
        """Let neighbours share a cell where the lattice would be too large: all axes alike, the shortest a step ahead
        where not all can take it."""
        if math.prod(map(len, self.tiles)) <= most_cells:
            return
        every = range(len(self.tiles))
        finer = [_shared_cells(size, grows) for size, grows in zip(self.sizes, self.even, strict=True)]
        chosen = [0] * len(self.tiles)
        while True:
            counts = [int(finer[d][chosen[d]][-1]) + 1 for d in every]
            for d in sorted(every, key=lambda d: (chosen[d], len(self.tiles[d]))):
                further = int(finer[d][min(chosen[d] + 1, len(STEPS))][-1]) + 1
                if chosen[d] < len(STEPS) and math.prod(counts) // counts[d] * further <= most_cells:
                    chosen[d] += 1
                    break
            else:
                break
        self.cells = [finer[d][chosen[d]] for d in every]
        self.folds = [(int(cells[-1]) + 1,) for cells in self.cells]

    @property
    def is_whole(self) -> bool:
        """Whether every tile has a cell of its own."""
        return all(len(cells) == n for cells, n in zip(self.cells, self.shape, strict=True)) and not self.for_perfect

    def of_cells(self, most_cells: int) -> Lattice:
        """A lattice of the same tiles, of at most so many cells."""
        return Lattice(self.sizes, self.tiling, self.even, most_cells, self.for_perfect, self.group_cells)

    @cached_property
    def for_groups(self) -> tuple[Lattice, ...]:
        """Lattices to bound groups of arrays on, one after the other: from a few cells to all of them."""
        if self.tiling == "perfect" or self.for_perfect:
            return (self,)
        fewer = [n for n in self.group_cells if 2 * n < math.prod(self.shape)]
        return (*(Lattice(self.sizes, self.tiling, self.even, n) for n in fewer), self)

    def cell_of(self, tile: Sequence[int]) -> tuple[slice, ...]:
        """The cell of one tile; of none, that of the whole problem, which is the first one of every axis."""
        if not tile:
            return (slice(0, 1),) * len(self.sizes)
        cells = [int(places[n]) for places, n in zip(self.places, tile, strict=True)]
        return tuple(slice(cell, cell + 1) for cell in cells)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(cells[-1]) + 1 for cells in self.cells)

    @cached_property
    def starts(self) -> list[Ints]:
        """Per dimension, the position of every cell's largest tile among the tiles."""
        return [np.searchsorted(cells, np.arange(n)) for cells, n in zip(self.cells, self.shape, strict=True)]

    @cached_property
    def least(self) -> list[Ints]:
        return [
            axis[np.append(starts[1:], len(axis)) - 1] for axis, starts in zip(self.tiles, self.starts, strict=True)
        ]

    @cached_property
    def places(self) -> list[Ints | ByTile]:
        found: list[Ints | ByTile] = []
        for size, axis, cells in zip(self.sizes, self.tiles, self.cells, strict=True):
            order = np.argsort(axis)
            places = ByTile(axis[order], cells[order])
            found.append(places[np.arange(size + 1)] if size <= MOST_LISTED else places)
        return found

    @cached_property
    def steps(self) -> list[Ints | ByTile]:
        """Per dimension, for every tile from 0 to the size: what it adds to the number of a cell."""
        strides = [math.prod(self.shape[d + 1 :]) for d in range(len(self.shape))]
        return [places * stride for places, stride in zip(self.places, strides, strict=True)]

    def cell(self, tiles: Ints) -> Ints:
        """(rows,) the cells of (rows, dims) tiles, numbered as in a flattened table."""
        found = self.steps[0][tiles[:, 0]]
        for d in range(1, len(self.sizes)):
            found = found + self.steps[d][tiles[:, d]]
        return found

    def least_in_cells(self, values: np.ndarray, dims: Sequence[int]) -> np.ndarray:
        """The least per cell of values per tile, one axis for each of the dimensions."""
        for axis, d in enumerate(dims):
            if len(self.cells[d]) != self.shape[d]:
                values = np.minimum.reduceat(values, self.starts[d], axis=axis)
        return values

    def along(self, dims: Sequence[int], values: np.ndarray) -> np.ndarray:
        """Values with one axis for each of the dimensions, shaped to broadcast over the lattice."""
        shape = [1] * len(self.sizes)
        for d, n in zip(dims, values.shape, strict=True):
            shape[d] = n
        return np.transpose(values, np.argsort(dims)).reshape(shape)

    def around(self, table: Floats, dims: Iterable[int]) -> Floats:
        """(..., lattice): for every cell, the least over tiles around it that grow along `dims` only."""
        dims = tuple(dims)
        return self.grow_around(table.copy(), dims) if dims else table

    def grow_around(self, table: Floats, dims: Iterable[int]) -> Floats:
        """The same, in place of the table."""
        return _grow_around(table, self.folds, dims, math.prod(table.shape[: -len(self.sizes)]))

    def part(self, times: Sequence[int]) -> LatticePart:
        """The tiles that may grow by so many times along each dimension; with ragged tiles all of them."""
        return LatticePart(self, self.powers(times) if self.tiling == "perfect" else (0,) * len(self.folded))

    def powers(self, times: Sequence[int]) -> tuple[int, ...]:
        """Per fold of a lattice of perfect tiles, by how many places tiles come before those that are so many times as
        large along each dimension."""
        found: list[int] = []
        for size, n in zip(self.sizes, times, strict=True):
            powers = prime_exponents(int(n))
            found += [powers.get(prime, 0) for prime in prime_exponents(size)] or [0]
        return tuple(found)

    @cached_property
    def folded(self) -> tuple[int, ...]:
        """The shape with an axis for each fold."""
        return tuple(itertools.chain(*self.folds))

    def within(self, table: Floats) -> Floats:
        """(lattice): for every cell, the least over tiles that are no larger along any dimension."""
        for d, least in enumerate(self.least):
            rising = np.argsort(least)
            table = np.minimum.accumulate(np.take(table, rising, axis=d), axis=d)
            table = np.take(table, np.argsort(rising), axis=d)
        return table


@dataclass(frozen=True)
class LatticePart:
    """Tiles of a lattice that leave room for something: those of small exponents of each prime, where axes are folded.
    Tables of a part have an axis for each fold.

    first  per fold, the first place that belongs to the part
    """

    lattice: Lattice
    first: tuple[int, ...]

    def of(self, table: Floats) -> Floats:
        """(..., part) of (..., lattice): a view."""
        before = table.shape[: table.ndim - len(self.lattice.sizes)]
        found: Floats = table.reshape(*before, *self.lattice.folded)[self._places]
        return found

    def whole(self, table: Floats) -> Floats:
        """(..., lattice) of (..., part): infinite elsewhere."""
        shape = *table.shape[: table.ndim - len(self.first)], *self.lattice.shape
        if not any(self.first):
            return table.reshape(shape)
        found = np.full(shape, np.inf)
        self.of(found)[...] = table
        return found

    def grow_around(self, table: Floats, dims: Iterable[int]) -> Floats:
        """For every tile of the part, the least over those around it that grow along `dims` only; in place of a table
        of the part that is no view."""
        return _grow_around(table, self._folds, dims, math.prod(table.shape[: table.ndim - len(self.first)]))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the part, with an axis for each fold."""
        return tuple(fold - at for fold, at in zip(self.lattice.folded, self.first, strict=True))

    @cached_property
    def _places(self) -> tuple[EllipsisType | slice, ...]:
        return (..., *(slice(at, None) for at in self.first))

    @cached_property
    def _folds(self) -> list[tuple[int, ...]]:
        """Per dimension, as of the lattice."""
        lengths = iter(self.shape)
        return [tuple(itertools.islice(lengths, len(own))) for own in self.lattice.folds]


def _grow_around(table: Floats, folds: Sequence[tuple[int, ...]], dims: Iterable[int], before: int) -> Floats:
    """(before, folds): running minima along the folds of some dimensions, in place."""
    wanted = set(dims)
    for d, own in enumerate(folds):
        for n in own:
            if d in wanted:
                for lines in _in_long_loops(table.reshape(before, n, -1)):
                    for i in range(1, n):
                        np.minimum(lines[:, i], lines[:, i - 1], out=lines[:, i])
            before *= n
    return table


def _in_long_loops(lines: Floats) -> list[Floats]:
    """The same numbers, (before, n, after), in parts over which numpy's inner loops are long: a column at a time where
    few numbers lie next to each other."""
    return [lines[:, :, i] for i in range(lines.shape[-1])] if lines.shape[-1] <= 8 else [lines]


def _divisors(size: int) -> tuple[tuple[int, ...], Ints]:
    """How an axis folds by prime factors, and its divisors in that order, largest exponents first."""
    tiles, folds = np.ones(1, dtype=np.int64), []
    for prime, power in prime_exponents(size).items():
        exponents = np.arange(power, -1, -1)
        tiles = np.multiply.outer(tiles, prime**exponents).ravel()
        folds.append(power + 1)
    return tuple(folds) or (1,), tiles


@lru_cache(maxsize=256)
def _shared_cells(size: int, even: bool) -> tuple[Ints, ...]:
    """Cells of the ragged tiles of a dimension in descending order, for each of `STEPS`, and at last one for each tile:
    the whole dimension alone, the others up to powers of two, with so many steps between one of these and the next. The
    searches of a cascade's branches ask for the same ones over and over.

    Most arrays have as many instances as some power of two, and most memories that many words. So the tiles of a cell,
    dealt out to an array, come to one cell again and not to two; and where the smallest tiles of some cells fit a
    memory, the largest are not much larger than what fits.
    """
    axis = np.array(grid(size, "ragged", even)[::-1], dtype=np.int64)
    found = []
    for steps in STEPS:
        place = np.ceil(np.log2(axis) * steps - 1e-9)
        place[0] = np.inf
        found.append(np.cumsum(np.append(0, place[1:] < place[:-1])))
    found.append(np.arange(len(axis)))
    for cells in found:
        cells.flags.writeable = False
    return tuple(found)
