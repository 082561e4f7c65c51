"""The innermost tiles, for many arrays at once.

Where nothing is placed yet, every row starts from a single element: rows differ in their arrays only, and the tiles
that fit are the same for all of them. What follows is bounded by a cell of the lattice, whose place along each
dimension depends on the tile and the instances along that dimension alone. So all pairs of a row and a tile are looked
at in a few passes over whole numbers, and hardly any of them is left to be costed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..question.hierarchy import NodeGroup
from ..rows import Flags, Floats, Ints, ceil_div_array, distinct, row_codes
from ..tiles.instances import AxisSpans, spread_counts, tiles_needed
from ..tiles.symmetry import compared
from .batch import Batch
from .context import SearchContext


@dataclass(frozen=True)
class _Along:
    """One dimension of all pairs of a row and a tile.

    picks      (tiles,) which of the tiles along it, ascending, each of the tiles that fit has
    cells      (choices, tiles along it) place in the flattened lattice that a tile and the instances above it come to;
               too large a number where the axes cannot spread them so
    instances  (rows,) which of the choices each row has
    """

    picks: Ints
    cells: npt.NDArray[np.int32]
    instances: Ints


def first_tiles(
    context: SearchContext,
    batch: Batch,
    node_groups: Sequence[NodeGroup],
    memory: int,
    below: float,
    dims: Sequence[int],
) -> Iterator[tuple[Ints, Ints]] | None:
    """Yield all pairs of a row, as its index, and an innermost tile, (dims,), that may lead to something below the
    cutoff; in parts.

    memory  whose loops grow the tile
    dims    along which it grows

    None: more tiles fit than can be tried.
    """
    trip_rules = context.trip_rules(batch, node_groups)
    tiles = _fitting(context, batch, node_groups, memory, trip_rules, dims)
    if tiles is None:
        return None
    if not len(tiles):
        return iter(())
    return _hopeful(context, batch, tiles, trip_rules, below)


def _hopeful(
    context: SearchContext, batch: Batch, tiles: Ints, trip_rules: Ints, below: float
) -> Iterator[tuple[Ints, Ints]]:
    """Yield the pairs of a row and one of some tiles, (tiles, dims), that stay below the cutoff."""
    tables = batch.bounds.growing(batch.state, ())
    near, far = tables.near[0], tables.far[0]
    table, near = (near, None) if far is None else (far, near)
    assert table is not None
    follow = tables.fanouts
    along = [_along(context, batch, tiles, d, follow, trip_rules[:, d]) for d in range(len(context.sizes))]
    found: list[tuple[Ints, Ints]] = []
    bounds = _PairBounds.of(batch, tiles, table, near)
    for rows, which in _pairs(context, batch, bounds, along, tiles, below):
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
    """Keep the pairs of a row and a tile, (pairs, dims), that do not come after their mirror images: where arrays are
    their own mirror images, tiles decide."""
    if context.mirror is None:
        return np.arange(len(rows))
    same = compared([array[rows] for array in batch.rows.arrays], context.mirror, len(rows)) == 0
    return np.flatnonzero(~(same & (compared([tiles], context.mirror, len(rows)) > 0)))


@dataclass(frozen=True)
class FittingTiles:
    """Innermost tiles (tiles, dims) that fit some node group; None if there are too many."""

    tiles: Ints | None

    @property
    def nbytes(self) -> int:
        return 0 if self.tiles is None else self.tiles.nbytes


def _fitting(
    context: SearchContext,
    batch: Batch,
    node_groups: Sequence[NodeGroup],
    memory: int,
    trip_rules: Ints,
    dims: Sequence[int],
) -> Ints | None:
    """Return the innermost tiles that fit some node group, of those that are tried with some of the arrays."""
    largest = context.largest(batch.state, node_groups)
    sizes = tuple(
        _sizes(context, memory, d, largest[d], trip_rules[:, d]) if d in dims else [1]
        for d in range(len(context.sizes))
    )
    holders = tuple((group, context.hierarchy.residents(batch.state, group)) for group in node_groups)
    key = holders, tuple(map(tuple, sizes))
    return context.first_tiles.of(key, lambda: FittingTiles(_tiles_with_room(context, sizes, holders))).tiles


def _tiles_with_room(
    context: SearchContext, sizes: Sequence[Sequence[int]], holders: Sequence[tuple[NodeGroup, tuple[int, ...]]]
) -> Ints | None:
    """Combine some sizes along each dimension to the tiles (tiles, dims) that fit some node group beside what its
    memory holds; None if there are too many."""
    tiles = np.ones((1, len(sizes)), dtype=np.int64)
    for d, along in enumerate(sizes):
        if len(tiles) * len(along) > 8 * context.effort.many:
            return None
        tiles = np.repeat(tiles, len(along), axis=0)
        tiles[:, d] = np.tile(along, len(tiles) // len(along))
        fits = np.zeros(len(tiles), dtype=bool)
        for node_group, residents in holders:
            fits |= context.footprints.leaves_room(residents, node_group, [], tiles)
        context.leave_aside("capacity", int(np.count_nonzero(~fits)))
        tiles = tiles[fits]
    return tiles if len(tiles) <= context.effort.many else None


def _sizes(context: SearchContext, memory: int, d: int, largest: int, trip_rules: Ints) -> list[int]:
    """Return the sizes along a dimension that a loop over single elements may make below some of the arrays."""
    most = min(context.limits.most_trips(memory, d), largest)
    different = trip_rules[_different(trip_rules.T)[0]].tolist()
    trips = set().union(*(context.trips(d, context.visit.sizes[d], largest, *rules) for rules in different))
    return [f for f in sorted(trips) if f <= most]


def _along(context: SearchContext, batch: Batch, tiles: Ints, d: int, follow: int, trip_rules: Ints) -> _Along:
    """One dimension of all pairs; the first `follow` fanouts stand directly above the tile."""
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
    fine = _leaves_room(context, sizes, counts, d, context.limits.spans(0)[d] if follow else None)
    fine &= _tried(context, sizes, known, d)
    cells = np.where(fine, lattice.places[d][covered] * stride, never).astype(np.int32)
    return _Along(picks, cells, instances)


def _tried(context: SearchContext, sizes: Ints, known: Ints, d: int) -> Flags:
    """Tell (choices, sizes) whether a loop over single elements is tried that makes each tile, by the trip rules of
    each choice, (rules, choices)."""
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
    """Tell (choices, sizes) whether each tile leaves room for the instances of all fanouts to come, (fanouts, choices),
    and can be spread over those of the first fanout, where its axes are given."""
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


@dataclass(frozen=True)
class _PairBounds:
    """Bounds on pairs of a row and a tile, by the cell that its instances come to.

    flat   (columns of tables, groups x cells) the cells, and after those of each group one that is not tried
    near   bounds by the tile, to be added
    least  (columns of tables, 1) what these are at least
    """

    flat: Floats
    near: Floats | None
    least: Floats

    @classmethod
    def of(cls, batch: Batch, tiles: Ints, table: Floats, near: Floats | None) -> _PairBounds:
        tables = np.moveaxis(table.reshape(*table.shape[:2], -1), 1, 0)
        flat = np.concatenate([tables, np.full((*tables.shape[:2], 1), np.inf)], axis=2).reshape(len(tables), -1)
        if near is None:
            return cls(flat, None, np.zeros((len(tables), 1)))
        of_tiles = near.min(axis=0).reshape(len(tables), -1)[:, batch.bounds.lattice.cell(tiles)]
        return cls(flat, near, of_tiles.min(axis=1, keepdims=True))

    def hopeful(self, context: SearchContext, batch: Batch, rows: Ints, never: int, below: float) -> Flags:
        """Tell (groups x cells,) where the least of all that some rows cost stays below the cutoff."""
        columns = batch.bounds.columns
        costs = batch.costs[np.ix_(columns.chosen, rows)].min(axis=1, keepdims=True)
        fewest = np.full(self.flat.shape[1], batch.steps[rows].min())
        values = (costs + self.least) + self.flat
        found: Flags = columns.tables.objective(context.objective, values, fewest) < below
        found[never :: never + 1] = False  # even where the objective looks at no column that is infinite there
        return found


def _pairs(
    context: SearchContext, batch: Batch, bounds: _PairBounds, along: Sequence[_Along], tiles: Ints, below: float
) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rows and tiles, by their indices, that stay below the cutoff."""
    count, columns, never = len(tiles), batch.bounds.columns, math.prod(batch.bounds.lattice.shape)
    at_once = max(1, context.pairs_at_once // max(count, 1))
    for first in range(0, len(batch), at_once):
        rows = np.arange(first, min(first + at_once, len(batch)))
        places = np.zeros((len(rows), count), dtype=np.int32)
        for dim in along:
            places += np.take(dim.cells[dim.instances[rows]], dim.picks, axis=1)
        np.minimum(places, never, out=places)
        if bounds.flat.shape[1] > never + 1:  # each group of arrays has cells of its own
            places += (batch.member[rows, None] * (never + 1)).astype(np.int32)
        hopeful = bounds.hopeful(context, batch, rows, never, below)
        found = np.nonzero(hopeful[places])
        context.leave_aside("bound", places.size - len(found[0]))
        for part in range(0, len(found[0]), 8 * context.rows_at_once):
            row, tile = (pair[part : part + 8 * context.rows_at_once] for pair in found)
            costs = batch.costs[:, rows[row]] + columns.in_rows(bounds.flat[:, places[row, tile]])
            if bounds.near is not None:
                costs += batch.bounds.at(bounds.near, tiles[tile], batch.member[rows[row]])
            fine = np.flatnonzero(context.below(context.value(costs, batch.steps[rows[row]]), below))
            yield rows[row[fine]], tile[fine]
