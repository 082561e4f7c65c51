"""Arrays: how many instances along each dimension of every fanout.

They are the first thing that is decided, before any tile: the words that the MACs take, the time steps, and how many
instances share a word follow from them alone, and most arrays are left aside by that. When a mapping has grown to a
fanout, the array that was planned is put there.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cached_property

import numpy as np

from .arrays import array_vectors, realizable
from .batch import Batch, Growth, Pending
from .bounds import at
from .hierarchy import MAC, Crossing, Holders, Path
from .rows import Floats, Ints, Rows


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
            rows, picks = (x.ravel() for x in np.indices((len(covered), len(vectors))))
            grown = covered[rows] * vectors[picks]
            fits = (
                sizes % grown == 0 if growth.tiling == "perfect" else vectors[picks] <= -(-sizes // covered[rows])
            ).all(axis=1)
            rows, picks, covered = rows[fits], picks[fits], np.minimum(grown[fits], sizes)
            arrays = [*(a[rows] for a in arrays), vectors[picks]]
        return Rows(len(covered), [], arrays)

    @cached_property
    def steps(self) -> Floats:
        return self.growth.model(Path(self.growth.hierarchy, ())).steps(self.rows)

    @cached_property
    def covered(self) -> list[Ints]:
        """Per fanout, (rows, dims) elements that it and those inside it cover at least."""
        sizes = np.array(self.growth.sizes, dtype=np.int64)
        found, tile = [], np.ones((len(self.rows), len(sizes)), dtype=np.int64)
        for array in self.rows.arrays:
            tile = np.minimum(tile * array, sizes)
            found.append(tile)
        return found

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
                once = once + growth.bounds.once(Crossing(tensor, inner, outer)).reshape(-1, 1)
        return float(growth.value(self.fed(holders) + once, self.steps).min(initial=np.inf))

    def start(self, holders: Holders, below: float) -> Batch:
        """The arrays of a placement whose bound stays below the cutoff."""
        growth = self.growth
        state, costs = growth.hierarchy.start(holders), self.fed(holders)
        if not growth.hierarchy.fanouts:
            ones = np.ones((1, len(growth.sizes)), dtype=np.int64)
            bound = self._value(costs, growth.bounds.table(state), ones)
        else:
            bound = np.zeros(len(self.rows))
            for fanout, covered in enumerate(self.covered):
                beyond = growth.bounds.beyond(state, fanout)
                bound = np.maximum(bound, self._value(costs, beyond, covered))
        pending = []
        for tensor, held in enumerate(holders):
            crossing = Crossing(tensor, MAC, held[0])
            if growth.unsettled(crossing, 0):
                pending.append(Pending(crossing, None, self._feeding(crossing, holders)))
        orders = np.zeros((len(self.rows), 0), dtype=np.int64)
        path = Path(growth.hierarchy, holders)
        batch = Batch(path, state, self.rows, costs, self.steps, bound, orders, pending)
        keep = growth.below(bound, below) & growth.limits.enough_at_work(self.steps)
        return batch.take(np.flatnonzero(keep)).sorted()

    def _value(self, costs: Floats, table: Floats, tiles: Ints) -> Floats:
        return self.growth.value(costs + at(table, self.growth.bounds.lattice.place(tiles)), self.steps)


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
    ahead = at(
        growth.bounds.table(state), growth.bounds.lattice.place(growth.model(path).array_tile(batch.rows, path.gap))
    )
    bound = growth.value(costs + ahead, steps)
    passed = replace(batch, path=path, state=state, costs=costs, steps=steps, bound=bound, pending=pending)
    return passed.take(np.flatnonzero(growth.below(bound, below))).sorted()
