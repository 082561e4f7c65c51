"""The innermost tiles, for many arrays at once.

Where nothing is placed yet, every row starts from a single element: rows differ in their arrays only, and the tiles
that fit are the same for all of them. What follows is bounded by a cell of the lattice, whose place along each
dimension depends on the tile and the instances along that dimension alone. So all pairs of a row and a tile are looked
at in a few passes over whole numbers, and hardly any of them is left to be costed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..bounds.ahead import AroundBlock, FirstCharge
from ..bounds.charged_inside import BelowBlock
from ..context import SearchContext
from ..hierarchy import NodeGroup, State
from ..instances import AxisSpans, spread_counts, tiles_needed
from ..rows import Flags, Floats, Ints, Rows, ceil_div_array, distinct, row_codes
from ..symmetry import compared


@dataclass(frozen=True)
class _Along:
    """One dimension.

    sizes      tiles along it, ascending
    picks      (tiles,) which of them each of the tiles that fit has
    cells      (choices, sizes) place in the flattened lattice that a tile and the instances above it come to; too large
               a number where the axes cannot spread them so
    instances  (rows,) which of the choices each row has
    """

    picks: Ints
    cells: npt.NDArray[np.int32]
    instances: Ints


def first_tiles(
    context: SearchContext, batch: Batch, node_groups: Sequence[NodeGroup], memory: int, below: float
) -> Iterator[tuple[Ints, Ints]] | None:
    """All pairs of a row, as its index, and an innermost tile, (dims,), that may lead to something below the cutoff; in
    parts.

    memory  whose loops grow the tile

    None: more tiles fit than can be tried.
    """
    trip_rules = context.trip_rules(batch, node_groups)
    tiles = _fitting(context, batch, node_groups, memory, trip_rules)
    if tiles is None:
        return None
    if not len(tiles):
        return iter(())
    block = batch.bounds.block_after(batch.state, node_groups[0]) if len(node_groups) == 1 else None
    if block is not None:
        return _below_block(context, batch, block, tiles, trip_rules, below)
    return _hopeful(context, batch, tiles, trip_rules, below)


def _below_block(
    context: SearchContext, batch: Batch, state: State, tiles: Ints, trip_rules: Ints, below: float
) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of a row and one of some tiles, (tiles, dims), with loops directly inside the first fanout above them;
    `state` is that above the tile's node group."""
    dims = range(len(context.sizes))
    follow = batch.bounds.fanouts_after_block(state)
    along = [_along(context, batch, tiles, d, follow, trip_rules[:, d], adjacent=False) for d in dims]
    codes = [np.zeros(0, dtype=np.int64)]
    for choice in batch.bounds.around_block(state):
        for rows, which in _pairs(context, batch, choice.far, along, tiles, below, choice.near):
            context.means.check()
            rows, which = (pair[_not_mirrored(context, batch, rows, tiles[which])] for pair in (rows, which))
            grown = GrownRows(rows, tiles[which], batch.costs[:, rows])
            hopeful = _pays_below(context, batch, state, choice, grown, below)
            codes.append((rows * len(tiles) + which)[hopeful])
    found = np.unique(np.concatenate(codes))
    for first in range(0, len(found), context.rows_at_once):
        rows, which = np.divmod(found[first : first + context.rows_at_once], len(tiles))
        yield rows, tiles[which]


class GrownRows(NamedTuple):
    """Rows of a batch, as often as they are tried, with a tile for each.

    rows   (rows,) which of the batch's
    tiles  (rows, dims)
    costs  (columns, rows) everything charged so far
    """

    rows: Ints
    tiles: Ints
    costs: Floats

    def take(self, index: Ints) -> GrownRows:
        return GrownRows(self.rows[index], self.tiles[index], self.costs[:, index])


def hopeful_below_block(context: SearchContext, batch: Batch, state: State, grown: GrownRows, below: float) -> Flags:
    """Whether rows stay below the cutoff if loops directly inside the first fanout come next, and these may pay;
    `state` is that above the tiles' node group."""
    found = np.zeros(len(grown.rows), dtype=bool)
    for choice in batch.bounds.around_block(state):
        rest = np.flatnonzero(~found)
        found[rest] = _pays_below(context, batch, state, choice, grown.take(rest), below)
    context.leave_aside("bound", len(found) - int(np.count_nonzero(found)))
    return found


