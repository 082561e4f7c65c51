"""Which partial mappings need not be grown, since another one serves at least as well.

Of two rows of a batch, which have taken the same steps and wait for the same boundaries, one can stand for both when
everything further out costs both the same, and when it has cost no more so far in every column, takes no more time
steps, and no more room in any memory that is still to hold something.
"""

from __future__ import annotations

import numpy as np

from ..batch import Batch
from ..context import SearchContext
from ..counting.cost_columns import rounds_unequally
from ..hierarchy import MAC
from ..rows import Ints, distinct, row_codes


def comparable(context: SearchContext) -> bool:
    """Whether columns say enough to compare rows by."""
    return not (rounds_unequally(context.hierarchy.arch, context.tiling) or _has_averages(context))


def undominated(context: SearchContext, batch: Batch) -> Batch:
    """The batch without rows that another one stands for."""
    return batch.take(np.flatnonzero(standing_for(context, batch) < 0))


def standing_for(context: SearchContext, batch: Batch) -> Ints:
    """(rows,) a row that stands for each, which another one may stand for in turn; -1: none does."""
    found = np.full(len(batch), -1, dtype=np.int64)
    if len(batch) < 2 or not comparable(context):
        return found
    columns = [column for column in _future(context, batch) if column.max() > 1]
    _, alike = distinct(row_codes(columns or [np.zeros(len(batch), dtype=np.int64)]))
    room = (used[None].astype(np.float64) for used in _room_taken(context, batch))
    costs = np.concatenate([batch.costs, batch.steps[None], *room])
    order = np.lexsort((batch.costs[0], alike))
    alike, costs = alike[order], costs[:, order]
    costs = costs[1:][costs[1:].min(axis=1) < costs[1:].max(axis=1)]  # the first column rises, by order
    open_rows = np.arange(len(batch))
    for shift in range(1, context.effort.most_compared + 1):
        open_rows = open_rows[np.searchsorted(open_rows, shift) :]
        open_rows = open_rows[alike[open_rows] == alike[open_rows - shift]]
        if not len(open_rows):
            break
        beaten = (costs[:, open_rows - shift] <= costs[:, open_rows]).all(axis=0)
        found[order[open_rows[beaten]]] = order[open_rows[beaten] - shift]
        open_rows = open_rows[~beaten]
    return found


def _future(context: SearchContext, batch: Batch) -> list[Ints]:
    """Columns on which depends what everything further out costs."""
    return waiting_on(context, batch) if is_settled(context, batch) else _everything(context, batch)


def is_settled(context: SearchContext, batch: Batch) -> bool:
    """Whether all that has been charged is known for good, and time steps with it; and whether no constraint asks what
    loops there have been."""
    if batch.pending or batch.state.passed < len(context.hierarchy.fanouts):
        return False
    exact = any(memory.halo == "exact" for memory in context.hierarchy.memories[:-1])
    filling = context.hierarchy.arch.latency == "with_fill"
    limited = not batch.complete and context.limits.bounded(batch.state.loops_at)
    return not (exact or filling or limited)


def _has_averages(context: SearchContext) -> bool:
    """Whether columns of ports are averages over instances some of which have less to do than others: ports inside
    arrays, with ragged tiles, where the first instance need not be the busiest (`counting/first_instance.py`). The
    busiest one may then need more cycles where the average is lower, even with the same tiles and arrays, by the order
    of loops alone."""
    inside = context.hierarchy.memories[: max(context.hierarchy.inside, default=0)]
    if context.tiling == "perfect" or not any(port.memory in inside for port in context.costs.cost_columns.ports):
        return False
    windows = any(len(rank) > 1 for tensor in context.hierarchy.problem.tensors for rank in tensor.ranks)
    return windows or not context.costs.knows_busiest


def waiting_on(context: SearchContext, batch: Batch) -> list[Ints]:
    """The tile; and where something waits since further inside, the tiles from there on, and the arrays: how many
    instances have work in the last round depends on the tiles below them."""
    tiles, arrays, since = batch.rows.tiles, batch.rows.arrays, waiting_since(context, batch)
    parts = [*tiles[since:], *(arrays if since < len(tiles) - 1 else ())]
    return [column for part in parts for column in part.T]


def waiting_since(context: SearchContext, batch: Batch) -> int:
    """The innermost node group on whose tile depends what is still to be charged: that of a boundary which waits, with
    instances outside its inner memory, or bits of words that tiles decide. The last one, if there is none."""
    path, top = batch.path, len(batch.rows.tiles) - 1
    fanouts = context.hierarchy.inside
    inner = (
        path.node_group_of(boundary.inner, boundary.tensor)
        for boundary in batch.state.waiting
        if context.zeros is not None or any(inside > boundary.inner for inside in fanouts)
    )
    return min(inner, default=top)


def _everything(context: SearchContext, batch: Batch) -> list[Ints]:
    """The tile and the arrays; and where tiles overlap, along the dimensions of windows, all tiles inside; and tiles
    that decide how many bits the words take that are still to be counted.

    Ragged edges, words of memories with an exact halo, and times of first tiles, which are only bounded until the
    mapping is complete, depend on all tiles. So do costs that are not settled, and they depend on where they were
    charged too.
    """
    fill_points = [p.fill_point for p in batch.pending if p.fill_point is not None]
    tiles, arrays = batch.rows.tiles, batch.rows.arrays
    found = [column for part in (*tiles[-1:], *arrays, *(c.tile for c in fill_points)) for column in part.T]
    found += [c.slide[1] for c in fill_points if c.slide is not None]
    found += [column for tile in _deciding_bits(context, batch) for column in tile.T]
    windows = {
        context.footprints.index[dim]
        for tensor in context.hierarchy.problem.tensors
        for rank in tensor.ranks
        if len(rank) > 1
        for dim, _ in rank
    }
    exact = any(memory.halo == "exact" for memory in context.hierarchy.memories[:-1])
    filling = context.hierarchy.arch.latency == "with_fill"
    every_tile = exact or fill_points or filling or context.tiling == "ragged"
    inner = range(len(context.sizes)) if every_tile else sorted(windows)
    return [*found, *(tile[:, d] for tile in tiles[:-1] for d in inner)]


def _deciding_bits(context: SearchContext, batch: Batch) -> list[Ints]:
    """The tiles of holders, where the bits of words depend on them, of boundaries whose words are still to be counted,
    for the first time or again."""
    zeros, path, found = context.zeros, batch.path, dict[int, Ints]()
    if zeros is None:
        return []
    for boundary in (*batch.state.waiting, *(p.boundary for p in batch.pending)):
        for memory in (boundary.inner, boundary.outer):
            placed = memory != MAC and memory not in batch.state.ahead[boundary.tensor]
            if placed and zeros.depend_on_tiles(memory, boundary.tensor):
                group = path.node_group_of(memory, boundary.tensor)
                found[group] = batch.rows.tiles[group]
    return [*found.values()]


def _room_taken(context: SearchContext, batch: Batch) -> list[Ints]:
    """(rows,) bits taken in every memory that is still to hold something besides: in the uneven space the nodes of
    several memories may alternate."""
    found, node_groups = [], batch.path.node_groups
    for memory in sorted({b.memory for b in node_groups if any(b.memory in ahead for ahead in batch.state.ahead)}):
        held = [(t, batch.rows.tiles[k]) for k, b in enumerate(node_groups) if b.memory == memory for t in b.tensors]
        found += context.footprints.used(memory, held)
    return found
