"""Where a search stands that ends before its proof is complete: what is open with the lowest bound."""

from __future__ import annotations

import numpy as np

from ....ir import Mapping
from ...certificate import Ended, OpenPart
from ...kernel.frontier import Frontier
from ...means import Means, OutOfMeans
from ..bounds.once import OnceEach, uncharged
from ..growing.array_choices import ArrayChoices, ArrayPlans
from ..growing.batch import Batch
from ..growing.context import SearchContext
from ..growing.placements import OpenPlacement
from ..rows import Floats
from .found import FoundMapping
from .open_items import Open, OpenItem


def open_part(
    context: SearchContext, frontier: Frontier[Mapping], best: FoundMapping, ended: Ended, means: Means
) -> OpenPart | None:
    """Describe what is open with the lowest bound, beside the best mapping; None if nothing is open, or if all costs
    nothing.

    means  to tell it with: time to make tables again that are gone
    """
    state = frontier.lowest
    if not isinstance(state, OpenItem) or not best.value:
        return None
    item = state.item
    energy, charged, latency = _least(context, item, best, means)
    return OpenPart(
        ended=ended,
        bound=frontier.bound / best.value,
        memories=_memories(context, item),
        arrays=_arrays(context, item),
        tiles=_tiles(item),
        energy=energy,
        charged=charged,
        latency=latency,
        below=frontier.open_below(0.99 * best.value),  # not what would gain next to nothing
    )


def _memories(context: SearchContext, item: Open) -> tuple[int, int]:
    tensors = len(context.hierarchy.problem.tensors)
    return len(item.chains) if isinstance(item, OpenPlacement) else tensors, tensors


def _arrays(context: SearchContext, item: Open) -> tuple[int, int]:
    return 0 if isinstance(item, OpenPlacement) else len(item.rows.arrays), len(context.hierarchy.fanouts)


def _tiles(item: Open) -> tuple[int, int]:
    """Count the tiles that are chosen, of those of memories that do not keep a tensor as a whole, as its home does."""
    if not isinstance(item, Batch):
        return 0, 0
    nodes = sum(len(held) - 1 for held in item.path.placement)
    return min(nodes, sum(len(group.tensors) for group in item.path.node_groups)), nodes


def _least(
    context: SearchContext, item: Open, best: FoundMapping, means: Means
) -> tuple[float | None, float | None, float | None]:
    """Return the least energy of the first row, the charged part of it, and its least latency, over those of the best
    mapping; None for each that the best mapping has none of."""
    if isinstance(item, OpenPlacement) or not best.cost.energy_pj:
        return None, None, None
    row = item.take(slice(1))
    try:
        with context.bounds.memo.budget.under(means):
            charged, ahead, steps = _columns(context, row)
    except OutOfMeans:  # its tables are gone, and there is no time to make them again
        return None, None, None
    columns, energy, latency = context.costs.cost_columns, best.cost.energy_pj, best.cost.latency_cycles
    least = columns.latency(charged + ahead, steps)
    total = (charged + ahead)[0] + columns.leaked(least)
    return float(total[0]) / energy, float(charged[0, 0]) / energy, float(least[0]) / latency


def _columns(context: SearchContext, row: ArrayChoices | Batch) -> tuple[Floats, Floats, Floats]:
    """Return (columns, 1) what is charged, what is still to come at least, and (1,) time steps."""
    if isinstance(row, Batch):
        return row.costs, _ahead(context, row), row.steps
    return np.zeros_like(row.costs), row.costs, ArrayPlans(context).least_steps(row.rows)


def _ahead(context: SearchContext, row: Batch) -> Floats:
    """Bound (columns, 1) what is still to come."""
    if row.complete:
        return np.zeros_like(row.costs)
    tile = context.model(row.path).loops.array_tile(row.rows, row.path.band)
    ahead = row.bounds.at(row.bounds.table(row.state), tile, row.member)
    if not context.many_arrays and row.path.node_groups:  # rows that have grown are not bounded so
        return ahead
    return np.maximum(ahead, OnceEach(row.bounds, context.tiling, row.rows).of_all(uncharged(row.state)))
