"""Arrays: how many instances along each dimension of every fanout.

They are the first thing that is decided, before any tile: the words that the MACs take, the time steps, and how many
instances share a word follow from them alone, and most arrays are left aside by that. When a mapping has grown to a
fanout, the array that was planned is put there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from ..bounds.array_groups import alike, group_of
from ..bounds.bounds import Bounds
from ..bounds.once import OnceEach, uncharged
from ..bounds.waiting_lines import lines_that_wait
from ..question.hierarchy import MemoryBoundary, State
from ..rows import Floats, Ints, Rows
from ..tiles.instances import realizable
from .batch import Batch, Pending
from .context import SearchContext


def bounded(
    context: SearchContext,
    batch: Batch,
    bounds: Bounds,
    below: float,
    once: Mapping[MemoryBoundary, Floats] = MappingProxyType({}),
) -> Batch:
    """Bound rows of which nothing but the arrays is decided by some tables, and keep those below the cutoff.

    once  (columns, rows) what each boundary between memories costs at least, as far as that is known
    """
    found = least_beyond(context, bounds, batch.state, batch.rows, batch.member, batch.costs, batch.steps, once)
    if bounds.arrays.knows_arrays:  # which tiles fit inside known arrays says most
        one = np.ones((len(batch), len(context.sizes)), dtype=np.int64)
        inside = bounds.at(bounds.table(batch.state), one, batch.member)
        found = np.maximum(found, context.value(batch.costs + inside, batch.steps))
    found = np.maximum(found, batch.bound)
    batch = replace(batch, bounds=bounds, bound=found)
    return batch.take(np.flatnonzero(context.below(found, below))).sorted()


def least_beyond(
    context: SearchContext,
    bounds: Bounds,
    state: State,
    rows: Rows,
    member: Ints,
    costs: Floats,
    steps: Floats,
    once: Mapping[MemoryBoundary, Floats] = MappingProxyType({}),
) -> Floats:
    """Bound (rows,) mappings of which only arrays are decided, of some fanouts or of all: what lies beyond each fanout
    costs no less than at the best tile around its array's, and what comes from memories inside it no less than passing
    once.

    costs, steps  of what has been decided, (columns, rows) and (rows,)
    once          (columns, rows) of boundaries, where known
    """
    tile, found = np.ones((len(rows), len(context.sizes)), dtype=np.int64), np.zeros(len(rows))
    for fanout, array in enumerate(rows.arrays):
        tile = np.minimum(tile * array, np.array(context.sizes, dtype=np.int64))
        beyond = bounds.at(bounds.beyond(state, fanout), tile, member)
        found = np.maximum(found, context.value(costs + beyond, steps))
        inside = [least for boundary, least in once.items() if boundary.inner < context.hierarchy.inside[fanout]]
        if inside:
            outside = bounds.at(bounds.beyond(state, fanout, waiting=False), tile, member)
            found = np.maximum(found, context.value(sum(inside, costs + outside), steps))
    return np.maximum(found, context.value(sum(once.values(), costs), steps)) if once else found


def groups_of(context: SearchContext, batch: Batch) -> list[Ints]:
    """Return the indices of the rows of each group of alike arrays; the group with the best row first."""
    return sorted(alike(context.hierarchy, context.tiling, batch.rows), key=lambda index: int(index[0]))


def rough_groups_of(context: SearchContext, batch: Batch) -> list[Ints]:
    """Return fewer and larger groups: of rows whose arrays give as many copies of what comes over them straight from
    the outermost memory, which mostly costs most."""
    hierarchy = context.hierarchy
    which = {
        (fanout, tensor)
        for tensor, held in enumerate(batch.path.placement)
        for fanout, inside in enumerate(hierarchy.inside)
        if min(memory for memory in held if memory >= inside) == hierarchy.home(tensor)
    }
    groups = alike(hierarchy, context.tiling, batch.rows, which)
    return sorted(groups, key=lambda index: int(index[0]))


def bounded_by_groups(
    context: SearchContext, batch: Batch, groups: Sequence[Ints], below: float, rough: bool = False
) -> Iterator[Batch]:
    """Bound the rows of some groups by tables for each group: of several groups together with perfect tiles, of one
    group with ragged ones.

    rough  whether these are groups of `rough_groups_of`
    """
    kinds = [group_of(context.hierarchy, context.tiling, batch.rows.take(index).arrays) for index in groups]
    rest = iter(groups)
    for bounds in context.groups.of_several(kinds, batch.state):
        bounds.rough = rough
        several = list(itertools.islice(rest, bounds.arrays.stacked))
        if context.tiling == "perfect":
            yield _of_groups(context, batch, several, bounds, below)
            continue
        for member, index in enumerate(several):
            own = context.groups.some_of(bounds, np.array([member]))
            yield _of_one_group(context, batch.take(index), own, below)
            own.forget()


def _of_groups(context: SearchContext, batch: Batch, groups: Sequence[Ints], bounds: Bounds, below: float) -> Batch:
    """Bound the rows of some groups by tables of these; where few groups are left, they get tables of their own."""
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
    """Bound the rows of a group by finer tables."""
    bounds = context.groups.finer(batch.bounds)
    assert bounds is not None
    context.groups.keep(bounds)
    return _of_one_group(context, batch, bounds, below)


def _of_one_group(context: SearchContext, batch: Batch, bounds: Bounds, below: float) -> Batch:
    """Bound the rows of a group by tables of each row's arrays, and keep those below the cutoff. Tables for what lies
    outside the arrays are the same for all of the group."""
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


def bounded_alone(context: SearchContext, batch: Batch, below: float) -> Iterator[Batch]:
    """Bound each row of a batch in which only arrays are decided by tables for its arrays alone, and yield those below
    the cutoff. The tables are over the next finer of the lattices for groups of arrays."""
    level, count = batch.bounds.level + 1, len(batch)
    together = _tables_alone(context, batch, level)
    bound = _bound_alone(context, batch, together)
    for row in np.flatnonzero(context.below(bound, below)).tolist():
        own = together if count == 1 else context.groups.of(together.groups[row], level=level)
        one = replace(batch, bound=bound).take(slice(row, row + 1))
        yield replace(one, bounds=own, member=np.zeros(1, dtype=np.int64))


def gained_alone(context: SearchContext, batch: Batch, below: float, level: int) -> float:
    """Return by which part of the way to the cutoff tables for single choices of arrays raise the bounds of rows, on
    average, over one of the lattices for groups of arrays."""
    gained = 0.0
    for row in range(len(batch)):
        one = batch.take(slice(row, row + 1))
        own = _tables_alone(context, one, level)
        gained += float(((np.minimum(_bound_alone(context, one, own), below) - one.bound) / (below - one.bound))[0])
        own.forget()
    return gained / len(batch)


def _tables_alone(context: SearchContext, batch: Batch, level: int) -> Bounds:
    """Make bounds for each row's arrays alone, stacked."""
    alone = ([array[row : row + 1] for array in batch.rows.arrays] for row in range(len(batch)))
    return context.groups.of(*(group_of(context.hierarchy, context.tiling, arrays) for arrays in alone), level=level)


