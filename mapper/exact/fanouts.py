"""Arrays: how many instances along each dimension of every fanout.

They are the first thing that is decided, before any tile: the words that the MACs take, the time steps, and how many
instances share a word follow from them alone, and most arrays are left aside by that. When a mapping has grown to a
fanout, the array that was planned is put there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from .arrays import array_vectors, realizable
from .batch import Batch, Growth, Pending
from .bounds.array_groups import alike, group_of
from .bounds.bounds import Bounds
from .hierarchy import MAC, Crossing, Holders, Path
from .rows import Floats, Ints, Rows, ceil_div_array
from .symmetry import compared


class Plans:
    """All arrays of a machine, and the words at the MACs under each: the same for every placement."""

    def __init__(self, growth: Growth) -> None:
        self.growth = growth
        self._fed: dict[Crossing, Floats] = {}

    @cached_property
    def rows(self) -> Rows:
        """One row per choice of arrays of all fanouts."""
        growth, problem = self.growth, self.growth.hierarchy.problem
        sizes = np.array(growth.sizes, dtype=np.int64)
        arrays: list[Ints] = []
        covered = np.ones((1, len(sizes)), dtype=np.int64)
        for f, fanout in enumerate(growth.hierarchy.fanouts):
            vectors = array_vectors(problem, fanout, growth.tiling, growth.even_spread, growth.limits.spans(f))
            vectors = vectors[growth.limits.enough_in_use(f, vectors)]
            known, picks = (x.ravel() for x in np.indices((len(covered), len(vectors))))
            grown = covered[known] * vectors[picks]
            if growth.tiling == "perfect":
                fits = (sizes % grown == 0).all(axis=1)
            else:
                fits = (vectors[picks] <= ceil_div_array(sizes, covered[known])).all(axis=1)
            known, picks, covered = known[fits], picks[fits], np.minimum(grown[fits], sizes)
            arrays = [*(a[known] for a in arrays), vectors[picks]]
        rows = Rows(len(covered), [], arrays)
        if growth.mirror is None:
            return rows
        return rows.take(np.flatnonzero(compared(arrays, growth.mirror, len(rows)) <= 0))

    @cached_property
    def steps(self) -> Floats:
        return self.growth.model(Path(self.growth.hierarchy, ())).steps(self.rows)

    def fed(self, holders: Holders) -> Floats:
        """(columns, rows) MACs, and the words between them and the memories nearest to them."""
        growth = self.growth
        costs = np.zeros((growth.costs.ledger.columns, len(self.rows)))
        growth.costs.ledger.book_energy(costs, growth.hierarchy.problem.macs * growth.hierarchy.arch.mac.energy_pj)
        for tensor, held in enumerate(holders):
            costs = costs + self._feeding(Crossing(tensor, MAC, held[0]), holders)
        return costs

    def _feeding(self, crossing: Crossing, holders: Holders) -> Floats:
        if crossing not in self._fed:
            self._fed[crossing] = self.growth.book(Path(self.growth.hierarchy, holders), self.rows, crossing, None)
        return self._fed[crossing]

    def first_bound(self, holders: Holders) -> float:
        """An objective that no mapping of a placement undercuts: every tensor passes every boundary once."""
        growth = self.growth
        once = np.zeros((growth.costs.ledger.columns, 1))
        for tensor, held in enumerate(holders):
            for inner, outer in itertools.pairwise(held):
                once = once + growth.bounds.crossings.once(Crossing(tensor, inner, outer)).reshape(-1, 1)
        return float(growth.value(self.fed(holders) + once, self.steps).min(initial=np.inf))

    def start(self, holders: Holders, below: float) -> Batch:
        """The arrays of a placement whose bound stays below the cutoff."""
        growth = self.growth
        pending = []
        for tensor, held in enumerate(holders):
            crossing = Crossing(tensor, MAC, held[0])
            if growth.only_bounded(crossing, 0):
                pending.append(Pending(crossing, None, self._feeding(crossing, holders)))
        bound = np.zeros(len(self.rows))
        orders = np.zeros((len(self.rows), 0), dtype=np.int64)
        path, state, costs = Path(growth.hierarchy, holders), growth.hierarchy.start(holders), self.fed(holders)
        member = np.zeros(len(self.rows), dtype=np.int64)
        batch = Batch(path, state, growth.bounds, member, self.rows, costs, self.steps, bound, orders, pending)
        batch = batch.take(np.flatnonzero(growth.limits.enough_at_work(self.steps)))
        return bounded(growth, batch, growth.groups.for_any, below)


def bounded(growth: Growth, batch: Batch, bounds: Bounds, below: float) -> Batch:
    """Rows of which nothing but the arrays is decided, with bounds by some tables, as far as they stay below the
    cutoff."""
    tile, found = np.ones((len(batch), len(growth.sizes)), dtype=np.int64), np.zeros(len(batch))
    if all(array is not None for array in bounds.arrays.array):  # which tiles fit inside known arrays says most
        inside = bounds.at(bounds.table(batch.state), tile, batch.member)
        found = growth.value(batch.costs + inside, batch.steps)
    for fanout, array in enumerate(batch.rows.arrays):
        tile = np.minimum(tile * array, np.array(growth.sizes, dtype=np.int64))
        beyond = bounds.at(bounds.beyond(batch.state, fanout), tile, batch.member)
        found = np.maximum(found, growth.value(batch.costs + beyond, batch.steps))
    batch = replace(batch, bounds=bounds, bound=found)
    return batch.take(np.flatnonzero(growth.below(found, below))).sorted()


def groups_of(growth: Growth, batch: Batch) -> list[Ints]:
    """Indices of the rows of each group of alike arrays; the group with the best row first."""
    return sorted(alike(growth.hierarchy, growth.tiling, batch.rows), key=lambda index: int(index[0]))


def bounded_by_groups(growth: Growth, batch: Batch, groups: Sequence[Ints], below: float) -> Iterator[Batch]:
    """The rows of some groups with better bounds, by tables for each group: those of several groups together with
    perfect tiles, of one group with ragged ones."""
    kinds = [group_of(growth.hierarchy, growth.tiling, batch.rows.take(index).arrays) for index in groups]
    rest = iter(groups)
    for bounds in growth.groups.of_several(kinds, batch.path.holders):
        several = list(itertools.islice(rest, bounds.arrays.stacked))
        if growth.tiling == "perfect":
            yield _of_groups(growth, batch, several, bounds, below)
            continue
        for member, index in enumerate(several):
            own = growth.groups.some_of(bounds, np.array([member]))
            yield _of_one_group(growth, batch.take(index), own, below)
            own.forget()


def _of_groups(growth: Growth, batch: Batch, groups: Sequence[Ints], bounds: Bounds, below: float) -> Batch:
    """The rows of some groups with bounds by the tables of these; where few groups are left, they get tables of their
    own."""
    rows = batch.take(np.concatenate(groups))
    member = np.repeat(np.arange(len(groups)), [len(index) for index in groups])
    better = bounded(growth, replace(rows, member=member), bounds, below)
    if not len(better):
        return better
    left, member = np.unique(better.member, return_inverse=True)
    if 2 * len(left) < len(groups):
        better = replace(better, bounds=growth.groups.some_of(bounds, left), member=member)
    growth.groups.keep(better.bounds)
    return better


def finer(growth: Growth, batch: Batch, below: float) -> Batch:
    """The rows of a group with better bounds, by finer tables."""
    bounds = growth.groups.finer(batch.bounds)
    assert bounds is not None
    growth.groups.keep(bounds)
    return _of_one_group(growth, batch, bounds, below)


def _of_one_group(growth: Growth, batch: Batch, bounds: Bounds, below: float) -> Batch:
    """The rows of a group with bounds by tables of each row's arrays, as far as they stay below the cutoff. Tables for
    what lies outside the arrays are the same for all of the group."""
    found = np.empty(len(batch))
    one, first = np.ones((1, len(growth.sizes)), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for row in range(len(batch)):
        own = growth.groups.of_one(bounds, [array[row] for array in batch.rows.arrays])
        costs = batch.costs[:, row : row + 1] + own.at(own.table(batch.state), one, first)
        found[row] = growth.value(costs, batch.steps[row : row + 1])[0]
    found = np.maximum(found, batch.bound)
    if np.isfinite(below):
        bounds.settled = growth.add_little(bounds.level, np.minimum(found, below) - batch.bound, below - batch.bound)
    batch = replace(batch, bounds=bounds, bound=found)
    return batch.take(np.flatnonzero(growth.below(batch.bound, below))).sorted()


def pass_fanout(growth: Growth, batch: Batch, below: float) -> Batch:
    """Put the planned array at the fanout that the batch has come to."""
    fanout = len(batch.path.gaps)
    level, problem = growth.hierarchy.fanouts[fanout], growth.hierarchy.problem
    tile = growth.model(batch.path).loops.array_tile(batch.rows, batch.path.gap)
    if growth.tiling == "ragged":
        spans = growth.limits.spans(fanout)
        fits = realizable(problem, level, growth.tiling, growth.even_spread, tile, batch.rows.arrays[fanout], spans)
        growth.pruned["array"] += int(np.count_nonzero(~fits))
        batch = batch.take(np.flatnonzero(fits))
    path, state = batch.path.passing(), growth.hierarchy.passing(batch.state)
    costs, pending = batch.costs, []
    for old in batch.pending:
        booked = growth.book(path, batch.rows, old.crossing, old.charge)
        costs = costs - old.costs + booked
        if growth.only_bounded(old.crossing, fanout + 1, old.charge is not None):
            pending.append(Pending(old.crossing, old.charge, booked))
    steps = growth.model(path).steps(batch.rows)
    tile = growth.model(path).loops.array_tile(batch.rows, path.gap)
    ahead = batch.bounds.at(batch.bounds.table(state), tile, batch.member)
    bound = growth.value(costs + ahead, steps)
    passed = replace(batch, path=path, state=state, costs=costs, steps=steps, bound=bound, pending=pending)
    return passed.take(np.flatnonzero(growth.below(bound, below))).sorted()


def settled(growth: Growth, batch: Batch, below: float) -> Batch:
    """The rows above all fanouts, with everything counted exactly that was only bounded below them."""
    costs = batch.costs
    for old in batch.pending:
        costs = costs - old.costs + growth.book(batch.path, batch.rows, old.crossing, old.charge, exactly=True)
    known = costs
    if not batch.complete:
        tile = growth.model(batch.path).loops.array_tile(batch.rows, batch.path.gap)
        known = costs + batch.bounds.at(batch.bounds.table(batch.state), tile, batch.member)
    counted = replace(batch, costs=costs, bound=growth.value(known, batch.steps), pending=[])
    return counted.take(np.flatnonzero(growth.below(counted.bound, below))).sorted()
