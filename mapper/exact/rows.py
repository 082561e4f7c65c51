"""Partial mappings as rows of arrays, and counting over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..effort import EFFORT

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp] | slice
"""Which rows are taken; a slice copies nothing."""

MANY_ROWS = EFFORT.some
"""Rows from which on finding those that differ takes less time than counting for them all."""


def taken(values: npt.NDArray[Any], index: Index, axis: int = 0) -> npt.NDArray[Any]:
    """Take some rows of an array along an axis, several times as fast as `values[index]`."""
    if isinstance(index, slice):
        return values[index] if axis == 0 else values[:, index]
    return values.take(index, axis=axis)


@dataclass
class Rows:
    """Rows are partial mappings that have taken the same steps, as arrays.

    tiles    (rows, dims) per node group placed so far, innermost first: elements of its tile
    arrays   (rows, dims) per fanout, innermost first: instances in use
    """

    count: int
    tiles: list[Ints]
    arrays: list[Ints]
    _kinds: dict[int, Kinds] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return self.count

    def take(self, index: Index) -> Rows:
        count = len(range(self.count)[index]) if isinstance(index, slice) else len(index)
        return Rows(count, [taken(t, index) for t in self.tiles], [taken(a, index) for a in self.arrays])

    def kinds(self, d: int) -> Kinds:
        """Pick one of all rows that are alike along a dimension: many rows combine few tiles and instances along each
        dimension, so that few have to be counted."""
        if len(self) < MANY_ROWS:
            return Kinds(self, np.arange(len(self)))
        if d not in self._kinds:
            columns = [every[:, d] for every in (*self.tiles, *self.arrays)]
            first, which = distinct(row_codes(columns))
            self._kinds[d] = Kinds(self.take(first), which)
        return self._kinds[d]


@dataclass(frozen=True)
class Kinds:
    """Rows that stand for all rows that are alike.

    which  (all rows,) which of them each row is like
    """

    rows: Rows
    which: Ints


def ceil_div_array(size: int | Ints, tile: Ints) -> Ints:
    """Count tiles along a dimension, elementwise; exact up to 2^53, and much faster than a division of whole
    numbers."""
    tiles: Ints = np.ceil(size / tile).astype(np.int64)
    return tiles


def count_active(size: int, digits: Sequence[tuple[Ints, Ints]]) -> Ints:
    """Count the settings of nested loops (trips, tile), outermost first, whose first index lies inside `size`;
    elementwise.

    Whole outer blocks hold all settings of the loops inside them; the last block holds those that are left.
    """
    left = np.full(len(digits[0][0]), size, dtype=np.int64)
    total = np.ones_like(left)
    inside = [np.ones_like(left)]
    for trips, _ in reversed(digits[1:]):
        inside.append(inside[-1] * trips)
    for (trips, tile), settings in zip(digits, reversed(inside), strict=True):
        last: Ints = np.minimum(trips, ceil_div_array(left, tile)) - 1
        total = total + last * settings
        left = left - last * tile
    return total


def per_distinct_row(
    columns: Sequence[Ints], function: Callable[[tuple[int, ...]], tuple[int, ...]], width: int = 2
) -> Ints:
    """Apply a function that gives so many numbers to every distinct row of some columns; (rows, width)."""
    different = {id(column): column for column in columns}
    first, inverse = distinct(row_codes(list(different.values())))
    keys = np.column_stack([column[first] for column in columns])
    values = np.array([function(tuple(key)) for key in keys.tolist()], dtype=np.int64)
    result: Ints = values.reshape(-1, width)[inverse]
    return result


def row_codes(columns: Sequence[Ints]) -> Ints:
    """Give (rows,) one number to each row of some columns of numbers from 0 on; equal rows have equal numbers."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    room = np.iinfo(np.int64).max
    for column in columns if len(code) else ():
        least, most = int(column.min()), int(column.max())
        if least == most:
            continue
        radix = most - least + 1
        if room < radix:
            code = distinct(code)[1]
            room = np.iinfo(np.int64).max // len(code)
        code = code * radix + (column - least)
        room //= radix
    return code


def distinct(codes: Ints) -> tuple[Ints, Ints]:
    """Return, for codes from 0 on, a row for each different code, in their order, and (rows,) which code each row
    has."""
    if codes.max(initial=0) > 8 * len(codes) + 1024:
        _, first, which = np.unique(codes, return_index=True, return_inverse=True)
        return first, which
    seats = np.full(int(codes.max(initial=0)) + 1, -1, dtype=np.int64)
    seats[codes] = np.arange(len(codes))
    taken = np.flatnonzero(seats >= 0)
    first = seats[taken]
    seats[taken] = np.arange(len(taken))
    return first, seats[codes]


def repeated(lists: Sequence[Ints], which: Ints) -> tuple[Ints, Ints]:
    """Repeat each row as often as the list that it is given (`which`) has entries, and return these entries."""
    counts = np.array([len(entries) for entries in lists], dtype=np.int64)
    starts, own = np.cumsum(counts) - counts, counts[which]
    rows = np.repeat(np.arange(len(which)), own)
    places = np.arange(len(rows)) + np.repeat(starts[which] - (np.cumsum(own) - own), own)
    return rows, np.concatenate(lists)[places]