def _bound_alone(context: SearchContext, batch: Batch, own: Bounds) -> Floats:
    """Bound (rows,) by tables of each row's arrays."""
    inside = own.at(own.table(batch.state), np.ones_like(batch.rows.arrays[0]), np.arange(len(batch)))
    return np.maximum(batch.bound, context.value(batch.costs + inside, batch.steps))


def pass_fanout(context: SearchContext, batch: Batch, below: float) -> Batch:
    """Put the planned array at the fanout that the batch has come to."""
    fanout = len(batch.path.bands)
    level, visit = context.hierarchy.fanouts[fanout], context.visit
    tile = context.model(batch.path).loops.array_tile(batch.rows, batch.path.band)
    if context.tiling == "ragged":
        spans = context.limits.spans(fanout)
        fits = realizable(
            visit.problem, level, visit.tilings, context.reduced_spread, tile, batch.rows.arrays[fanout], spans
        )
        context.leave_aside("array", int(np.count_nonzero(~fits)))
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
    if context.many_arrays:
        ahead = np.maximum(ahead, OnceEach(batch.bounds, context.tiling, batch.rows).of_all(uncharged(state)))
    else:
        ahead = ahead + lines_that_wait(batch.bounds, context.model(path), state, batch.rows, tile)
    bound = context.value(costs + ahead, steps)
    if context.many_arrays:
        bound = np.maximum(bound, batch.bound)
    passed = replace(batch, path=path, state=state, costs=costs, steps=steps, bound=bound, pending=pending)
    return passed.take(np.flatnonzero(context.below(bound, below))).sorted()


def rebounded(context: SearchContext, batch: Batch, bounds: Bounds, below: float) -> Batch:
    """Bound the rows by the tables that have taken the place of theirs."""
    batch = replace(batch, bounds=bounds)
    tile = context.model(batch.path).loops.array_tile(batch.rows, batch.path.band)
    ahead = batch.bounds.at(batch.bounds.table(batch.state), tile, batch.member)
    bound = np.maximum(batch.bound, context.value(batch.costs + ahead, batch.steps))
    return replace(batch, bound=bound).take(np.flatnonzero(context.below(bound, below))).sorted()


def settled(context: SearchContext, batch: Batch, below: float) -> Batch:
    """Count exactly what was only bounded below the fanouts, for rows above all of them."""
    costs = batch.costs
    for old in batch.pending:
        costs = costs - old.costs + context.book(batch.path, batch.rows, old.boundary, old.fill_point, exactly=True)
    known = costs
    if not batch.complete:
        tile = context.model(batch.path).loops.array_tile(batch.rows, batch.path.band)
        known = costs + batch.bounds.at(batch.bounds.table(batch.state), tile, batch.member)
    bound = context.value(known, batch.steps)
    counted = replace(batch, costs=costs, bound=bound, pending=[])
    return counted.take(np.flatnonzero(context.below(counted.bound, below))).sorted()
