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
from .bounds.bounds import Bounds, at
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
            vectors = array_vectors(problem, fanout, growth.tiling, growth.even, growth.limits.spans(f))
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
            if growth.unsettled(crossing, 0):
                pending.append(Pending(crossing, None, self._feeding(crossing, holders)))
        bound = np.zeros(len(self.rows))
        orders = np.zeros((len(self.rows), 0), dtype=np.int64)
        path, state, costs = Path(growth.hierarchy, holders), growth.hierarchy.start(holders), self.fed(holders)
        batch = Batch(path, state, growth.bounds, self.rows, costs, self.steps, bound, orders, pending)
        batch = batch.take(np.flatnonzero(growth.limits.enough_at_work(self.steps)))
        return bounded(growth, batch, growth.groups.rough(), below)


def bounded(growth: Growth, batch: Batch, bounds: Bounds, below: float) -> Batch:
    """Rows of which nothing but the arrays is decided, with bounds by some tables, as far as they stay below the
    cutoff."""
    tile, found = np.ones((len(batch), len(growth.sizes)), dtype=np.int64), np.zeros(len(batch))
    if all(array is not None for array in bounds.arrays.array):  # which tiles fit inside known arrays says most
        found = growth.value(batch.costs + at(bounds.table(batch.state), bounds.lattice.place(tile)), batch.steps)
    for fanout, array in enumerate(batch.rows.arrays):
        tile = np.minimum(tile * array, np.array(growth.sizes, dtype=np.int64))
        beyond = at(bounds.beyond(batch.state, fanout), bounds.lattice.place(tile))
        found = np.maximum(found, growth.value(batch.costs + beyond, batch.steps))
    batch = replace(batch, bounds=bounds, bound=found)
    return batch.take(np.flatnonzero(growth.below(found, below))).sorted()


def grouped(growth: Growth, batch: Batch) -> Iterator[Batch]:
    """The rows in groups of alike arrays."""
    for index in alike(growth.hierarchy, growth.tiling, batch.rows):
        yield batch.take(index)


def refined_groups(growth: Growth, groups: Sequence[Batch], below: float) -> Iterator[Batch]:
    """The rows of several groups with better bounds, each by tables of its own."""
    alike = [group_of(growth.hierarchy, growth.tiling, group.rows.arrays) for group in groups]
    own = growth.groups.of_several(alike, groups[0].path.holders)
    for batch, bounds in zip(groups, own, strict=True):
        better = _with(growth, batch, bounds, below)
        bounds.forget()
        yield better


def finer(growth: Growth, batch: Batch, below: float) -> Batch:
    """The rows of a group with better bounds, by finer tables."""
    bounds = growth.groups.finer(batch.bounds)
    assert bounds is not None
    growth.groups.keep(bounds)
    return _with(growth, batch, bounds, below)


def _with(growth: Growth, batch: Batch, bounds: Bounds, below: float) -> Batch:
    """The rows of a group with bounds by tables of the group, as far as they stay below the cutoff."""
    if growth.tiling == "perfect":
        return bounded(growth, batch, bounds, below)
    # Tables for what lies outside the arrays are the same for all of the group.
    found = np.empty(len(batch))
    place = bounds.lattice.place(np.ones((1, len(growth.sizes)), dtype=np.int64))
    for row in range(len(batch)):
        own = growth.groups.of_one(bounds, [array[row] for array in batch.rows.arrays])
        found[row] = growth.value(batch.costs[:, row] + at(own.table(batch.state), place)[:, 0], batch.steps[row])
    found = np.maximum(found, batch.bound)
    if np.isfinite(below):
        bounds.settled = growth.add_little(bounds.level, np.minimum(found, below) - batch.bound, below - batch.bound)
    batch = replace(batch, bounds=bounds, bound=found)
    return batch.take(np.flatnonzero(growth.below(batch.bound, below))).sorted()


def pass_fanout(growth: Growth, batch: Batch, below: float) -> Batch:
    """Put the planned array at the fanout that the batch has come to."""
    fanout = len(batch.path.gaps)
    level, problem = growth.hierarchy.fanouts[fanout], growth.hierarchy.problem
    tile = growth.model(batch.path).array_tile(batch.rows, batch.path.gap)
    if growth.tiling == "ragged":
        spans = growth.limits.spans(fanout)
        fits = realizable(problem, level, growth.tiling, growth.even, tile, batch.rows.arrays[fanout], spans)
        growth.pruned["array"] += int(np.count_nonzero(~fits))
        batch = batch.take(np.flatnonzero(fits))
    path, state = batch.path.passing(), growth.hierarchy.passing(batch.state)
    costs, pending = batch.costs, []
    for old in batch.pending:
        booked = growth.book(path, batch.rows, old.crossing, old.charge)
        costs = costs - old.costs + booked
        if growth.unsettled(old.crossing, fanout + 1, old.charge is not None):
            pending.append(Pending(old.crossing, old.charge, booked))
    steps = growth.model(path).steps(batch.rows)
    tile = growth.model(path).array_tile(batch.rows, path.gap)
    ahead = at(batch.bounds.table(state), batch.bounds.lattice.place(tile))
    bound = growth.value(costs + ahead, steps)
    passed = replace(batch, path=path, state=state, costs=costs, steps=steps, bound=bound, pending=pending)
    return passed.take(np.flatnonzero(growth.below(bound, below))).sorted()
