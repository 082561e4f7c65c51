"""Passing a fanout: how many instances along each dimension.

Dimensions are spread one by one. A partial choice is dropped when an axis overflows, or when its bound reaches the
cutoff. That bound is the sum, column by column, of what the row has been charged, of what follows at least
(`Bounds.ahead`), and of the words that instances of this fanout share, over the most instances that may share them.
Time steps enter as those of the dimensions spread so far, times the work of the others over the instances still free.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..ir import Tensor, ceil_div
from .arrays import AxisUse, Spreading, axis_limits, spreadings
from .batch import Batch, Growth, Pending
from .bounds import at
from .rows import Flags, Floats, Ints, Rows, count_active

ROWS_AT_ONCE = 100_000
"""Partial choices handled at once: bounds the memory in use."""


def expand_fanout(growth: Growth, batch: Batch, below: float) -> Iterator[Batch]:
    """Every way to spread the rows over the next fanout that stays below the cutoff."""
    grown = _Spread(growth, batch, below).batch()
    if len(grown):
        yield grown


@dataclass
class _Shared:
    """The words of a crossing that instances of the fanout share.

    filled, served  (rows,) words as if no instance shared
    """

    pending: Pending
    tensor: Tensor
    filled: Floats
    served: Floats


@dataclass
class _Partial:
    """Partial choices: the row they belong to, instances per dimension, use of the axes, steps so far."""

    parents: Ints
    instances: Ints
    state: Ints
    steps: Floats

    def take(self, index: Ints) -> _Partial:
        return _Partial(self.parents[index], self.instances[index], self.state[index], self.steps[index])


class _Spread:
    """One batch that passes one fanout."""

    def __init__(self, growth: Growth, batch: Batch, below: float) -> None:
        self.growth, self.batch_before, self.below = growth, batch, below
        self.fanout = len(batch.path.gaps)
        self.level = growth.hierarchy.fanouts[self.fanout]
        self.problem = growth.hierarchy.problem
        self.use = AxisUse.of(self.level)
        self.limits = [axis_limits(self.problem, self.level, dim) for dim in self.problem.dim_names]
        self.model = growth.model(batch.path)
        self.path = batch.path.passing()
        self.tile = self.model.array_tile(batch.rows, batch.path.gap)
        self.ahead = growth.bounds.ahead(batch.state, None)
        sizes = np.array(growth.sizes, dtype=np.int64)
        most = np.array([math.prod(limits) for limits in self.limits], dtype=np.int64)
        self.most = np.minimum(-(-sizes // self.tile), most)
        self.shared = [self._unshared(p) for p in batch.pending if growth.hierarchy.joins(self.fanout, p.crossing)]
        self.base = batch.costs - sum((s.pending.costs for s in self.shared), np.zeros(()))
        later = growth.hierarchy.fanouts[self.fanout + 1 :]
        self.later = float(math.prod(f.instances for f in later))

    def _unshared(self, pending: Pending) -> _Shared:
        rows, crossing = self.batch_before.rows, pending.crossing
        filled, served = self.growth.costs.words(self.model, rows, crossing, pending.charge)
        return _Shared(pending, self.problem.tensors[crossing.tensor], filled, served * self.level.instances)

    # ---- growth --------------------------------------------------------------------------------------------

    def batch(self) -> Batch:
        """The rows with all their spreadings."""
        rows = len(self.batch_before)
        start = _Partial(
            np.arange(rows),
            np.ones((rows, len(self.limits)), dtype=np.int64),
            np.zeros(rows, dtype=np.int64),
            np.ones(rows),
        )
        self.steps_left = self._steps_left()
        found = list(self._grow(start, 0))
        partial = _Partial(
            np.concatenate([p.parents for p in found]),
            np.concatenate([p.instances for p in found]),
            np.concatenate([p.state for p in found]),
            np.concatenate([p.steps for p in found]),
        )
        return self._complete(partial)

    def _steps_left(self) -> list[Floats]:
        """Per number of dimensions spread: (rows,) time steps along the others if they are not spread."""
        left = [np.ones(len(self.batch_before))]
        for d in reversed(range(len(self.limits))):
            left.append(left[-1] * self.model.steps_along(self.batch_before.rows, d))
        return left[::-1]

    def _grow(self, partial: _Partial, d: int) -> Iterator[_Partial]:
        if d == len(self.limits) or not len(partial.parents):
            yield partial
            return
        for start in range(0, len(partial.parents), ROWS_AT_ONCE):
            piece = partial.take(np.arange(start, min(start + ROWS_AT_ONCE, len(partial.parents))))
            yield from self._grow(self._add(piece, d), d + 1)

    def _add(self, partial: _Partial, d: int) -> _Partial:
        """Every partial choice with every spreading of one more dimension, less what is pruned."""
        if self.limits[d] == (1, 1):
            steps = self.model.steps_along(self.batch_before.rows, d)[partial.parents]
            return _Partial(partial.parents, partial.instances, partial.state, partial.steps * steps)
        which, instances, state = self._choices(partial, d)
        grown = partial.take(which)
        grown.instances[:, d] = instances
        grown.state = state
        grown.steps = grown.steps * self._steps(grown, d)
        return grown.take(np.flatnonzero(self.growth.below(self._bound(grown, d + 1), self.below)))

    def _choices(self, partial: _Partial, d: int) -> tuple[Ints, Ints, Ints]:
        """(index of the partial, instances, state of the axes) of everything that the axes allow."""
        tiles, which = np.unique(self.tile[:, d], return_inverse=True)
        code = which[partial.parents] * (partial.state.max() + 1) + partial.state
        known, place = np.unique(code, return_inverse=True)
        instances, states, counts = [], [], []
        for value in known.tolist():
            tile, state = divmod(value, int(partial.state.max()) + 1)
            ways = [(w.instances, self.use.after(state, w.pairs)) for w in self._ways(int(tiles[tile]), d)]
            fine = [(n, after) for n, after in ways if after >= 0]
            self.growth.pruned["array"] += len(ways) - len(fine)
            instances.append(np.array([n for n, _ in fine], dtype=np.int64))
            states.append(np.array([after for _, after in fine], dtype=np.int64))
            counts.append(len(fine))
        index = np.repeat(np.arange(len(place)), np.array(counts)[place])
        return (
            index,
            np.concatenate([instances[p] for p in place.tolist()]),
            np.concatenate([states[p] for p in place.tolist()]),
        )

    def _ways(self, tile: int, d: int) -> tuple[Spreading, ...]:
        left = ceil_div(self.growth.sizes[d], tile)
        return spreadings(left, self.limits[d], self.growth.tiling, self.growth.even[d])

    def _steps(self, partial: _Partial, d: int) -> Floats:
        """(partials,) time steps along a dimension that has just been spread."""
        rows = self.batch_before.rows.take(partial.parents)
        return self.growth.model(self.path).steps_along(Rows(len(rows), rows.tiles, [*rows.arrays, partial.instances]), d)

    # ---- bounds --------------------------------------------------------------------------------------------

    def _bound(self, partial: _Partial, done: int) -> Floats:
        """(partials,) objective that no completion undercuts, with the first `done` dimensions spread."""
        taken = partial.instances.prod(axis=1)
        free = np.minimum(self.level.instances // taken, self.most[partial.parents, done:].prod(axis=1))
        steps = partial.steps * self.steps_left[done][partial.parents] / np.maximum(free, 1) / self.later
        tiles = np.minimum(self.tile[partial.parents] * partial.instances, np.array(self.growth.sizes))
        costs = self.base[:, partial.parents] + at(self.ahead[done], self.growth.bounds.lattice.place(tiles))
        for shared in self.shared:
            costs = costs + self._shared_cost(shared, partial, done, free)
        return self.growth.value(costs, steps)

    def _shared_cost(self, shared: _Shared, partial: _Partial, done: int, free: Ints) -> Floats:
        """(columns, partials) least cost of words that instances share: at most all instances along dimensions that
        do not move the tensor, and along the dimensions of one rank all but the most widely spread one."""
        among = np.ones(len(partial.parents))
        open_most = np.ones(len(partial.parents))
        for d, dim in enumerate(self.problem.dim_names):
            if dim not in shared.tensor.dims:
                if d < done:
                    among = among * partial.instances[:, d]
                else:
                    open_most = open_most * self.most[partial.parents, d]
        for rank in shared.tensor.ranks:
            if len(rank) > 1:
                dims = [self.growth.footprints.index[dim] for dim, _ in rank]
                spread = partial.instances[:, dims]
                among = among * spread.prod(axis=1) / spread.max(axis=1)
                open_most = open_most * self.most[partial.parents][:, [d for d in dims if d >= done]].prod(axis=1)
        among = among * np.minimum(free, open_most)
        crossing = shared.pending.crossing
        distinct = float(self.model.distinct_words(shared.tensor))
        served = np.maximum(shared.served[partial.parents] / among, distinct)
        return self.growth.bounds.book(crossing, self.fanout, shared.filled[partial.parents], served)

    # ---- completion ----------------------------------------------------------------------------------------

    def _complete(self, partial: _Partial) -> Batch:
        growth, before = self.growth, self.batch_before.take(partial.parents)
        rows = Rows(len(before), before.rows.tiles, [*before.rows.arrays, partial.instances])
        costs = self._in_use(self.base[:, partial.parents], partial.instances)
        pending = []
        for old in before.pending:
            if growth.hierarchy.joins(self.fanout, old.crossing):
                booked = growth.book(self.path, rows, old.crossing, old.charge)
                costs = costs + booked
            else:
                booked = self._in_use(old.costs, partial.instances)
            if growth.shares_later(old.crossing, self.fanout + 1):
                pending.append(Pending(old.crossing, old.charge, booked))
        steps = growth.model(self.path).steps(rows)
        state = growth.hierarchy.passing(before.state)
        tiles = growth.model(self.path).array_tile(rows, self.path.gap)
        ahead = at(growth.bounds.table(state), growth.bounds.lattice.place(tiles))
        bound = growth.value(costs + ahead, steps)
        batch = Batch(self.path, state, rows, costs, steps, bound, before.orders, pending)
        return batch.take(np.flatnonzero(growth.below(bound, self.below))).sorted()

    def _in_use(self, costs: Floats, instances: Ints) -> Floats:
        """Columns booked as if the fanout were in full use, for the instances in use."""
        inside = {m.name for m in self.growth.hierarchy.memories[: self.growth.hierarchy.inside[self.fanout]]}
        return self.growth.costs.ledger.in_use(costs, inside, self.level.instances / instances.prod(axis=1))
