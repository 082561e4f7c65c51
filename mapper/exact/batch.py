"""Partial mappings that have taken the same steps, with what they cost so far."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...cost_models import Objective
from ..tilings import Tiling
from .bounds.bounds import Bounds
from .bounds.groups import GroupBounds
from .charge import Charge
from .footprints import Footprints
from .hierarchy import MAC, Block, Crossing, Hierarchy, Path, State
from .ledger import CrossingCosts
from .limits import SearchLimits
from .loose_trips import looseness, trips_tried, windows_of
from .rows import Floats, Index, Ints, Rows, taken
from .symmetry import Mirror
from .traffic import TrafficModel

LEAST_GAIN = 0.1
"""Part of the way to the cutoff by which finer tables have to raise bounds for still finer ones to be made."""

GROUPS_TRIED = 8
"""Groups of arrays for which finer tables are tried before it is said that they add little."""

Order = tuple[str, ...]
"""Dimensions of a gap, innermost loop first."""


@dataclass
class Pending:
    """A crossing that has been charged, while its costs are only bounded until fanouts are passed.

    charge  None for a crossing at the MAC
    costs   (columns, rows) what it is booked at: a bound
    """

    crossing: Crossing
    charge: Charge | None
    costs: Floats

    @property
    def slides_along(self) -> int | None:
        return None if self.charge is None or self.charge.slide is None else self.charge.slide[0]

    def take(self, index: Index) -> Pending:
        charge = None if self.charge is None else self.charge.take(index)
        return Pending(self.crossing, charge, taken(self.costs, index, axis=1))


@dataclass
class Batch:
    """Rows of one path, sorted by bound.

    bounds  tables that hold for the rows' arrays
    member  (rows,) the group of arrays that each row belongs to, of those that `bounds` hold for
    costs   (columns, rows) of everything charged
    steps   (rows,) time steps, with fanouts further out in full use
    bound   (rows,) objective that no completion undercuts
    orders  (rows, gaps done) the loop order of each gap, as an index into `Growth.orders`
    group   where constraints order the loops of a memory, the group that loops may now come from; None: the innermost
    """

    path: Path
    state: State
    bounds: Bounds
    member: Ints
    rows: Rows
    costs: Floats
    steps: Floats
    bound: Floats
    orders: Ints
    pending: list[Pending]
    group: int | None = None

    def take(self, index: Index) -> Batch:
        return Batch(
            self.path,
            self.state,
            self.bounds,
            taken(self.member, index),
            self.rows.take(index),
            taken(self.costs, index, axis=1),
            taken(self.steps, index),
            taken(self.bound, index),
            taken(self.orders, index),
            [p.take(index) for p in self.pending],
            self.group,
        )

    def sorted(self) -> Batch:
        return self.take(np.argsort(self.bound, kind="stable"))

    def __len__(self) -> int:
        return len(self.bound)

    @property
    def unsettled(self) -> bool:
        """Whether costs are only bounded although all fanouts have been passed."""
        return bool(self.pending) and self.state.passed == len(self.path.hierarchy.fanouts)

    @property
    def complete(self) -> bool:
        """Whether the rows are mappings."""
        return not any(self.state.ahead)


def merged(pieces: Sequence[Batch]) -> Batch:
    """One batch of several with the same path and state, sorted by bound."""
    if len(pieces) == 1:
        return pieces[0].sorted()
    first = pieces[0]
    rows = Rows(
        sum(len(p) for p in pieces),
        [np.concatenate(t) for t in zip(*(p.rows.tiles for p in pieces), strict=True)],
        [np.concatenate(a) for a in zip(*(p.rows.arrays for p in pieces), strict=True)],
    )
    return Batch(
        first.path,
        first.state,
        first.bounds,
        np.concatenate([p.member for p in pieces]),
        rows,
        np.concatenate([p.costs for p in pieces], axis=1),
        np.concatenate([p.steps for p in pieces]),
        np.concatenate([p.bound for p in pieces]),
        np.concatenate([p.orders for p in pieces]),
        [_merged_pending([p.pending[i] for p in pieces]) for i in range(len(first.pending))],
        first.group,
    ).sorted()


def _merged_pending(pieces: Sequence[Pending]) -> Pending:
    first = pieces[0]
    costs = np.concatenate([p.costs for p in pieces], axis=1)
    if first.charge is None:
        return Pending(first.crossing, None, costs)
    tiles = np.concatenate([p.charge.tile for p in pieces if p.charge])
    slide = None
    if first.charge.slide is not None:
        slide = (
            first.charge.slide[0],
            np.concatenate([p.charge.slide[1] for p in pieces if p.charge and p.charge.slide]),
        )
    return Pending(first.crossing, Charge(first.charge.gap, tiles, slide), costs)


@dataclass
class Growth:
    """What all steps of a search have in common.

    even    per dimension, see `tilings.even_growth`
    orders  all loop orders met so far
    every_mapping  whether mappings are wanted that another one beats at every step: worse loop orders among them
    mirror  dimensions that may change places, so that one of two mirror images will do
    """

    hierarchy: Hierarchy
    footprints: Footprints
    bounds: Bounds
    costs: CrossingCosts
    limits: SearchLimits
    objective: Objective
    tiling: Tiling
    even: tuple[bool, ...]
    pruned: Counter[str]
    every_mapping: bool = False
    mirror: Mirror | None = None
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
        if groups >= GROUPS_TRIED and gained_next < LEAST_GAIN * wanted_next:
            return True
        return level > 0 and own[0] < LEAST_GAIN * own[1]

    @cached_property
    def groups(self) -> GroupBounds:
        """Bounds for groups of alike arrays."""
        return GroupBounds(self.bounds)

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.bounds.lattice.sizes

    @cached_property
    def even_spread(self) -> tuple[bool, ...]:
        """Per dimension, whether only some of all numbers of instances that take as many rounds matter (`arrays.py`).

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

    def model(self, path: Path) -> TrafficModel:
        if path not in self._models:
            self._models[path] = TrafficModel(path)
        return self._models[path]

    def looseness(self, batch: Batch, blocks: Sequence[Block]) -> Ints:
        """(rows, dims, 4) what makes longer loops pay in the gap above a batch, that ends with one of some blocks; with
        perfect tiles nothing does: (rows, dims, 0)."""
        if self.tiling == "perfect":
            return np.zeros((len(batch), len(self.sizes), 0), dtype=np.int64)
        arrays, passed, hierarchy = batch.rows.arrays, batch.state.passed, self.hierarchy
        adjacent = all(hierarchy.at_fanout(hierarchy.place(batch.state, block, ())) for block in blocks)
        return looseness(hierarchy.problem, arrays[:passed], arrays[passed:], len(batch), adjacent)

    def largest(self, state: State, blocks: Sequence[Block]) -> Sequence[int]:
        """Per dimension, the largest tile that any of some blocks has room for."""
        if self.tiling == "perfect":
            return self.sizes
        return self.footprints.largest(tuple((block, self.hierarchy.tenants(state, block)) for block in blocks))

    def trips(self, d: int, left: int, most: int, *known: int) -> Sequence[int]:
        """Trips of a loop worth trying where so many tiles remain, with ragged tiles up to some number; `known`: what
        its row's `looseness` says."""
        return trips_tried(left, most, self.tiling, self.even[d], *known)

    def order_number(self, order: Order) -> int:
        if order not in self._order_numbers:
            self._order_numbers[order] = len(self.orders)
            self.orders.append(order)
        return self._order_numbers[order]

    def value(self, costs: Floats, steps: Floats) -> Floats:
        """(rows,) objective of complete columns; of bounds, a bound."""
        return self.costs.ledger.objective(self.objective, costs, steps)

    def below(self, values: Floats, cutoff: float, rule: str = "bound") -> np.ndarray:
        """Flags of the rows whose bound lies below the cutoff; the others are counted as pruned."""
        keep = values < cutoff
        self.pruned[rule] += len(keep) - int(np.count_nonzero(keep))
        return keep

    def only_bounded(self, crossing: Crossing, passed: int, below: bool = False) -> bool:
        """Whether what a crossing costs is only bounded as long as fanouts are still to be passed (`traffic.py`).

        below  whether it was charged below a fanout that has been passed: the words of windows remain bounds then
        """
        windows = any(len(rank) > 1 for rank in self.hierarchy.problem.tensors[crossing.tensor].ranks)
        if windows and below:
            return True
        later = range(passed, len(self.hierarchy.fanouts))
        if self._parts_may_idle(crossing, later):
            return True
        bounded = windows or self.tiling == "ragged"
        return bounded and any(self.hierarchy.joins(fanout, crossing) for fanout in later)

    def _parts_may_idle(self, crossing: Crossing, later: range) -> bool:
        """Whether fanouts to come may have instances without any part of a sum, which is known once they are passed:
        only where several of them share a ragged dimension."""
        if self.tiling == "perfect" or not self.hierarchy.problem.tensors[crossing.tensor].is_output:
            return False
        memory = crossing.outer if crossing.inner == MAC else crossing.inner
        return len(self.hierarchy.fanouts) > 1 and any(self.hierarchy.inside[fanout] > memory for fanout in later)

    def book(self, path: Path, rows: Rows, crossing: Crossing, charge: Charge | None, exactly: bool = False) -> Floats:
        """(columns, rows) what a crossing costs, as far as that is known; `exactly`: as `TrafficModel.served` can."""
        return self.costs.of(self.model(path), rows, crossing, charge, exactly)
