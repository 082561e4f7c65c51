"""The size of a mapping space, counted exactly without listing it.

A mapping is a placement, in the uneven space a depth for every node, a chain of trip counts per dimension over the
machine's slots in time and array axes, and an order of the temporal loops with more than one trip in each slot. Array
axes may not overflow; capacities are not looked at. Two facts make the count small:

- Chains of a dimension depend on how many real loops it has in time in each region (the memories between two fanouts),
  not on the slots of the region that they are in: `chain_tables.py` counts them by these numbers.
- So dimensions multiply as polynomials whose terms say how many dimensions have how many loops in a region, and all
  that a region's slots, nodes and loop orders do is to give every term a weight (`_Weights`).

The two spaces differ in nothing but how many ways there are to have so many slots in a region (`regions.py`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from ...arch import Architecture
from ...ir import Problem
from ..means import UNLIMITED, Means
from ..tilings import Tiling
from .chain_tables import ChainTable, CountArray, Indices, rooms, tables, whole
from .regions import SlotWays, placements, slot_ways, without_arrays

Space = Literal["even", "uneven"]
SPACES: tuple[Space, ...] = ("even", "uneven")


@dataclass(frozen=True)
class SpaceSize:
    """How many mappings there are, and where they come from: four nested counts.

    placements  choices of the memories that keep each tensor
    tiled       mappings without spatial loops, not told apart by the order of loops: a placement and trip counts in
                time (in the uneven space also the depth of every node)
    spread      the same with all spatial loops
    total       all mappings: the same with all orders of the loops between two nodes

    Each count over the one before is what a source contributes on average; the four factors multiply to the total.
    """

    placements: int
    tiled: int
    spread: int
    total: int

    @property
    def tilings(self) -> Fraction:
        """Tilings per placement."""
        return Fraction(self.tiled, self.placements)

    @property
    def spatial(self) -> Fraction:
        """By how much spatial loops multiply the tilings."""
        return Fraction(self.spread, self.tiled)

    @property
    def orders(self) -> Fraction:
        """Loop orders per tiling."""
        return Fraction(self.total, self.spread)


def count_mappings(
    problem: Problem, arch: Architecture, tiling: Tiling, space: Space = "even", means: Means = UNLIMITED
) -> int:
    """How many mappings a space holds, before capacities are looked at. Raises OutOfMeans."""
    key = problem, slot_ways(problem, arch, space), tiling
    if key not in _counted:
        if len(_counted) == 256:
            _counted.clear()
        _counted[key] = _count(*key, means)
    return _counted[key]


_counted: dict[tuple[Problem, tuple[SlotWays, ...], Tiling], int] = {}
"""Spaces counted before: a front or a comparison of objectives searches the same one many times."""


def _count(problem: Problem, regions: Sequence[SlotWays], tiling: Tiling, means: Means) -> int:
    halves = _halves(tables(problem, [r.region for r in regions], tiling, means), regions, means)
    return _sum(halves, regions, means, ordered=True)


def space_size(
    problem: Problem, arch: Architecture, tiling: Tiling, space: Space = "even", means: Means = UNLIMITED
) -> SpaceSize:
    """The size of a space by source, before capacities are looked at. Raises OutOfMeans."""
    regions = slot_ways(problem, arch, space)
    in_time = without_arrays(regions)
    in_time_halves, halves = (
        _halves(tables(problem, [r.region for r in some], tiling, means), some, means) for some in (in_time, regions)
    )
    return SpaceSize(
        placements=placements(problem, arch),
        tiled=_sum(in_time_halves, in_time, means, ordered=False),
        spread=_sum(halves, regions, means, ordered=False),
        total=_sum(halves, regions, means, ordered=True),
    )


Loops = tuple[int, ...]
"""How many real loops the dimensions have in one region, ascending; dimensions without any are left out."""


@dataclass(frozen=True)
class _Merged:
    """Some dimensions together.

    loops   per region, the terms of the polynomial
    counts  per combination of rooms, and per term in each region: chains. The first dimensions have those that leave
            this room of empty axes, the last those that fit this room
    """

    loops: tuple[tuple[Loops, ...], ...]
    counts: CountArray


def _halves(found: Sequence[ChainTable], regions: Sequence[SlotWays], means: Means) -> tuple[_Merged, _Merged]:
    """The first and the last dimensions: their product has far more terms than the two together."""
    half = (len(found) + 1) // 2
    states = math.prod(rooms([r.region for r in regions]))
    first = _merged(found[:half], states, len(regions), means, forwards=True)
    return first, _merged(found[half:], states, len(regions), means, forwards=False)


def _sum(halves: tuple[_Merged, _Merged], regions: Sequence[SlotWays], means: Means, ordered: bool) -> int:
    """Chains of all dimensions, weighted with what the regions do with their loops."""
    first, last = halves
    live = (first.counts.reshape(len(first.counts), -1) != 0).any(axis=1)
    weights = [
        _weights(ways.ways, ours, theirs, means, ordered)
        for ways, ours, theirs in zip(regions, first.loops, last.loops, strict=True)
    ]
    # One region is summed over at a time.
    weighted = last.counts[live]
    for w in weights:
        means.check()
        weighted = _summed_over(weighted, w)
    pairs = zip(first.counts[live].ravel().tolist(), weighted.ravel().tolist(), strict=True)
    return sum(a * b for a, b in pairs if a and b)


def _summed_over(counts: CountArray, weights: CountArray) -> CountArray:
    """(terms, ..., new terms): counts with the first region's terms weighted and summed away; what they come to is the
    last axis, so that after all regions these are in order. In doubles as long as those are exact: they are multiplied
    many times as fast."""
    most = _largest(counts) * max(sum(map(abs, row)) for row in weights.tolist())
    if most < 2**53:
        found = np.tensordot(counts.astype(np.float64), weights.astype(np.float64), axes=(1, 1))
        return found.astype(np.int64)
    return np.tensordot(counts.astype(whole(most)), weights.astype(whole(most)), axes=(1, 1))


def _largest(counts: CountArray) -> int:
    """The largest of some numbers, whatever their signs."""
    return max(int(counts.max(initial=0)), -int(counts.min(initial=0)))


def _merged(found: Sequence[ChainTable], states: int, regions: int, means: Means, forwards: bool) -> _Merged:
    """Multiply the polynomials of the first dimensions (forwards) or of the last ones, room by room."""
    bound = math.prod(table.bound for table in found)
    means.check_numbers(states)
    counts = np.full((states, *(1,) * regions), 0 if forwards else 1, dtype=whole(bound))
    counts[-1] = 1
    loops: tuple[tuple[Loops, ...], ...] = (((),),) * regions
    for table in found if forwards else reversed(found):
        grown = [_grown(terms, _most(table, i)) for i, terms in enumerate(loops)]
        source, target = (table.before, table.after) if forwards else (table.after, table.before)
        loops = tuple(terms for terms, _ in grown)
        counts = _multiply(counts, table.counts, source, target, grown, means)
    return _Merged(loops, counts)


def _most(table: ChainTable, region: int) -> int:
    """The most real loops that a dimension has in a region."""
    others = tuple(i for i in range(table.counts.ndim) if i != region + 1)
    return int(np.flatnonzero((table.counts != 0).any(axis=others))[-1])


@lru_cache(maxsize=256)
def _grown(terms: tuple[Loops, ...], most: int) -> tuple[tuple[Loops, ...], Indices]:
    """The terms after one more dimension of 0 to `most` loops, and which of them each term becomes."""
    after = [[tuple(sorted((*loops, more))) if more else loops for more in range(most + 1)] for loops in terms]
    grown = tuple(sorted({loops for row in after for loops in row}))
    index = {loops: i for i, loops in enumerate(grown)}
    return grown, np.array([[index[loops] for loops in row] for row in after], dtype=np.int64)


def _multiply(
    counts: CountArray,
    factors: CountArray,
    source: Indices,
    target: Indices,
    grown: Sequence[tuple[tuple[Loops, ...], Indices]],
    means: Means,
) -> CountArray:
    """Multiply polynomials along steps: each target gets the sum, over the steps that lead to it, of the source's
    polynomial times the step's factor."""
    order = np.argsort(target, kind="stable")
    source, target, factors = source[order], target[order], factors[order]
    shape = tuple(len(terms) for terms, _ in grown)
    means.check_numbers(len(counts) * math.prod(shape))
    product = np.zeros((len(counts), math.prod(shape)), dtype=counts.dtype)
    reached, starts = np.unique(target, return_index=True)
    factors = factors[:, *(slice(after.shape[1]) for _, after in grown)].reshape(len(factors), 1, -1)
    taken = counts.reshape(len(counts), -1, 1)[source]
    # Where every product of a term of the source's and one of the step's belongs.
    becomes = _in_all_regions([after for _, after in grown], shape)
    at_once = max(1, 2**16 // taken.size)  # enough numbers to fill vectors, few enough to stay near the processor
    for first in range(0, becomes.shape[1], at_once):
        means.check()
        part = slice(first, first + at_once)
        summed = np.add.reduceat(taken * factors[:, :, part], starts, axis=0).reshape(len(reached), -1)
        places = becomes[:, part].ravel()
        alike = np.argsort(places, kind="stable")
        places, begin = np.unique(places[alike], return_index=True)
        product[reached[:, None], places] += np.add.reduceat(summed[:, alike], begin, axis=1)
    return product.reshape(-1, *shape)


def _in_all_regions(grown: Sequence[Indices], shape: tuple[int, ...]) -> Indices:
    """(terms before, terms of one more dimension) the terms that they become, all regions together, numbered as in
    flattened tables of a shape.

    grown  per region, (terms before, loops of one more dimension) the term that they become there
    """
    found = np.zeros((1, 1), dtype=np.int64)
    for after, count in zip(grown, shape, strict=True):
        found = (found[:, None, :, None] * count + after[None, :, None, :]).reshape(len(found) * len(after), -1)
    return found


def _weights(
    ways: tuple[int, ...], first: tuple[Loops, ...], last: tuple[Loops, ...], means: Means, ordered: bool
) -> CountArray:
    """What a region does with its loops: a weight for every pair of terms."""
    found = np.empty((len(first), len(last)), dtype=object)
    for i, ours in enumerate(first):
        means.check()
        for j, theirs in enumerate(last):
            loops = tuple(sorted(ours + theirs))
            found[i, j] = sum(w * arrangements(loops, slots, ordered) for slots, w in enumerate(ways) if w)
    return found


@lru_cache(maxsize=1 << 16)
def arrangements(loops: Loops, slots: int, ordered: bool) -> int:
    """Ways to put the loops of every dimension into so many slots, no two of a dimension into the same slot.

    `ordered` tells apart the orders of the loops in a slot.
    """
    if slots == 0 or not loops:
        return int(not loops)
    if loops[-1] > slots:
        return 0
    dims = sorted(Counter(loops).items())
    total = 0
    # Of the dimensions that have `left` loops, so many have one in the first slot.
    for here in itertools.product(*(range(count + 1) for _, count in dims)):
        rest: list[int] = []
        for (left, count), taken in zip(dims, here, strict=True):
            rest += [left - 1] * taken + [left] * (count - taken)
        ways = math.prod(math.comb(count, taken) for (_, count), taken in zip(dims, here, strict=True))
        ways *= math.factorial(sum(here)) if ordered else 1
        total += ways * arrangements(tuple(sorted(left for left in rest if left)), slots - 1, ordered)
    return total
