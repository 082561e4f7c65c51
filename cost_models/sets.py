"""Distinct elements of tiles along one rank of a tensor: a rank is a sum of `coefficient * index`.

A tile along a rank is the set of sums over the tile's ranges of its dimensions. With one dimension it is as large
as the range; with several (`2p + r`) sums may coincide, or leave gaps, and only the set itself is exact.

With `footprint: box` a tile is instead every element from its least sum to its largest one, gaps included.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arch import Footprint
from ..ir import Rank, Tensor

Sums = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


class Move(NamedTuple):
    """The range of one dimension at one instance, before and after a move.

    offset, extent   the new range, relative to a base shared by all instances
    shift            how far the range moved; 0 if it did not
    old_extent       the range's length before
    """

    offset: int
    extent: int
    shift: int
    old_extent: int


@lru_cache(maxsize=1 << 16)
def distinct_sums(coefficients: tuple[int, ...], extents: tuple[int, ...], footprint: Footprint = "exact") -> int:
    """Number of distinct values of `sum(c * x)`, x in [0, extent), per dimension; of a box, all in their hull."""
    if footprint == "box":
        return hull(coefficients, extents)
    if len(coefficients) <= 1:
        return extents[0] if extents else 1
    if len(coefficients) == 2:
        # Count the distinct values of a*x + b*y. With a and b in lowest terms, (x, y) and (x + b, y - a) have the
        # same sum and no other pairs have, so a point is left out where such a neighbour exists.
        common = math.gcd(*coefficients)
        a, b = (coefficient // common for coefficient in coefficients)
        return math.prod(extents) - max(0, extents[0] - b) * max(0, extents[1] - a)
    return int(np.count_nonzero(reached_sums(coefficients, extents, footprint)))


def distinct_sums_of(
    coefficients: tuple[int, ...], columns: Sequence[IntArray], footprint: Footprint = "exact"
) -> IntArray:
    """(rows,) `distinct_sums` of every row of extents, of which there is a column per dimension."""
    if footprint == "box":
        return 1 + sum(((e - 1) * c for c, e in zip(coefficients, columns, strict=True)), np.zeros_like(columns[0]))
    if len(coefficients) == 1:
        return columns[0]
    if len(coefficients) == 2:
        a, b = (coefficient // math.gcd(*coefficients) for coefficient in coefficients)
        x, y = columns
        found: IntArray = x * y - np.maximum(x - b, 0) * np.maximum(y - a, 0)
        return found
    rows, which = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    counts = [distinct_sums(coefficients, tuple(extents), footprint) for extents in rows.tolist()]
    return np.array(counts, dtype=np.int64)[which.reshape(-1)]


def hull(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """Count the elements from the least sum to the largest sum."""
    return 1 + sum(c * (extent - 1) for c, extent in zip(coefficients, extents, strict=True))


def is_plain(rank: Rank, footprint: Footprint) -> bool:
    """Whether tiles along a rank neither overlap nor count gaps, so that each element counts once however the rank is
    cut."""
    return len(rank) <= 1 and (footprint == "exact" or all(c == 1 for _, c in rank))


def tiles_overlap(tensor: Tensor, dim: str, footprint: Footprint) -> bool:
    """Whether tiles that follow each other along a dimension may have words in common, or count gaps."""
    moved = (rank for rank in tensor.ranks if dim in {own for own, _ in rank})
    return not all(is_plain(rank, footprint) for rank in moved)


def _is_gapless(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> bool:
    """Whether every value from the least sum to the largest is reached: no step is longer than what smaller steps
    fill."""
    length = 1
    for coefficient, extent in sorted(zip(coefficients, extents, strict=True)):
        if extent > 1:
            if coefficient > length:
                return False
            length += coefficient * (extent - 1)
    return True


def reached_sums(coefficients: tuple[int, ...], extents: tuple[int, ...], footprint: Footprint) -> Sums:
    """Return a boolean array over [0, largest sum] that marks the sums that are reached."""
    if footprint == "box" or _is_gapless(coefficients, extents):
        return np.ones(hull(coefficients, extents), dtype=bool)
    reached = np.ones(1, dtype=bool)
    for coefficient, extent in zip(coefficients, extents, strict=True):
        wider = np.zeros(len(reached) + coefficient * (extent - 1), dtype=bool)
        starts = np.flatnonzero(reached)
        if len(starts) < extent:
            for start in starts.tolist():
                wider[start : start + coefficient * (extent - 1) + 1 : coefficient] = True
        else:
            for x in range(extent):
                wider[coefficient * x : coefficient * x + len(reached)] |= reached
        reached = wider
    return reached


@lru_cache(maxsize=1 << 16)
def moved_along_rank(
    coefficients: tuple[int, ...],
    instances: tuple[tuple[Move, ...], ...],
    footprint: Footprint = "exact",
    only: tuple[int, int] | None = None,
) -> tuple[int, int]:
    """Return the elements along a rank that a group of instances wants, and how many of them no instance has to
    receive.

    instances  per dimension of the rank, the moves of the group's instances (the group is their product)
    only       the first element that counts, from the group's common base on, and the one after the last; None: all do
    returns    (distinct elements wanted, elements that every instance wanting them already holds)

    The second number is what makes unions exact: along each rank on its own, an element needs no transfer when
    all instances that want it hold it, and a point of the tile needs none when that is so in every rank.
    """
    if len(coefficients) == 1 and only is None:
        # Ranges of one dimension are equal or apart, and so are their hulls.
        words = [(distinct_sums(coefficients, (m.extent,), footprint), m.shift) for m in instances[0]]
        return sum(n for n, _ in words), sum(n for n, shift in words if shift == 0)
    counting = slice(None) if only is None else slice(*only)
    wanting, holding = (each[counting] for each in _wanting_and_holding(coefficients, instances, footprint))
    return int(np.count_nonzero(wanting)), int(np.count_nonzero((wanting > 0) & (wanting == holding)))


@lru_cache(maxsize=1 << 16)
def lines_along_rank(
    coefficients: tuple[int, ...],
    instances: tuple[tuple[Move, ...], ...],
    footprint: Footprint,
    per_line: int,
    phase: int,
) -> tuple[int, int]:
    """Return the lines along a rank that contain what a group of instances wants, and how many of them no instance has
    to receive anything from.

    per_line  neighbouring elements that a line holds along the rank
    phase     how far into a line the group's common base lies

    The second number makes unions exact, as that of `moved_along_rank` does: a line lies in the product over ranks, and
    has nothing to give if that is so in every rank.
    """
    wanting, holding = _wanting_and_holding(coefficients, instances, footprint)
    count, given = (_lines_of(np.flatnonzero(some), per_line, phase) for some in (wanting, wanting > holding))
    return count, count - given


def _lines_of(words: IntArray, per_line: int, phase: int) -> int:
    """Lines that some words lie in, whose places ascend."""
    lines = (words + phase) // per_line
    return int(np.count_nonzero(lines[1:] > lines[:-1])) + (len(lines) > 0)


@lru_cache(maxsize=1 << 16)
def lines_by_bank(
    coefficients: tuple[int, ...],
    instances: tuple[tuple[Move, ...], ...],
    footprint: Footprint,
    per_line: int,
    banks: int,
    phase: int,
) -> tuple[tuple[int, int], ...]:
    """Lines along a rank that hold what a group of instances wants, and those of which no instance has to be given
    anything, as `lines_along_rank` has them, in every bank: the next line lies in the next of so many.

    returns  (wanted, held) in some bank, for all but those that no other bank could be less busy than, whatever the
             other ranks: one that wants no more and holds no less
    """
    wanting, holding = _wanting_and_holding(coefficients, instances, footprint)
    wanted = np.unique((np.flatnonzero(wanting) + phase) // per_line)
    given = np.unique((np.flatnonzero(wanting > holding) + phase) // per_line)
    lines = np.bincount(wanted % banks, minlength=banks)
    held = lines - np.bincount(given % banks, minlength=banks)
    found = set(zip(lines.tolist(), held.tolist(), strict=True))
    return tuple(
        sorted(
            (want, hold)
            for want, hold in found
            if not any(other != (want, hold) and other[0] >= want and other[1] <= hold for other in found)
        )
    )


@lru_cache(maxsize=1 << 5)
def _wanting_and_holding(
    coefficients: tuple[int, ...], instances: tuple[tuple[Move, ...], ...], footprint: Footprint
) -> tuple[IntArray, IntArray]:
    """Return, per element, how many instances want it, and how many of those hold it already."""
    reach = (max(m.offset + m.extent - 1 for m in moves) for moves in instances)
    span = 1 + sum(c * last for c, last in zip(coefficients, reach, strict=True))
    wanting, holding = np.zeros(span, dtype=np.int64), np.zeros(span, dtype=np.int64)
    for chosen in itertools.product(*instances):
        start = sum(c * m.offset for c, m in zip(coefficients, chosen, strict=True))
        new, kept = _new_and_kept(coefficients, chosen, footprint)
        wanting[start : start + len(new)] += new
        holding[start : start + len(new)] += kept
    return wanting, holding


def _new_and_kept(coefficients: tuple[int, ...], move: tuple[Move, ...], footprint: Footprint) -> tuple[Sums, Sums]:
    """Return indicators over the new tile's hull: of the new tile, and of the part of it that is still held."""
    shift = sum(c * m.shift for c, m in zip(coefficients, move, strict=True))
    extents, old_extents = tuple(m.extent for m in move), tuple(m.old_extent for m in move)
    return _tile_and_kept(coefficients, extents, old_extents, shift, footprint)


@lru_cache(maxsize=1 << 10)
def _tile_and_kept(
    coefficients: tuple[int, ...],
    extents: tuple[int, ...],
    old_extents: tuple[int, ...],
    shift: int,
    footprint: Footprint,
) -> tuple[Sums, Sums]:
    """Return the indicators of `_new_and_kept` from the extents of the two tiles, so that instances that differ in
    place alone share them."""
    new = reached_sums(coefficients, extents, footprint)
    old = reached_sums(coefficients, old_extents, footprint)
    held = np.zeros(len(new), dtype=bool)
    first, last = max(0, -shift), min(len(new), len(old) - shift)
    if first < last:
        held[first:last] = old[first + shift : last + shift]
    return new, new & held
