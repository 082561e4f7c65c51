"""Which effects that the model leaves out would order the measured mappings of `reality.py` better, and by how much.

    python benchmarks/reality_effects.py results/cpu      # from the table that reality.py has written; nothing is timed

Each prediction is a formula of figures that the model counts for a mapping, written as a small change of another one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from reality_page import Measured, layers_of, read_table, spearman

import tilewright as tw
from tilewright.cost_models import Cost, evaluate
from tilewright.ir import Loop, LoopNest, Mapping, Node

CACHES = ("L1", "L2", "L3", "DRAM")
VECTOR, UNITS, ADD_CYCLES = 16, 2, 4
"""Lanes of a vector, multiply-adds a cycle, and cycles until a sum can be added to again (architecture `cpu`)."""
OVERHEAD_CYCLES = 1
"""For each visit of a register tile: the loops around it."""


@dataclass(frozen=True)
class Counted:
    """What the model says of a measured mapping; with lines, each cache moves whole lines of row-major arrays."""

    mapping: Mapping
    cost: Cost
    lined: Cost

    @property
    def macs(self) -> int:
        return self.mapping.problem.macs

    @property
    def full_lanes(self) -> float:
        """Cycles of the MACs if the compiler fills the lanes that the mapping leaves empty."""
        return self.macs / (VECTOR * UNITS)

    @property
    def _register_loops(self) -> list[Loop]:
        items = self.mapping.nest.items
        last = max(i for i, item in enumerate(items) if isinstance(item, Node))
        return [item for item in items[last:] if isinstance(item, Loop)]

    @property
    def register_visits(self) -> float:
        """Register tiles that the program steps over."""
        return self.macs / math.prod(loop.trips for loop in self._register_loops)

    @property
    def chained(self) -> float:
        """Cycles of full vectors of MACs that wait for the sums that they add to, where there are few."""
        sums = self.mapping.problem.output.dims
        independent = math.prod(x.trips for x in self._register_loops if x.dim in sums and not x.is_spatial)
        return self.full_lanes * max(1.0, UNITS * ADD_CYCLES / independent)


def cycles(cost: Cost) -> list[float]:
    """Of the ports of each cache."""
    return [use.cycles for use in cost.memories if use.name in CACHES]


EFFECTS: dict[str, Callable[[Counted], float]] = {
    "the model: the slowest of MACs and of every cache": lambda c: c.cost.latency_cycles,
    "caches take turns: the MACs, or all caches together": lambda c: max(c.cost.compute_cycles, sum(cycles(c.cost))),
    "and the compiler fills empty lanes": lambda c: max(c.full_lanes, sum(cycles(c.cost))),
    "and each visit of a register tile takes a cycle more": lambda c: (
        max(c.full_lanes, sum(cycles(c.cost))) + OVERHEAD_CYCLES * c.register_visits
    ),
    "instead: sums wait for each other": lambda c: max(c.full_lanes, sum(cycles(c.cost))) + c.chained,
    "instead: whole lines of 64 bytes, row-major": lambda c: max(c.full_lanes, sum(cycles(c.lined))),
}


def counted(rows: Sequence[Measured]) -> list[Counted]:
    """The model's figures of measured mappings."""
    lines = {f"{name}.line": "64 B" for name in CACHES}
    sizes = dict.fromkeys(("L1.size", "L2.size", "L3.size"), "1 GiB")  # lines of tiles may take more room than words
    plain, lined = tw.load_arch("cpu"), tw.load_arch("cpu", set={**lines, **sizes})
    found = []
    for row in rows:
        mapping = Mapping(tw.load_layer(row.layer), LoopNest.parse(row.nest.replace("; ", "\n")))
        found.append(Counted(mapping, evaluate(mapping, plain), evaluate(mapping, lined)))
    return found


def correlations(rows: Sequence[Measured]) -> Iterator[tuple[str, list[float]]]:
    """For each prediction, its rank correlation with measured time, by layer."""
    layers = [(counted(layer.rows), [row.measured_s for row in layer.rows]) for layer in layers_of(rows)]
    for name, predicted in EFFECTS.items():
        yield name, [spearman([predicted(one) for one in every], measured) for every, measured in layers]


def table(rows: Sequence[Measured]) -> Iterator[str]:
    """The same in Markdown."""
    yield "| prediction | median | mean | least | most |"
    yield "|---|---|---|---|---|"
    for name, found in correlations(rows):
        figures = (np.median(found), np.mean(found), min(found), max(found))
        yield f"| {name} | {' | '.join(f'{figure:.2f}' for figure in figures)} |"


if __name__ == "__main__":
    print("\n".join(table(read_table(Path(sys.argv[1])))))
