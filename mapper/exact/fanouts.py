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
from .batch import Batch, Pending
from .bounds.array_groups import alike, group_of
from .bounds.bounds import Bounds
from .context import SearchContext
from .hierarchy import MAC, Block, MemoryBoundary, Outline, Path, Placement
from .rows import Floats, Ints, Rows, ceil_div_array
from .symmetry import compared


class Plans:
    """All arrays of a machine, and the words at the MACs under each: the same for every placement."""

    def __init__(self, context: SearchContext) -> None:
        self.context = context
        self._at_macs: dict[MemoryBoundary, Floats] = {}

    @cached_property
    def rows(self) -> Rows:
        """One row per choice of arrays of all fanouts."""
        context, problem = self.context, self.context.hierarchy.problem
        sizes = np.array(context.sizes, dtype=np.int64)
        arrays: list[Ints] = []
        covered = np.ones((1, len(sizes)), dtype=np.int64)
        for f, fanout in enumerate(context.hierarchy.fanouts):
            vectors = array_vectors(problem, fanout, context.tiling, context.reduced_spread, context.limits.spans(f))
            vectors = vectors[context.limits.enough_in_use(f, vectors)]
            known, picks = (x.ravel() for x in np.indices((len(covered), len(vectors))))
            grown = covered[known] * vectors[picks]
            if context.tiling == "perfect":
                fits = (sizes % grown == 0).all(axis=1)
            else:
                fits = (vectors[picks] <= ceil_div_array(sizes, covered[known])).all(axis=1)
            known, picks, covered = known[fits], picks[fits], np.minimum(grown[fits], sizes)
            arrays = [*(a[known] for a in arrays), vectors[picks]]
        rows = Rows(len(covered), [], arrays)
        if context.mirror is None:
            return rows
        return rows.take(np.flatnonzero(compared(arrays, context.mirror, len(rows)) <= 0))

    @cached_property
    def steps(self) -> Floats:
        return self.context.model(Path(self.context.hierarchy, ())).steps(self.rows)

    def at_macs(self, placement: Placement) -> Floats:
        """(columns, rows) MACs, and the words between them and the memories nearest to them."""
        context = self.context
        costs = np.zeros((context.costs.cost_columns.count, len(self.rows)))
        context.costs.cost_columns.book_energy(
            costs, context.hierarchy.problem.macs * context.hierarchy.arch.mac.energy_pj
        )
        for tensor, held in enumerate(placement):
            costs = costs + self._feeding(MemoryBoundary(tensor, MAC, held[0]), placement)
        return costs

    def _feeding(self, boundary: MemoryBoundary, placement: Placement) -> Floats:
        if boundary not in self._at_macs:
            self._at_macs[boundary] = self.context.book(
                Path(self.context.hierarchy, placement), self.rows, boundary, None
            )
        return self._at_macs[boundary]

    def first_bound(self, placement: Placement, blocks: tuple[Block, ...] = ()) -> float:
        """An objective that no mapping of an outline undercuts: every tensor passes every boundary once."""
        context = self.context
        once = np.zeros((context.costs.cost_columns.count, 1))
        for tensor, held in enumerate(placement):
            for inner, outer in itertools.pairwise(held):
                once = once + context.bounds.boundaries.once(MemoryBoundary(tensor, inner, outer)).reshape(-1, 1)
        bound = context.value(self.at_macs(placement) + once, self.steps)
        return float(bound[context.blocks.possible(Outline(placement, blocks), self.rows.arrays)].min(initial=np.inf))

    def start(self, placement: Placement, below: float, blocks: tuple[Block, ...] = ()) -> Batch:
        """The arrays of an outline whose bound stays below the cutoff."""
        context = self.context
        pending = []
        for tensor, held in enumerate(placement):
            boundary = MemoryBoundary(tensor, MAC, held[0])
            if context.only_bounded(boundary, 0):
                pending.append(Pending(boundary, None, self._feeding(boundary, placement)))
        bound = np.zeros(len(self.rows))
        orders = np.zeros((len(self.rows), 0), dtype=np.int64)
        path, state, costs = (
            Path(context.hierarchy, placement),
            context.hierarchy.start(placement, blocks),
            self.at_macs(placement),
        )
        member = np.zeros(len(self.rows), dtype=np.int64)
        batch = Batch(path, state, context.bounds, member, self.rows, costs, self.steps, bound, orders, pending)
        fine = context.limits.enough_at_work(self.steps)
        fine = fine & context.blocks.possible(Outline(placement, blocks), self.rows.arrays)
        batch = batch.take(np.flatnonzero(fine))
        return bounded(context, batch, context.groups.for_any, below)


def bounded(context: SearchContext, batch: Batch, bounds: Bounds, below: float) -> Batch:
    """Rows of which nothing but the arrays is decided, with bounds by some tables, as far as they stay below the
    cutoff."""
    tile, found = np.ones((len(batch), len(context.sizes)), dtype=np.int64), np.zeros(len(batch))
    if all(array is not None for array in bounds.arrays.array):  # which tiles fit inside known arrays says most
        inside = bounds.at(bounds.table(batch.state), tile, batch.member)
        found = context.value(batch.costs + inside, batch.steps)
    for fanout, array in enumerate(batch.rows.arrays):
        tile = np.minimum(tile * array, np.array(context.sizes, dtype=np.int64))
        beyond = bounds.at(bounds.beyond(batch.state, fanout), tile, batch.member)
        found = np.maximum(found, context.value(batch.costs + beyond, batch.steps))
    batch = replace(batch, bounds=bounds, bound=found)
    return batch.take(np.flatnonzero(context.below(found, below))).sorted()


