"""What it is worth to change the dataflow from layer to layer: the best one for all against the best for each.

The choice is made for the network as a whole (`choice.py`): of all ways to give every layer one of its dataflows, the
one for which the objective of all energy and all latency is least.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .choice import rows_of_choice
from .rows import FREE, ComparisonRows, Row
from .summaries import Totals, free_rows, tied_best, totals_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hybrid:
    """A network on an architecture.

    network, arch  their names
    single        the best fixed dataflow for all layers; None where none has a mapping for each
    single_value  its objective, in joules and seconds
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
    fixed = [dataflow for dataflow in comparison.dataflows if dataflow != FREE]
    singles = {dataflow: _value(comparison, comparison.of(network, arch, dataflow)) for dataflow in fixed}
    mapped = {dataflow: value for dataflow, value in singles.items() if value is not None}
    single = min(mapped, key=mapped.__getitem__) if mapped else None
    chosen = rows_of_choice(comparison, network, arch, fixed) or []
    value = _value(comparison, chosen)
    return Hybrid(
        network=network,
        arch=arch,
        single=single,
        single_value=mapped[single] if single else None,
        choice={row.layer: row.dataflow for row in chosen},
        hybrid_value=value,
        gain=mapped[single] / value if single and value else None,
        free_value=_value(comparison, free_rows(comparison, network, arch)),
        ties=tied_best(mapped.items()),
        compared=tuple(fixed),
    )


def _value(comparison: ComparisonRows, rows: Sequence[Row]) -> float | None:
    found: Totals | None = totals_of(comparison, rows) if rows else None
    return found.value if found else None