def _pays_below(
    context: SearchContext, batch: Batch, state: State, choice: AroundBlock, grown: GrownRows, below: float
) -> Flags:
    """The same, if these loops charge some boundaries."""
    block, inside = state.block, batch.bounds.charges_inside
    assert block is not None
    hopeful = _below(context, batch, state, choice, grown, below, inside.roughly)
    rest, placement = np.flatnonzero(hopeful), batch.path.placement
    arrays = [array[grown.rows[rest]] for array in batch.rows.arrays]
    hopeful[rest] = context.blocks.may_pay_above(block, placement, arrays, grown.tiles[rest], choice.loops)
    rest = np.flatnonzero(hopeful)
    hopeful[rest] = _below(context, batch, state, choice, grown.take(rest), below, inside.by_windows)
    return hopeful


def _below(
    context: SearchContext,
    batch: Batch,
    state: State,
    choice: AroundBlock,
    grown: GrownRows,
    below: float,
    cost_of: Callable[[FirstCharge, BelowBlock], Floats],
) -> Flags:
    """Whether rows stay below the cutoff with some bound on what each boundary costs that the loops charge."""
    arrays, sizes, block = batch.rows.take(grown.rows), np.array(context.sizes, dtype=np.int64), state.block
    assert block is not None
    most, covered = _largest_below(context, batch.rows)[grown.rows], grown.tiles
    for array in arrays.arrays[: batch.bounds.fanouts_after_block(state)]:
        covered = np.minimum(covered * array, sizes)
    rest = grown.costs + batch.bounds.at(choice.far, covered, batch.member[grown.rows])
    rows = BelowBlock(block, context.model(batch.path), arrays, grown.tiles, most)
    costs_of = {charge: cost_of(charge, rows) for charge in set(itertools.chain.from_iterable(choice.orders))}
    found = np.zeros(len(grown.rows), dtype=bool)
    for order in choice.orders:
        costs = sum((costs_of[charge] for charge in order), rest)
        found |= context.value(costs, batch.steps[grown.rows]) < below
    return found


