"""The size of the even mapping space, counted exactly without listing it.

A mapping is a placement, a chain of trip counts per dimension over the slots of the machine (one in time below every
memory that keeps something, one per axis of an array), and an order of the temporal loops with more than one trip
below each memory. Array axes may not overflow; capacities are not looked at. Three facts make the count small:

- What is left to cover is always one of about 2 sqrt(n) numbers of tiles, so chains are counted slot by slot.
- Of the use of an axis of S instances by several dimensions only the room left, S over a product and rounded down, is
  ever asked for: about 2 sqrt(S) numbers.
- Orders are counted by the number k of real loops below a memory (k! each), so dimensions multiply as polynomials
  with one variable per memory. A memory that keeps nothing has k = 0: all placements read off one polynomial.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arch import Architecture, ArrayAxis, Memory
from ..ir import Problem
from .tilings import Tiling

Slot = ArrayAxis | None
"""A place for one loop of each dimension: on an array axis, or (None) in time."""

Counts = npt.NDArray[Any]
"""Whole numbers: int64 where a bound says that they fit, Python's own otherwise."""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SpaceSize:
    """How many mappings there are, and by what.

    mappings    all of them
    tilings     those that differ in more than the order of loops: in a placement, a trip count or an axis
    placements  choices of the memories that keep each tensor
    """

    mappings: int
    tilings: int
    placements: int


def count_mappings(problem: Problem, arch: Architecture, tiling: Tiling) -> int:
    """How many mappings the even space holds, before capacities are looked at."""
    return space_size(problem, arch, tiling).mappings


def space_size(problem: Problem, arch: Architecture, tiling: Tiling) -> SpaceSize:
    """The size of the even space, before capacities are looked at."""
    machine = _Machine.of(problem, arch)
    tables = _reachable(machine, _tables(machine, problem, tiling))
    half = (len(tables) + 1) // 2
    first = _merged(machine, tables[:half], forwards=True)
    last = _merged(machine, tables[half:], forwards=False)
    return SpaceSize(
        mappings=_total(machine, first, last, math.factorial),
        tilings=_total(machine, first, last, lambda _: 1),
        placements=math.prod(filled + empty for filled, empty in machine.keeping),
    )


@dataclass(frozen=True)
class _Machine:
    """The slots of an architecture.

    slots    outermost first; memories that can keep nothing have none
    keeping  per slot in time: ways to keep something, and ways to keep nothing (0 or 1)
    """

    slots: tuple[Slot, ...]
    keeping: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, problem: Problem, arch: Architecture) -> _Machine:
        slots: list[Slot] = []
        keeping = []
        for level in arch.levels:
            if not isinstance(level, Memory):
                slots += reversed(level.axes)
                continue
            keeps = [level.keeps[t.role] for t in problem.tensors]
            ways = 2 ** keeps.count("may")
            empty = 0 if "must" in keeps else 1
            if ways > empty:
                slots.append(None)
                keeping.append((ways - empty, empty))
        return cls(tuple(slots), tuple(keeping))

    @property
    def axes(self) -> tuple[ArrayAxis, ...]:
        return tuple(slot for slot in self.slots if slot is not None)

    @property
    def gaps(self) -> int:
        return len(self.keeping)

    @property
    def rooms(self) -> tuple[int, ...]:
        """Per axis, how many different numbers of instances there can be left."""
        return tuple(len(_quotients(axis.size)) for axis in self.axes)


@dataclass(frozen=True)
class _Table:
    """What one dimension does to the room on the axes: from one combination of rooms to another.

    counts  per transition, and per subset of the slots in time (two entries per slot): chains whose loops with more
            than one trip in time are exactly those of the subset
    bound   no sum of counts is larger
    """

    before: Indices
    after: Indices
    counts: Counts
    bound: int


_LARGE = 10**8
"""Multiplications from which a matrix product is better off in doubles, which are exact up to 2^53."""


