"""Distinct elements of tiles along one rank of a tensor: a rank is a sum of `coefficient * index`.

A tile along a rank is the set of sums over the tile's ranges of its dimensions. With one dimension it is as large
as the range; with several (`2p + r`) sums may coincide, or leave gaps, and only the set itself is exact.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Sums = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


class Move(NamedTuple):
    """One instance's range of one dimension, before and after a move.

    offset, extent   the new range, relative to a base shared by all instances
    shift            how far the range moved; 0 if it did not
    old_extent       the range's length before
    """

    offset: int
    extent: int
    shift: int
    old_extent: int


@lru_cache(maxsize=1 << 16)
def distinct_sums(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """Number of distinct values of `sum(c * x)`, x in [0, extent), per dimension."""
    if len(coefficients) <= 1:
        return extents[0] if extents else 1
    return int(np.count_nonzero(_indicator(coefficients, extents)))


def _indicator(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> Sums:
    """Boolean array over [0, largest sum]: which sums are reached."""
    reached = np.ones(1, dtype=bool)
    for coefficient, extent in zip(coefficients, extents, strict=True):
        wider = np.zeros(len(reached) + coefficient * (extent - 1), dtype=bool)
        for x in range(extent):
            wider[coefficient * x : coefficient * x + len(reached)] |= reached
        reached = wider
    return reached


@lru_cache(maxsize=1 << 16)
def moved_along_rank(coefficients: tuple[int, ...], instances: tuple[tuple[Move, ...], ...]) -> tuple[int, int]:
    """Elements along a rank that a group of instances wants, and those that no instance has to be given.

    instances  per dimension of the rank, the moves of the group's instances (the group is their product)
    returns    (distinct elements wanted, elements that every instance wanting them already holds)

    The second number is what makes unions exact: along each rank on its own, an element needs no transfer when
    all instances that want it hold it, and a point of the tile needs none when that is so in every rank.
    """
    if len(coefficients) == 1:
        moves = instances[0]
        return sum(m.extent for m in moves), sum(m.extent for m in moves if m.shift == 0)
    wanting, holding = _wanting_and_holding(coefficients, instances)
    return int(np.count_nonzero(wanting)), int(np.count_nonzero((wanting > 0) & (wanting == holding)))


def _wanting_and_holding(
    coefficients: tuple[int, ...], instances: tuple[tuple[Move, ...], ...]
) -> tuple[IntArray, IntArray]:
    """Per element: how many instances want it, and how many of those hold it already."""
    reach = (max(m.offset + m.extent - 1 for m in moves) for moves in instances)
    span = 1 + sum(c * last for c, last in zip(coefficients, reach, strict=True))
    wanting, holding = np.zeros(span, dtype=np.int64), np.zeros(span, dtype=np.int64)
    for chosen in itertools.product(*instances):
        start = sum(c * m.offset for c, m in zip(coefficients, chosen, strict=True))
        new, kept = _new_and_kept(coefficients, chosen)
        wanting[start : start + len(new)] += new
        holding[start : start + len(new)] += kept
    return wanting, holding


def _new_and_kept(coefficients: tuple[int, ...], move: tuple[Move, ...]) -> tuple[Sums, Sums]:
    """Indicators over the new tile's hull: the new tile, and the part of it that is still held."""
    new = _indicator(coefficients, tuple(m.extent for m in move))
    old = _indicator(coefficients, tuple(m.old_extent for m in move))
    shift = sum(c * m.shift for c, m in zip(coefficients, move, strict=True))
    held = np.zeros(len(new), dtype=bool)
    first, last = max(0, -shift), min(len(new), len(old) - shift)
    if first < last:
        held[first:last] = old[first + shift : last + shift]
    return new, new & held
