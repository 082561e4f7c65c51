"""Chains of one dimension, counted: its loops in time by region, and what its spatial loops leave of the array axes.

A dimension's chain is its trip counts over the places of a machine. What is left to cover is always one of about
2 sqrt(n) numbers of tiles, so chains are counted place by place, from the outside in. Of the use of an axis of S
instances by several dimensions only the room left, S over a product and rounded down, is ever asked for: about
2 sqrt(S) numbers. So a dimension is a table of steps from room to room.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arch import ArrayAxis
from ...ir import Problem
from ..means import Means
from ..tilings import Tiling

CountArray = npt.NDArray[Any]
"""Whole numbers: int64 where a bound says that they fit, Python's own otherwise."""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Region:
    """The memories between two fanouts (or above the first, or below the last), as places for loops.

    axes   of the fanout directly above, outermost first; the outermost region has none
    slots  the most places for temporal loops that there can be
    """

    axes: tuple[ArrayAxis, ...]
    slots: int


@dataclass(frozen=True)
class ChainTable:
    """What one dimension does to the room on the axes: from one combination of rooms to another.

    counts  per step, and per number of real loops (more than one trip) in time in each region: chains of so many
    bound   no sum of counts is larger
    """

    before: Indices
    after: Indices
    counts: CountArray
    bound: int

    def only(self, steps: npt.NDArray[np.bool_]) -> ChainTable:
        """The table with some of its steps."""
        return ChainTable(self.before[steps], self.after[steps], self.counts[steps], self.bound)


def whole(bound: int) -> type[np.int64] | type[object]:
    """The type for whole numbers up to a bound."""
    return np.int64 if bound < 2**62 else object


def rooms(regions: Sequence[Region]) -> tuple[int, ...]:
    """Per axis, how many different numbers of instances there can be left."""
    return tuple(len(_quotients(axis.size)) for region in regions for axis in region.axes)


def tables(problem: Problem, regions: Sequence[Region], tiling: Tiling, means: Means) -> list[ChainTable]:
    """The tables of all dimensions that have a loop; those that use the arrays least come first.

    Steps from rooms that the tables before them never leave are left out.
    """
    axes = [axis for region in regions for axis in region.axes]
    made: dict[tuple[int, tuple[bool, ...]], ChainTable] = {}
    keys = [(size, tuple(axis.allows(problem, dim) for axis in axes)) for dim, size in problem.dims if size > 1]
    for _, allowed in keys:  # before any of them is made, since that may take long
        means.check_numbers(_numbers(regions, allowed))
    found = []
    for key in keys:
        if key not in made:
            made[key] = _table(regions, *key, tiling, means)
        found.append((sum(key[1]), len(made[key].before), made[key]))
    states = math.prod(rooms(regions))
    means.check_numbers(states)
    return _reachable([table for *_, table in sorted(found, key=lambda entry: entry[:2])], states)


def count_chains(size: int, places: int, tiling: Tiling) -> int:
    """Trip counts over some places in a row that cover a dimension; perfect: its ordered factorizations."""
    chains = _Chains(size, places, tiling)
    by_loops = chains.in_time(chains.done()[:, None], places, innermost=True)
    return sum(math.comb(places, loops) * int(ways[0, 0]) for loops, ways in enumerate(by_loops))


def _reachable(found: Sequence[ChainTable], states: int) -> list[ChainTable]:
    reached = np.zeros(states, dtype=np.bool_)
    reached[-1] = True
    live = []
    for table in found:
        live.append(table.only(reached[table.before]))
        reached = np.zeros_like(reached)
        reached[live[-1].after] = True
    return live


_LARGE = 10**8
"""Multiplications from which a matrix product is better off in doubles, which are exact up to 2^53."""


