"""What it is worth to change the dataflow from layer to layer: the best one for all against the best for each.

The choice is made for the network as a whole: of all ways to give every layer one of its dataflows, the one for which
the objective of all energy and all latency is least. With EDP that need not be the best EDP of every single layer. The
layers are joined one by one; of the sums so far, those that another one beats in both energy and latency are dropped.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...cost_models import Objective
from .rows import FREE, ComparisonRows, Row
from .summaries import network_objective, tied_best, totals

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hybrid:
    """A network on an architecture.

    network, arch  their names
    single        the best fixed dataflow for all layers; None where none has a mapping for each
    single_value  its objective
    choice        the best fixed dataflow for each layer, by its name
    hybrid_value  the objective of that choice; None where a layer has no mapping under any of them
    ties          all dataflows for all layers that cost about as little as the best
    gain          how many times as much the best single dataflow costs; 1 or more
    free_value    the objective without any dataflow, if it was asked for
    compared      all fixed dataflows
    """

    network: str
    arch: str
    single: str | None
    single_value: float | None
    choice: Mapping[str, str]
    hybrid_value: float | None
    gain: float | None
    free_value: float | None
    ties: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()

    @property
    def makes_no_difference(self) -> bool:
        """Whether every fixed dataflow costs about the same, and there are several."""
        return len(self.compared) > 1 and len(self.ties) == len(self.compared)


def hybrids(comparison: ComparisonRows) -> tuple[Hybrid, ...]:
    """As `Comparison.hybrids`."""
    places = itertools.product(comparison.networks, comparison.archs)
    return tuple(_hybrid(comparison, network, arch) for network, arch in places)


def _hybrid(comparison: ComparisonRows, network: str, arch: str) -> Hybrid:
    objective = comparison.settings.objective
    fixed = [dataflow for dataflow in comparison.dataflows if dataflow != FREE]
    singles = {dataflow: _value(objective, comparison.of(network, arch, dataflow)) for dataflow in fixed}
    mapped = {dataflow: value for dataflow, value in singles.items() if value is not None}
    single = min(mapped, key=mapped.__getitem__) if mapped else None
    free = _value(objective, comparison.of(network, arch, FREE)) if FREE in comparison.dataflows else None
    options = _options([comparison.of(network, arch, dataflow) for dataflow in fixed])
    chosen = best_choice(objective, options) if options and all(options) else []
    value = _value(objective, chosen) if chosen else None
    return Hybrid(
        network=network,
        arch=arch,
        single=single,
        single_value=mapped[single] if single else None,
        choice={row.layer: row.dataflow for row in chosen},
        hybrid_value=value,
        gain=mapped[single] / value if single and value else None,
        free_value=free,
        ties=tied_best(mapped.items()),
        compared=tuple(fixed),
    )


def _options(columns: Sequence[Sequence[Row]]) -> list[list[Row]]:
    """For every layer, its rows that have a mapping."""
    return [[row for row in rows if row.cost is not None] for rows in zip(*columns, strict=True)]


def _value(objective: Objective, rows: Sequence[Row]) -> float | None:
    pairs = [(row.repeat, row.cost) for row in rows if row.cost is not None]
    return totals(objective, pairs).value if rows and len(pairs) == len(rows) else None


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
