"""What all steps of one search have in common."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ....cost_models import Objective
from ...effort import EFFORT, Effort
from ...means import Means
from ...tilings import Tiling
from ..bounds.bounds import Bounds
from ..bounds.groups import GroupBounds
from ..counting.charges import BoundaryCosts
from ..counting.fill_point import FillPoint
from ..counting.footprints import Footprints
from ..counting.traffic import TrafficModel
from ..counting.zeros import ZeroBounds
from ..question.hierarchy import MAC, Hierarchy, MemoryBoundary, NodeGroup, Path, State
from ..question.limits import SearchLimits
from ..rows import Floats, Ints, Rows
from ..table_memo import TableMemo
from ..tiles.symmetry import Mirror
from ..tiles.trip_rules import trip_rules, trips_tried, windows_of
from ..tiles.visits import VisitTiles
from .batch import Batch, Order


@dataclass
class SearchContext:
    """What all steps of a search have in common.

    visit   which tiles mappings are made of
    even    per dimension, see `tilings.linear_growth`
    looked_at  rows that were left aside so far
    orders  all loop orders met so far
    every_mapping  whether mappings are wanted that another one beats at every step: worse loop orders among them
    means   time and memory of the search
    effort      how the search goes about its work
    own_tables  whether every choice of arrays gets tables of its own before anything grows from it
    mirror  dimensions that may change places, so that one of two mirror images will do
    """

    hierarchy: Hierarchy
    footprints: Footprints
    bounds: Bounds
    costs: BoundaryCosts
    limits: SearchLimits
    objective: Objective
    visit: VisitTiles
    even: tuple[bool, ...]
    pruned: Counter[str]
    every_mapping: bool = False
    mirror: Mirror | None = None
    means: Means = Means()
    effort: Effort = EFFORT
    own_tables: bool = False
    looked_at: int = 0
    orders: list[Order] = field(default_factory=list)
    _order_numbers: dict[Order, int] = field(default_factory=dict)
    _gains: dict[int, list[float]] = field(default_factory=dict)
    _models: dict[Path, TrafficModel] = field(default_factory=dict)

    def add_little(self, level: int, gained: Floats, wanted: Floats) -> bool:
        """Whether finer tables than those of a level would add little: those of the level have not raised the bounds of
        a group much, of all that would have been wanted, or the next ones have not those of several groups."""
        own = float(gained.sum()), float(wanted.sum())
        totals = self._gains.setdefault(level, [0.0, 0.0, 0.0])
        for i, amount in enumerate((*(x / own[1] for x in own), 1.0) if own[1] > 0 else ()):
            totals[i] += amount
        gained_next, wanted_next, groups = self._gains.get(level + 1, (0.0, 0.0, 0.0))
        if groups >= self.effort.few and gained_next < self.effort.least_gain * wanted_next:
            return True
        return level > 0 and own[0] < self.effort.least_gain * own[1]

    def wants_finer(self, bounds: Bounds, since: int) -> bool:
        """Whether many rows have been looked at, for each cell of some bounds, since so many had been."""
        return self.looked_at - since > self.effort.looked_at_per_cell * math.prod(bounds.lattice.shape)

    @property
    def own_level(self) -> int:
        """Which of the lattices for groups of arrays single choices of arrays have when rows grow from them."""
        return min(1, len(self.bounds.lattice.for_groups) - 1)

    @cached_property
    def groups(self) -> GroupBounds:
        """Bounds for groups of alike arrays."""
        return GroupBounds(self.bounds, self.effort)

    @cached_property
    def first_tiles(self) -> TableMemo:
        """Innermost tiles, as long as there is room for them beside tables."""
        return self.bounds.memo.budget.memo()

    @property
    def zeros(self) -> ZeroBounds | None:
        """What those of operands leave; None: they have none."""
        return self.costs.cost_columns.zeros

    @property
    def many_arrays(self) -> bool:
        """Whether so many ragged arrays stand inside each other that what groups of them have in common says little of
        one: then bounds that know each row's arrays pay for the time that they take, and are kept as rows grow.
        Elsewhere a row's own bound, which may be lower, says better which of its siblings to grow first."""
        return self.tiling == "ragged" and len(self.hierarchy.fanouts) >= self.effort.many_arrays

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.bounds.lattice.sizes

    @property
    def tiling(self) -> Tiling:
        """How words are counted: as of perfect tiles where all are."""
        return self.visit.counted

    @cached_property
    def reduced_spread(self) -> tuple[bool, ...]:
        """Per dimension, whether only some counts of instances with as many rounds matter (`tiles/instances.py`).

        Not where instances keep parts of the same sum, and the last round is ragged: the fewer of them have work in it,
        the fewer have sums to get back. And not where they share windows: how many words depends on each one's tile.
        """
        problem, arch = self.hierarchy.problem, self.hierarchy.arch
        inside = self.hierarchy.memories[: max(self.hierarchy.inside, default=0)]
        keeps_sums = arch.first_read_elision and any(memory.keeps["output"] != "never" for memory in inside)
        windows = set(itertools.chain.from_iterable(windows_of(problem)))
        return tuple(
            even and d not in windows and not (keeps_sums and dim not in problem.output.dims)
            for d, (dim, even) in enumerate(zip(problem.dim_names, self.even, strict=True))
        )

    @cached_property
    def may_stand_further_out(self) -> bool:
        """Whether loops may change places with nodes that they do not move (`loop_band.py`): not where
        constraints or lines tell loops of one memory from those of the next, nor where each loop counts."""
        exact = any(memory.halo == "exact" for memory in self.hierarchy.memories)
        told_apart = self.costs.lines is not None or self.zeros is not None or not self.limits.constraints.is_free
        return not (exact or told_apart or self.every_mapping)

    @cached_property
    def rows_at_once(self) -> int:
        """Rows that are made at once, at most: with all that is worked out on the way, they take a small part of the
        memory."""
        tensors, levels = len(self.hierarchy.problem.tensors), len(self.hierarchy.arch.levels)
        numbers = (2 + tensors) * self.costs.cost_columns.count + (tensors + levels) * len(self.sizes) + 10
        return max(1, self.means.memory_limit // (24 * 8 * numbers))

    @property
    def pairs_at_once(self) -> int:
        """Pairs of a row and a tile that are looked at together: of each only a cell is worked out."""
        return 64 * self.rows_at_once

    def model(self, path: Path) -> TrafficModel:
        if path not in self._models:
            self._models[path] = TrafficModel(path)
        return self._models[path]

    def trip_rules(self, batch: Batch, node_groups: Sequence[NodeGroup]) -> Ints:
        """(rows, dims, 4) what makes longer loops pay in the band above a batch, that ends with one of some node
        groups; with perfect tiles nothing does: (rows, dims, 0)."""
        if self.tiling == "perfect":
            return np.zeros((len(batch), len(self.sizes), 0), dtype=np.int64)
        arrays, passed, hierarchy = batch.rows.arrays, batch.state.passed, self.hierarchy
        adjacent = all(hierarchy.at_fanout(hierarchy.place(batch.state, node_group, ())) for node_group in node_groups)
        return trip_rules(hierarchy.problem, arrays[:passed], arrays[passed:], len(batch), adjacent)

    def largest(self, state: State, node_groups: Sequence[NodeGroup]) -> Sequence[int]:
        """Per dimension, the largest tile that any of some node groups has room for."""
        if self.tiling == "perfect":
            return self.sizes
        return self.footprints.largest(
            tuple((node_group, self.hierarchy.residents(state, node_group)) for node_group in node_groups)
        )

    def trips(self, d: int, left: int, most: int, *known: int) -> Sequence[int]:
        """Trips of a loop worth trying where so many tiles remain, with ragged tiles up to some number; `known`: what
        its row's `trip_rules` says."""
        return trips_tried(left, most, self.visit.tilings[d], self.even[d], *known)

    def order_number(self, order: Order) -> int:
        if order not in self._order_numbers:
            self._order_numbers[order] = len(self.orders)
            self.orders.append(order)
        return self._order_numbers[order]

    def value(self, costs: Floats, steps: Floats) -> Floats:
        """(rows,) objective of complete columns; of bounds, a bound."""
        return self.costs.cost_columns.objective(self.objective, costs, steps)

    def below(self, values: Floats, cutoff: float, rule: str = "bound") -> np.ndarray:
        """Flags of the rows whose bound lies below the cutoff; the others are counted as pruned."""
        keep = values < cutoff
        self.leave_aside(rule, len(keep) - int(np.count_nonzero(keep)))
        return keep

    def leave_aside(self, rule: str, count: int) -> None:
        """Count rows that are left aside: for the certificate, and as a measure of work."""
        self.pruned[rule] += count
        self.looked_at += count

    def only_bounded(self, boundary: MemoryBoundary, passed: int, below: bool = False) -> bool:
        """Whether what a boundary costs is only bounded as long as fanouts are still to be passed (`traffic.py`).

        below  whether it was charged below a fanout that has been passed: the words of windows remain bounds then
        """
        if self.costs.lines is not None and self.costs.lines.are_counted(boundary):
            return True
        windows = any(len(rank) > 1 for rank in self.hierarchy.problem.tensors[boundary.tensor].ranks)
        if windows and below:
            return True
        later = range(passed, len(self.hierarchy.fanouts))
        if self._parts_may_idle(boundary, later) or self._loads_may_differ(boundary, later):
            return True
        bounded = windows or self.tiling == "ragged"
        return bounded and any(self.hierarchy.joins(fanout, boundary) for fanout in later)

    def _parts_may_idle(self, boundary: MemoryBoundary, later: range) -> bool:
        """Whether fanouts to come may have instances without any part of a sum, which is known once they are passed:
        only where several of them share a ragged dimension."""
        if self.tiling == "perfect" or not self.hierarchy.problem.tensors[boundary.tensor].is_output:
            return False
        memory = boundary.outer if boundary.inner == MAC else boundary.inner
        return len(self.hierarchy.fanouts) > 1 and any(self.hierarchy.inside[fanout] > memory for fanout in later)

    def _loads_may_differ(self, boundary: MemoryBoundary, later: range) -> bool:
        """Whether how much the busiest instance of a holder has to do is known once fanouts to come are passed."""
        holders = [memory for memory in boundary[1:] if self.costs.loads_differ(memory)]
        return any(
            self.hierarchy.inside[fanout] > memory and self.hierarchy.fanouts[fanout].instances > 1
            for memory in holders
            for fanout in later
        )

    def book(
        self, path: Path, rows: Rows, boundary: MemoryBoundary, fill_point: FillPoint | None, exactly: bool = False
    ) -> Floats:
        """(columns, rows) what a boundary costs, as far as that is known; `exactly`: as `TrafficModel.served` can."""
        return self.costs.of(self.model(path), rows, boundary, fill_point, exactly)