@lru_cache(maxsize=1024)
def _quotients(size: int) -> tuple[int, ...]:
    """The values of size // f for f = 1, 2, ..., size, ascending."""
    root = math.isqrt(size)
    return tuple(sorted({size // f for f in range(1, root + 1)} | set(range(1, root + 1))))


class _Chains:
    """Loops of one dimension, as steps between the numbers of tiles that may be left of it.

    A loop of f trips turns `left` tiles into ceil(left / f).
    """

    def __init__(self, size: int, places: int, tiling: Tiling) -> None:
        # Chains in which the last real loop is at place j: the trips before it have a product below `size`, and there
        # are at most size (1 + ln size)^(j - 2) ways for that.
        bound = places * size * (1 + math.log(size)) ** max(places - 2, 0)
        self.dtype = whole(math.ceil(bound))
        self.fits_doubles = bound < 2**52
        self.size = size
        self.perfect = tiling == "perfect"
        if self.perfect:
            lefts = [n for n in _quotients(size) if size % n == 0]
        else:
            lefts = [1, *(n + 1 for n in _quotients(size - 1))]
        self.lefts: Indices = np.array(lefts, dtype=np.int64)
        self.loops = self._loops()

    def _loops(self) -> CountArray:
        """Real loops that turn one number of tiles left (row) into another (column)."""
        found, left = self.lefts[:, None], self.lefts[None, :]
        fewest = -(-found // left)
        if self.perfect:
            loops = (found % left == 0) & (fewest > 1)
        else:
            most = np.where(left == 1, found, -(-found // np.maximum(left - 1, 1)) - 1)
            loops = np.maximum(most - np.maximum(fewest, 2) + 1, 0)
        counts: CountArray = loops.astype(self.dtype)
        return counts

    def done(self) -> CountArray:
        """Ways to cover what is left without any loop."""
        return np.array(self.lefts == 1, dtype=self.dtype)

    def in_time(self, ways: CountArray, most: int, innermost: bool) -> list[CountArray]:
        """Ways to go on from every number of tiles (`innermost`: from all of them), after 0 to `most` real loops."""
        found = [ways[-1:] if innermost else ways]
        start = np.array(self.lefts[None, :] == self.size, dtype=self.dtype)
        for _ in range(most):
            if innermost:
                start = start @ self.loops
                found.append(self._product(start, ways))
            else:
                found.append(self._product(self.loops, found[-1]))
        return found

    def _product(self, left: CountArray, right: CountArray) -> CountArray:
        if self.fits_doubles and left.shape[0] * right.size > _LARGE:
            return (left.astype(np.float64) @ right.astype(np.float64)).astype(self.dtype)
        product: CountArray = left @ right
        return product

    def on_axis(self, ways: CountArray, rows: slice, fewest: int, most: int) -> CountArray:
        """Ways to go on from the numbers of tiles in `rows`, if a loop of `fewest` to `most` trips comes first."""
        trips = np.arange(fewest, min(most, self.size) + 1)[:, None]
        found = self.lefts[rows]
        fits = found % trips == 0 if self.perfect else trips <= found
        after = ways[np.searchsorted(self.lefts, -(-found // trips))]
        counts: CountArray = np.where(fits[:, :, None], after, 0).sum(axis=0)
        return counts


def _table(regions: Sequence[Region], size: int, allowed: tuple[bool, ...], tiling: Tiling, means: Means) -> ChainTable:
    """The table of a dimension of some size that may use some of the axes."""
    counts = _chain_counts(regions, size, allowed, tiling, means)
    in_time = counts.shape[len(allowed) :]
    bound = int(counts.sum())
    counts = counts.astype(whole(bound))
    before = after = np.zeros(1, dtype=np.int64)
    axes = [axis for region in regions for axis in region.axes]
    for index, (axis, may_use) in enumerate(zip(axes, allowed, strict=True)):
        start, end, first, last = _room_changes(axis.size, may_use)
        count = len(_quotients(axis.size))
        before = (before[:, None] * count + start).ravel()
        after = (after[:, None] * count + end).ravel()
        padding = [(int(i == index), 0) for i in range(counts.ndim)]
        means.check_numbers(counts.size // counts.shape[index] * len(last))
        up_to = np.cumsum(np.pad(counts, padding), axis=index)
        counts = up_to.take(last, axis=index) - up_to.take(first, axis=index)
    counts = counts.reshape(len(before), *in_time)
    used = (counts.reshape(len(before), -1) != 0).any(axis=1)
    return ChainTable(before, after, counts, bound).only(used)


def _numbers(regions: Sequence[Region], allowed: tuple[bool, ...]) -> int:
    """Numbers that a table of a dimension that may use some of the axes is made from."""
    axes = [axis for region in regions for axis in region.axes]
    steps = (len(_room_changes(axis.size, may_use)[0]) for axis, may_use in zip(axes, allowed, strict=True))
    return math.prod(steps) * math.prod(1 + region.slots for region in regions)


def _chain_counts(
    regions: Sequence[Region], size: int, allowed: tuple[bool, ...], tiling: Tiling, means: Means
) -> CountArray:
    """Chains by their trips on each axis (in classes that end at the axis' quotients) and real loops by region."""
    may_use = iter(allowed)
    # From the outside in: axes, and regions by their slots. An axis that may not be used is a region without slots.
    places: list[ArrayAxis | int] = []
    on_axes: list[int] = []
    in_time: list[int] = []
    for region in regions:
        on_axes += range(len(places), len(places) + len(region.axes))
        places += [axis if next(may_use) else 0 for axis in region.axes]
        in_time.append(len(places))
        places.append(region.slots)
    innermost = max(i for i, place in enumerate(places) if place != 0)
    if tiling == "ragged":
        means.check_numbers(4 * size)  # as many loops as there are pairs of numbers of tiles
    chains = _Chains(size, sum(place if isinstance(place, int) else 1 for place in places), tiling)
    ways = chains.done()[:, None]
    shape: list[int] = []
    for i, place in enumerate(places):
        more = 1 + place if isinstance(place, int) else len(_quotients(place.size))
        means.check_numbers(len(chains.lefts) * math.prod(shape) * more)
        if isinstance(place, int):
            found = chains.in_time(ways, place, i == innermost)
        else:
            rows = slice(-1 if i == innermost else 0, None)
            classes = itertools.pairwise(_quotients(place.size))
            found = [ways[rows], *(chains.on_axis(ways, rows, below + 1, most) for below, most in classes)]
        shape.append(len(found))
        ways = np.stack(found, axis=-1).reshape(len(found[0]), -1)
    counts: CountArray = ways[-1].reshape(shape).transpose(on_axes + in_time)
    return counts


@lru_cache(maxsize=256)
def _room_changes(size: int, allowed: bool) -> tuple[Indices, Indices, Indices, Indices]:
    """How loops on an axis change the room that is left on it: room before and after (as positions among the
    quotients of its size), and the classes of trips that do it, from one position (exclusive) to another.
    """
    found = _quotients(size)
    position = {0: 0} | {room: k + 1 for k, room in enumerate(found)}
    changes = [(i, i, 0, 1) for i in range(len(found))]
    if allowed:
        changes = [
            (i, j, position[room // (left + 1)], position[room // left])
            for i, room in enumerate(found)
            for j, left in enumerate(found[: i + 1])
            if room // (left + 1) < room // left
        ]
    start, end, first, last = np.array(changes, dtype=np.int64).T
    return start, end, first, last