def _largest_below(context: SearchContext, arrays: Rows) -> Ints:
    """(rows, dims) the largest tiles that leave work for all instances of all arrays."""
    visit, one = context.visit, np.ones((len(arrays), len(context.sizes)), dtype=np.int64)
    sizes, needed = np.array(visit.sizes, dtype=np.int64), tiles_needed([one, *arrays.arrays], visit.perfect)
    # So many tiles at least: the largest one of which there are so many.
    ragged = np.where(needed > 1, (sizes - 1) // np.maximum(needed - 1, 1), sizes)
    return np.where(visit.perfect, sizes // needed, ragged)


def _hopeful(
    context: SearchContext, batch: Batch, tiles: Ints, trip_rules: Ints, below: float
) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of a row and one of some tiles, (tiles, dims)."""
    tables = batch.bounds.growing(batch.state, ())
    ((near, far),) = tables.tables[0]
    table, near = (near, None) if far is None else (far, near)
    assert table is not None
    follow = tables.fanouts
    along = [_along(context, batch, tiles, d, follow, trip_rules[:, d]) for d in range(len(context.sizes))]
    found: list[tuple[Ints, Ints]] = []
    for rows, which in _pairs(context, batch, table, along, tiles, below, near):
        context.means.check()
        kept = _not_mirrored(context, batch, rows, tiles[which])
        found.append((rows[kept], which[kept]))
        if sum(len(rows) for rows, _ in found) > context.rows_at_once:
            yield _joined(found, tiles)
            found = []
    if any(len(rows) for rows, _ in found):
        yield _joined(found, tiles)


def _joined(found: Sequence[tuple[Ints, Ints]], tiles: Ints) -> tuple[Ints, Ints]:
    rows, which = (np.concatenate([pair[i] for pair in found]) for i in range(2))
    return rows, tiles[which]


def _not_mirrored(context: SearchContext, batch: Batch, rows: Ints, tiles: Ints) -> Ints:
    """The pairs of a row and a tile, (pairs, dims), that do not come after their mirror images: where arrays are their
    own mirror images, tiles decide."""
    if context.mirror is None:
        return np.arange(len(rows))
    same = compared([array[rows] for array in batch.rows.arrays], context.mirror, len(rows)) == 0
    return np.flatnonzero(~(same & (compared([tiles], context.mirror, len(rows)) > 0)))


@dataclass(frozen=True)
class FittingTiles:
    """(tiles, dims) innermost tiles that some node group has room for; None if there are too many."""

    tiles: Ints | None

    @property
    def nbytes(self) -> int:
        return 0 if self.tiles is None else self.tiles.nbytes


def _fitting(
    context: SearchContext, batch: Batch, node_groups: Sequence[NodeGroup], memory: int, trip_rules: Ints
) -> Ints | None:
    """The innermost tiles that some node group has room for, of those that are tried with some of the arrays."""
    largest = context.largest(batch.state, node_groups)
    sizes = tuple(_sizes(context, memory, d, largest[d], trip_rules[:, d]) for d in range(len(context.sizes)))
    holders = tuple((group, context.hierarchy.residents(batch.state, group)) for group in node_groups)
    key = holders, tuple(map(tuple, sizes))
    return context.first_tiles.of(key, lambda: FittingTiles(_tiles_with_room(context, sizes, holders))).tiles


def _tiles_with_room(
    context: SearchContext, sizes: Sequence[Sequence[int]], holders: Sequence[tuple[NodeGroup, tuple[int, ...]]]
) -> Ints | None:
    """(tiles, dims) tiles of some sizes along each dimension that some node group has room for, with what its memory
    holds besides; None if there are too many."""
    tiles = np.ones((1, len(sizes)), dtype=np.int64)
    for d, along in enumerate(sizes):
        if len(tiles) * len(along) > 8 * context.effort.most_tiles:
            return None
        tiles = np.repeat(tiles, len(along), axis=0)
        tiles[:, d] = np.tile(along, len(tiles) // len(along))
        fits = np.zeros(len(tiles), dtype=bool)
        for node_group, residents in holders:
            fits |= context.footprints.leaves_room(residents, node_group, [], tiles)
        context.leave_aside("capacity", int(np.count_nonzero(~fits)))
        tiles = tiles[fits]
    return tiles if len(tiles) <= context.effort.most_tiles else None


def _sizes(context: SearchContext, memory: int, d: int, largest: int, trip_rules: Ints) -> list[int]:
    """Tiles along a dimension that a loop over single elements may make below some of the arrays."""
    most = min(context.limits.most_trips(memory, d), largest)
    different = trip_rules[_different(trip_rules.T)[0]].tolist()
    trips = set().union(*(context.trips(d, context.visit.sizes[d], largest, *rules) for rules in different))
    return [f for f in sorted(trips) if f <= most]


def _along(
    context: SearchContext, batch: Batch, tiles: Ints, d: int, follow: int, trip_rules: Ints, adjacent: bool = True
) -> _Along:
    """One dimension of all pairs; the first `follow` fanouts stand above the tile, directly if `adjacent`."""
    codes = tiles[:, d]
    first, picks = distinct(codes)
    sizes, arrays = codes[first], [array[:, d] for array in batch.rows.arrays]
    columns = np.array([*arrays, *trip_rules.T], dtype=np.int64).reshape(-1, len(batch))
    first, instances = _different(columns)
    choices = columns[:, first]
    counts, known = np.split(choices, [len(arrays)])
    lattice = batch.bounds.lattice
    stride, never = int(np.prod(lattice.shape[d + 1 :])), int(np.prod(lattice.shape))
    covered = np.minimum(np.multiply.outer(counts[:follow].prod(axis=0), sizes), context.sizes[d])
    fine = _leaves_room(context, sizes, counts, d, context.limits.spans(0)[d] if follow and adjacent else None)
    fine &= _tried(context, sizes, known, d)
    cells = np.where(fine, lattice.places[d][covered] * stride, never).astype(np.int32)
    return _Along(picks, cells, instances)


def _tried(context: SearchContext, sizes: Ints, known: Ints, d: int) -> Flags:
    """(choices, sizes) whether a loop over single elements is tried that makes each tile, by the trip rules of each
    choice, (rules, choices)."""
    first, which = _different(known)
    visited, largest = context.visit.sizes[d], int(sizes[-1])
    tried = np.zeros((len(first), largest + 1), dtype=bool)
    for row, rules in enumerate(known[:, first].T.tolist()):
        trips = context.trips(d, visited, largest, *rules)
        tried[row, [f for f in trips if f <= largest]] = True
    return tried[:, sizes][which]


def _different(columns: Ints) -> tuple[Ints, Ints]:
    """`distinct` of rows, given by their columns, (columns, rows), of which there may be none: perfect tilings have no
    trip rules."""
    return distinct(row_codes(list(columns)) if len(columns) else np.zeros(columns.shape[1], dtype=np.int64))


def _leaves_room(context: SearchContext, sizes: Ints, counts: Ints, d: int, spans: AxisSpans | None) -> Flags:
    """(choices, sizes) whether each tile leaves room for the instances of all fanouts to come, (fanouts, choices); and
    can be spread over those of the first one, where its axes are given."""
    size, tiling = context.visit.sizes[d], context.visit.tilings[d]
    perfect = tiling == "perfect"
    needed = tiles_needed([np.ones(counts.shape[1], dtype=np.int64), *counts], perfect)[:, None]
    left = ceil_div_array(size, sizes)
    fine: Flags = left % needed == 0 if perfect else left >= needed
    if spans is not None and not perfect:
        first, which = distinct(counts[0])
        spread = (spread_counts(tiles, spans, tiling, context.reduced_spread[d]) for tiles in left.tolist())
        fine &= np.array([[n in known for n in counts[0][first].tolist()] for known in spread])[:, which].T
    return fine


def _pairs(
    context: SearchContext,
    batch: Batch,
    table: Floats,
    along: Sequence[_Along],
    tiles: Ints,
    below: float,
    near: Floats | None = None,
) -> Iterator[tuple[Ints, Ints]]:
    """Rows and tiles, by their indices, that stay below the cutoff.

    table  bounds by the cells that the instances of a tile come to
    near   bounds by the tile, to be added
    """
    kept = np.arange(len(tiles)) if near is None else _hopeful_tiles(context, batch, table, tiles, below, near)
    count, picks = len(kept), [dim.picks[kept] for dim in along]
    tables = np.moveaxis(table.reshape(*table.shape[:2], -1), 1, 0)
    never = tables.shape[2]
    tables = np.concatenate([tables, np.full((*tables.shape[:2], 1), np.inf)], axis=2)
    flat, columns = tables.reshape(len(tables), -1), batch.bounds.columns
    at_once = max(1, min(context.effort.pairs_at_once, 8 * context.rows_at_once) // max(count, 1))
    for first in range(0, len(batch), at_once):
        rows = np.arange(first, min(first + at_once, len(batch)))
        # What not even the least of all these rows could add to is not looked at row by row.
        least = batch.costs[np.ix_(columns.chosen, rows)].min(axis=1, keepdims=True)
        fewest = np.full(flat.shape[1], batch.steps[rows].min())
        alive = columns.tables.objective(context.objective, least + flat, fewest) < below
        alive[never :: never + 1] = False  # even where the objective looks at no column that is infinite there
        cells = np.zeros((len(rows), count), dtype=np.int32)
        for dim, picked in zip(along, picks, strict=True):
            cells += np.take(dim.cells[dim.instances[rows]], picked, axis=1)
        np.minimum(cells, never, out=cells)
        if len(table) > 1:
            cells += (batch.member[rows, None] * (never + 1)).astype(np.int32)
        row, tile = np.nonzero(alive[cells])
        costs = batch.costs[:, rows[row]] + columns.in_rows(flat[:, cells[row, tile]])
        if near is not None:
            costs += batch.bounds.at(near, tiles[kept[tile]], batch.member[rows[row]])
        values = context.value(costs, batch.steps[rows[row]])
        fine = values < below
        context.leave_aside("bound", len(rows) * len(tiles) - int(np.count_nonzero(fine)))
        yield rows[row[fine]], kept[tile[fine]]


def _hopeful_tiles(
    context: SearchContext, batch: Batch, table: Floats, tiles: Ints, below: float, near: Floats
) -> Ints:
    """The tiles that stay below the cutoff with the least costs of all rows, and of all that may follow: no other one
    has to be looked at with each row."""
    if len(table) > 1:
        return np.arange(len(tiles))
    columns, member = batch.bounds.columns, np.zeros(len(tiles), dtype=np.int64)
    far = table.reshape(table.shape[1], -1).min(axis=1, keepdims=True)
    costs = batch.costs.min(axis=1, keepdims=True) + columns.in_rows(far) + batch.bounds.at(near, tiles, member)
    least: Ints = np.flatnonzero(context.value(costs, np.full(len(tiles), batch.steps.min())) < below)
    return least