def groups_of(context: SearchContext, batch: Batch) -> list[Ints]:
    """Indices of the rows of each group of alike arrays; the group with the best row first."""
    return sorted(alike(context.hierarchy, context.tiling, batch.rows), key=lambda index: int(index[0]))


def bounded_by_groups(context: SearchContext, batch: Batch, groups: Sequence[Ints], below: float) -> Iterator[Batch]:
    """The rows of some groups with better bounds, by tables for each group: those of several groups together with
    perfect tiles, of one group with ragged ones."""
    kinds = [group_of(context.hierarchy, context.tiling, batch.rows.take(index).arrays) for index in groups]
    rest = iter(groups)
    for bounds in context.groups.of_several(kinds, batch.state):
        several = list(itertools.islice(rest, bounds.arrays.stacked))
        if context.tiling == "perfect":
            yield _of_groups(context, batch, several, bounds, below)
            continue
        for member, index in enumerate(several):
            own = context.groups.some_of(bounds, np.array([member]))
            yield _of_one_group(context, batch.take(index), own, below)
            own.forget()


def _of_groups(context: SearchContext, batch: Batch, groups: Sequence[Ints], bounds: Bounds, below: float) -> Batch:
    """The rows of some groups with bounds by the tables of these; where few groups are left, they get tables of their
    own."""
    rows = batch.take(np.concatenate(groups))
    member = np.repeat(np.arange(len(groups)), [len(index) for index in groups])
    better = bounded(context, replace(rows, member=member), bounds, below)
    if not len(better):
        return better
    left, member = np.unique(better.member, return_inverse=True)
    if 2 * len(left) < len(groups):
        better = replace(better, bounds=context.groups.some_of(bounds, left), member=member)
    context.groups.keep(better.bounds)
    return better


def finer(context: SearchContext, batch: Batch, below: float) -> Batch:
    """The rows of a group with better bounds, by finer tables."""
    bounds = context.groups.finer(batch.bounds)
    assert bounds is not None
    context.groups.keep(bounds)
    return _of_one_group(context, batch, bounds, below)


def _of_one_group(context: SearchContext, batch: Batch, bounds: Bounds, below: float) -> Batch:
    """The rows of a group with bounds by tables of each row's arrays, as far as they stay below the cutoff. Tables for
    what lies outside the arrays are the same for all of the group."""
    found = np.empty(len(batch))
    one, first = np.ones((1, len(context.sizes)), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for row in range(len(batch)):
        own = context.groups.of_one(bounds, [array[row] for array in batch.rows.arrays])
        costs = batch.costs[:, row : row + 1] + own.at(own.table(batch.state), one, first)
        found[row] = context.value(costs, batch.steps[row : row + 1])[0]
    found = np.maximum(found, batch.bound)
    if np.isfinite(below):
        bounds.settled = context.add_little(bounds.level, np.minimum(found, below) - batch.bound, below - batch.bound)
    batch = replace(batch, bounds=bounds, bound=found)
    return batch.take(np.flatnonzero(context.below(batch.bound, below))).sorted()


def pass_fanout(context: SearchContext, batch: Batch, below: float) -> Batch:
    """Put the planned array at the fanout that the batch has come to."""
    fanout = len(batch.path.bands)
    level, problem = context.hierarchy.fanouts[fanout], context.hierarchy.problem
    tile = context.model(batch.path).loops.array_tile(batch.rows, batch.path.band)
    if context.tiling == "ragged":
        spans = context.limits.spans(fanout)
        fits = realizable(
            problem, level, context.tiling, context.reduced_spread, tile, batch.rows.arrays[fanout], spans
        )
        context.pruned["array"] += int(np.count_nonzero(~fits))
        batch = batch.take(np.flatnonzero(fits))
    path, state = batch.path.passing(), context.hierarchy.passing(batch.state)
    costs, pending = batch.costs, []
    for old in batch.pending:
        booked = context.book(path, batch.rows, old.boundary, old.fill_point)
        costs = costs - old.costs + booked
        if context.only_bounded(old.boundary, fanout + 1, old.fill_point is not None):
            pending.append(Pending(old.boundary, old.fill_point, booked))
    steps = context.model(path).steps(batch.rows)
    tile = context.model(path).loops.array_tile(batch.rows, path.band)
    ahead = batch.bounds.at(batch.bounds.table(state), tile, batch.member)
    bound = context.value(costs + ahead, steps)
    passed = replace(batch, path=path, state=state, costs=costs, steps=steps, bound=bound, pending=pending)
    return passed.take(np.flatnonzero(context.below(bound, below))).sorted()


def settled(context: SearchContext, batch: Batch, below: float) -> Batch:
    """The rows above all fanouts, with everything counted exactly that was only bounded below them."""
    costs = batch.costs
    for old in batch.pending:
        costs = costs - old.costs + context.book(batch.path, batch.rows, old.boundary, old.fill_point, exactly=True)
    known = costs
    if not batch.complete:
        tile = context.model(batch.path).loops.array_tile(batch.rows, batch.path.band)
        known = costs + batch.bounds.at(batch.bounds.table(batch.state), tile, batch.member)
    counted = replace(batch, costs=costs, bound=context.value(known, batch.steps), pending=[])
    return counted.take(np.flatnonzero(context.below(counted.bound, below))).sorted()