@lru_cache(maxsize=1024)
def _quotients(size: int) -> tuple[int, ...]:
    """The values of size // f for f = 1, 2, ..., size, ascending."""
    root = math.isqrt(size)
    return tuple(sorted({size // f for f in range(1, root + 1)} | set(range(1, root + 1))))


def _whole(bound: int) -> type[np.int64] | type[object]:
    """The type for whole numbers up to a bound."""
    return np.int64 if bound < 2**62 else object


class _Chains:
    """Loops of one dimension, as steps between the numbers of tiles that may be left of it.

    A loop of f trips turns `left` tiles into ceil(left / f).
    """

    def __init__(self, size: int, slots: int, tiling: Tiling) -> None:
        # Chains in which the last real loop is at slot j: the trips before it have a product below `size`, and there
        # are at most size (1 + ln size)^(j - 2) ways for that.
        bound = slots * size * (1 + math.log(size)) ** max(slots - 2, 0)
        self.dtype = _whole(math.ceil(bound))
        self.fits_doubles = bound < 2**52
        self.size = size
        self.perfect = tiling == "perfect"
        if self.perfect:
            lefts = [n for n in _quotients(size) if size % n == 0]
        else:
            lefts = [1, *(n + 1 for n in _quotients(size - 1))]
        self.lefts: Indices = np.array(lefts, dtype=np.int64)

    def done(self) -> Counts:
        """Ways to cover what is left without any loop."""
        return np.array(self.lefts == 1, dtype=self.dtype)

    def in_time(self, ways: Counts, rows: slice) -> Counts:
        """Ways to go on from the numbers of tiles in `rows`, if a loop with more than one trip comes first."""
        found, left = self.lefts[rows, None], self.lefts[None, :]
        fewest = -(-found // left)
        if self.perfect:
            loops = (found % left == 0) & (fewest > 1)
        else:
            most = np.where(left == 1, found, -(-found // np.maximum(left - 1, 1)) - 1)
            loops = np.maximum(most - np.maximum(fewest, 2) + 1, 0)
        if self.fits_doubles and loops.shape[0] * ways.size > _LARGE:
            product = loops.astype(np.float64) @ ways.astype(np.float64)
        else:
            product = loops.astype(self.dtype) @ ways
        counts: Counts = product.astype(self.dtype)
        return counts

    def on_axis(self, ways: Counts, rows: slice, fewest: int, most: int) -> Counts:
        """Ways to go on from the numbers of tiles in `rows`, if a loop of `fewest` to `most` trips comes first."""
        trips = np.arange(fewest, min(most, self.size) + 1)[:, None]
        found = self.lefts[rows]
        fits = found % trips == 0 if self.perfect else trips <= found
        after = ways[np.searchsorted(self.lefts, -(-found // trips))]
        counts: Counts = np.where(fits[:, :, None], after, 0).sum(axis=0)
        return counts


def _tables(machine: _Machine, problem: Problem, tiling: Tiling) -> list[_Table]:
    """The tables of all dimensions that have a loop; those that use the arrays least come first."""
    made: dict[tuple[int, tuple[bool, ...]], _Table] = {}
    found = []
    for dim, size in problem.dims:
        key = (size, tuple(axis.allows(problem, dim) for axis in machine.axes))
        if size == 1:
            continue
        if key not in made:
            made[key] = _table(machine, size, key[1], tiling)
        found.append((sum(key[1]), len(made[key].before), made[key]))
    return [table for *_, table in sorted(found, key=lambda entry: entry[:2])]


def _reachable(machine: _Machine, tables: Sequence[_Table]) -> list[_Table]:
    """The tables, without the transitions from rooms that the tables before them never leave."""
    reached = np.zeros(math.prod(machine.rooms), dtype=np.bool_)
    reached[-1] = True
    found = []
    for table in tables:
        live = reached[table.before]
        found.append(_Table(table.before[live], table.after[live], table.counts[live], table.bound))
        reached = np.zeros_like(reached)
        reached[table.after[live]] = True
    return found


def _table(machine: _Machine, size: int, allowed: tuple[bool, ...], tiling: Tiling) -> _Table:
    """The table of a dimension of some size that may use some of the axes."""
    counts = _chain_counts(machine, size, allowed, tiling)
    bound = int(counts.sum())
    counts = counts.astype(_whole(bound))
    before = after = np.zeros(1, dtype=np.int64)
    for index, axis in enumerate(machine.axes):
        start, end, first, last = _room_changes(axis.size, allowed[index])
        rooms = machine.rooms[index]
        before = (before[:, None] * rooms + start).ravel()
        after = (after[:, None] * rooms + end).ravel()
        padding = [(int(i == index), 0) for i in range(counts.ndim)]
        up_to = np.cumsum(np.pad(counts, padding), axis=index)
        counts = up_to.take(last, axis=index) - up_to.take(first, axis=index)
    counts = counts.reshape(len(before), *(2,) * machine.gaps)
    used = (counts.reshape(len(before), -1) != 0).any(axis=1)
    return _Table(before[used], after[used], counts[used], bound)


def _chain_counts(machine: _Machine, size: int, allowed: tuple[bool, ...], tiling: Tiling) -> Counts:
    """Chains by their trips on each axis (in classes that end at the axis' quotients) and real loops in time."""
    may_use = iter(allowed)
    usable = [slot is None or next(may_use) for slot in machine.slots]
    innermost = max(i for i, use in enumerate(usable) if use)
    chains = _Chains(size, sum(usable), tiling)
    ways = chains.done()[:, None]
    shape: list[int] = []
    for i, slot in enumerate(machine.slots):
        if not usable[i]:
            shape.append(1)
            continue
        rows = slice(-1 if i == innermost else 0, None)
        if slot is None:
            loops = [chains.in_time(ways, rows)]
        else:
            classes = itertools.pairwise(_quotients(slot.size))
            loops = [chains.on_axis(ways, rows, below + 1, most) for below, most in classes]
        shape.append(1 + len(loops))
        ways = np.stack([ways[rows], *loops], axis=-1).reshape(len(ways[rows]), -1)
    in_time = [i for i, slot in enumerate(machine.slots) if slot is None]
    on_axes = [i for i, slot in enumerate(machine.slots) if slot is not None]
    counts: Counts = ways[-1].reshape(shape).transpose(on_axes + in_time)
    return counts


@lru_cache(maxsize=256)
def _room_changes(size: int, allowed: bool) -> tuple[Indices, Indices, Indices, Indices]:
    """How loops on an axis change the room that is left on it: room before and after (as positions among the
    quotients of its size), and the classes of trips that do it, from one position (exclusive) to another.
    """
    rooms = _quotients(size)
    position = {0: 0} | {room: k + 1 for k, room in enumerate(rooms)}
    changes = [(i, i, 0, 1) for i in range(len(rooms))]
    if allowed:
        changes = [
            (i, j, position[room // (left + 1)], position[room // left])
            for i, room in enumerate(rooms)
            for j, left in enumerate(rooms[: i + 1])
            if room // (left + 1) < room // left
        ]
    start, end, first, last = np.array(changes, dtype=np.int64).T
    return start, end, first, last


@dataclass(frozen=True)
class _Merged:
    """Some dimensions together.

    counts  per combination of rooms, a polynomial: chains by the number of real loops in each slot in time.
            The first dimensions have those that leave this room of empty axes, the last those that fit this room
    """

    counts: Counts
    dims: int
    bound: int


def _merged(machine: _Machine, tables: Sequence[_Table], forwards: bool) -> _Merged:
    """Multiply the polynomials of the first dimensions (forwards) or of the last ones, room by room."""
    bound = math.prod(table.bound for table in tables)
    states = math.prod(machine.rooms)
    counts = np.full((states, *(1,) * machine.gaps), 0 if forwards else 1, dtype=_whole(bound))
    counts[-1] = 1
    for table in tables if forwards else reversed(tables):
        if forwards:
            counts = _multiply(counts, table.counts, table.before, table.after)
        else:
            counts = _multiply(counts, table.counts, table.after, table.before)
    return _Merged(counts, len(tables), bound)


def _multiply(counts: Counts, factors: Counts, source: Indices, target: Indices) -> Counts:
    """Per target, the sum over its transitions of the source's polynomial times the transition's factor."""
    order = np.argsort(target, kind="stable")
    source, target, factors = source[order], target[order], factors[order]
    gaps = counts.ndim - 1
    taken = counts[source]
    grown = np.zeros((len(order), *(side + 1 for side in counts.shape[1:])), dtype=counts.dtype)
    for real in itertools.product((0, 1), repeat=gaps):
        window: tuple[slice, ...] = (slice(None),)
        window += tuple(slice(r, r + side) for r, side in zip(real, counts.shape[1:], strict=True))
        subset: tuple[slice | int, ...] = (slice(None), *real)
        factor: Counts = factors[subset]
        grown[window] += taken * factor.reshape(-1, *(1,) * gaps)
    reached, starts = np.unique(target, return_index=True)
    summed = np.zeros((len(counts), *grown.shape[1:]), dtype=counts.dtype)
    summed[reached] = np.add.reduceat(grown, starts, axis=0)
    return summed


def _total(machine: _Machine, first: _Merged, last: _Merged, orders: Callable[[int], int]) -> int:
    """The sum over all placements of all chains, each times the orders of its real loops.

    A memory that keeps nothing in a placement has no loops below it.
    """
    dims = first.dims + last.dims
    weights = [
        [filled * orders(k) + (empty if k == 0 else 0) for k in range(dims + 1)] for filled, empty in machine.keeping
    ]
    live = (first.counts.reshape(len(first.counts), -1) != 0).any(axis=1)
    # One slot in time is summed over at a time; every such sum has at most dims + 1 terms.
    bound = last.bound * math.prod((dims + 1) * max(w) for w in weights)
    weighted = last.counts[live].astype(_whole(bound))
    for w in weights:
        hankel = np.array([w[i : i + last.dims + 1] for i in range(first.dims + 1)], dtype=weighted.dtype)
        # The first slot's axis is summed away and comes back as the last one: after all slots they are in order.
        weighted = np.tensordot(weighted, hankel, axes=(1, 1))
    pairs = zip(first.counts[live].ravel().tolist(), weighted.ravel().tolist(), strict=True)
    return sum(a * b for a, b in pairs if a and b)
