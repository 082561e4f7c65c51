"""The best choice of one mapping for every layer: what is least is the objective of the network as a whole.

With EDP that need not be the best EDP of every single layer. The layers are joined one by one; of the sums so far,
those that another one beats in both energy and latency are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...cost_models import Objective
from ..parts.si import network_objective
from .rows import ComparisonRows, Row

Floats = npt.NDArray[np.float64]


def rows_of_choice(comparison: ComparisonRows, network: str, arch: str, dataflows: Sequence[str]) -> list[Row] | None:
    """For every layer of a network on a machine one of its rows under some dataflows, such that the network is best;
    None where a layer has no mapping under any of them."""
    columns = [comparison.of(network, arch, dataflow) for dataflow in dataflows]
    options = [[row for row in rows if row.cost is not None] for rows in zip(*columns, strict=True)]
    return best_choice(comparison.settings.objective, options) if options and all(options) else None


def best_choice(objective: Objective, options: Sequence[Sequence[Row]]) -> list[Row]:
    """One row for every layer, such that the objective of the sums of energy and latency is least.

    options  for every layer one or more rows with a mapping
    """
    goal = network_objective(objective)
    figures = [np.array([_figures(row) for row in rows]) for rows in options]
    least_left = _least_left(figures)
    # By the least of each layer alone: whatever it costs, nothing above it need be looked at.
    greedy = [rows[int(np.argmin(goal.value(f[:, 0], f[:, 1])))] for rows, f in zip(options, figures, strict=True)]
    energy, latency = np.array([_figures(row) for row in greedy]).sum(axis=0).tolist()
    limit = goal.value(energy, latency)
    sums, paths = np.zeros((1, 2)), np.zeros((1, 0), dtype=np.int16)
    for found, left in zip(figures, least_left, strict=True):
        grown = (sums[:, None, :] + found[None, :, :]).reshape(-1, 2)
        origin, taken = np.divmod(np.arange(len(grown)), len(found))
        promising = goal.value(grown[:, 0] + left[0], grown[:, 1] + left[1]) <= limit * (1 + 1e-12)
        kept = np.flatnonzero(promising)[_front(grown[promising])]
        sums = grown[kept]
        paths = np.column_stack([paths[origin[kept]], taken[kept]])
    best = int(np.argmin(goal.value(sums[:, 0], sums[:, 1])))
    return [rows[int(i)] for rows, i in zip(options, paths[best], strict=True)]


def _figures(row: Row) -> tuple[float, float]:
    assert row.cost is not None
    return row.repeat * row.cost.energy_pj, row.repeat * row.cost.latency_cycles


def _least_left(figures: Sequence[Floats]) -> list[Floats]:
    """For every layer, the least energy and the least latency of all layers after it."""
    least = [f.min(axis=0) for f in figures]
    return [sum(least[i + 1 :], start=np.zeros(2)) for i in range(len(least))]


def _front(points: Floats) -> npt.NDArray[np.intp]:
    """Indices of the points that no other one beats in both coordinates."""
    order = np.lexsort((points[:, 1], points[:, 0]))
    seconds = points[order, 1]
    better = np.concatenate([[True], seconds[1:] < np.minimum.accumulate(seconds)[:-1]])
    front: npt.NDArray[np.intp] = order[better]
    return front
