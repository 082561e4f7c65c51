"""Exact search: best first over all placements, tiles, arrays and orders, until no bound is below the best mapping.

A mapping grows from the MAC outwards (`hierarchy.py`). Its steps are

- a block: the tile of the next storage nodes, and the order of the loops below them (`loops.py`);
- a fanout: how many instances along each dimension (`spreading.py`).

Rows that have taken the same steps, and that wait for the same crossings, form a *batch* (`batch.py`). A row without
anything left to place is a mapping (`nest_builder.py`), and the cost model has the last word on it.

What a row has been charged is exact, with two exceptions that count as bounds until the mapping is complete: exact
halos, and words shared over fanouts further out. What it will still be charged is bounded from below by tables over
all tiles (`bounds.py`). So the bound of a row is never above the cost of any mapping that grows from it.

The order of work decides the time that a search takes, never its result:

- Every placement gets a bound of its own before anything is decided in it.
- A quick dive into the most promising placements carries a few rows through to mappings. The best mapping so far sets
  the cutoff: nothing with a bound at or above it is looked at again.
- One queue holds the open batches by their bounds. The lowest is taken, and its best rows are grown.

The proof: whatever has been left aside had a bound at or above the cutoff of its time, and cutoffs only fall; or it
did not fit; or another row stood for it that costs no more in any column, so that everything grown from it costs no
more either. When the lowest bound in the queue reaches the cutoff, no open mapping is better by more than the
rounding of floats (`RELATIVE_TOLERANCE`).
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isclose

import numpy as np

from ..arch import Architecture
from ..cost_models import EDP, Capped, Cost, Objective, ObjectiveLike, evaluate, parse_objective
from ..ir import InfeasibleError, Loop, LoopNest, Mapping, Node, Problem
from .batch import Batch, Growth
from .bounds import Bounds, lattice_of
from .certificate import RELATIVE_TOLERANCE, Certificate
from .conflicts import conflict_error, smallest_conflict
from .constraints import Constraints
from .diagnosis import diagnose
from .fanouts import Plans, finer, grouped, pass_fanout, refined_groups
from .footprints import Footprints
from .heuristics.neighbourhood import neighbourhood
from .hierarchy import SPACES, Hierarchy, Holders, Space
from .ledger import CrossingCosts, Ledger, ports_of, rounds_unevenly
from .loops import expand_loops
from .nest_builder import build_mapping
from .reduction import reduce_problem
from .search_limits import SearchLimits, missing_dims, named_dims, wants_more
from .single_axes import on_both_axes, on_single_axes, with_single_axes
from .space_size import count_mappings
from .tilings import TILINGS, Tiling, even_growth
from .unmet_limits import unmet_limits
from .violations import violations

ROWS_AT_ONCE: dict[Tiling, int] = {"perfect": 512, "ragged": 96}
"""Rows expanded together: enough to fill vectors, few enough to stop early, and to bound the memory in use."""

ROWS_PER_GROUP: dict[Space, int] = {"even": 400, "uneven": 20}
"""Rows that take, with all that grows from them, about as long to look at as tables for one more group of arrays take
to make."""

ROWS_OF_LONG_STEPS = 20_000
"""Rows that one row of arrays grows to with ragged tiles, from which on better bounds for alike arrays pay."""

TRIED_FIRST = 4
"""Rows that are grown before it is known how many others each of them makes."""

LOOKED_AT_ONCE = 200_000
"""Rows made at once, about: that bounds memory, and the time until the clock is looked at."""

DIVES = 4
"""Placements that are dived into before the search proper."""

DIVE_WIDTH = 64
"""Rows carried along in a dive."""


FREE = Constraints()


@dataclass(frozen=True)
class Found:
    """A mapping, what it costs, and the value of the objective."""

    value: float
    mapping: Mapping
    cost: Cost


@dataclass
class ExactSearch:
    """One search. Raises InfeasibleError, with a diagnosis, when no mapping of the space fits.

    time_limit  seconds after which the best mapping so far is taken, with the bound proven by then; None: no limit.
                It is looked at between pieces of work, and not before a first mapping is found. An interrupt
                (Ctrl-C) does the same
    count       how many mappings to keep: the best ones that differ in energy or latency
    enough      stop at the first mapping
    """

    original: Problem
    machine: Architecture
    objective: Objective
    tiling: Tiling
    space: Space = "even"
    constraints: Constraints = FREE
    time_limit: float | None = None
    count: int = 1
    enough: bool = False
    pruned: Counter[str] = field(default_factory=Counter)
    evaluated: int = 0
    placements: int = 0
    found: list[Found] = field(default_factory=list)
    interrupted: bool = False
    _group_dives: int = 0
    _made: dict[int, float] = field(default_factory=dict)
    _known: set[bytes] = field(default_factory=set)
    _working_on: float = float("inf")
    _all_bounded: bool = False
    _queue: list[tuple[float, int, Holders | Batch]] = field(default_factory=list)
    _witnesses: list[Mapping] = field(default_factory=list)
    _ticket: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.reduction = reduce_problem(self.original, self.machine, self.tiling, named_dims(self.constraints))
        self.problem, self.arch = self.reduction.problem, with_single_axes(self.reduction.arch)
        self._started = time.perf_counter()

    def run(self) -> tuple[Mapping, Cost, Certificate]:
        """The best mapping, its cost, and the proof."""
        if not self.solve():
            raise self._nothing_fits()
        best = self.found[0]
        return best.mapping, best.cost, self.certificate(best)

    def solve(self) -> bool:
        """Search; whether any mapping was found. The best ones, best first, are in `found`."""
        self._started = time.perf_counter()
        try:
            self._start_from_smaller_space()
            self._prepare()
            self._explore()
        except KeyboardInterrupt:
            if not self.found:
                raise
            self.interrupted = True
        return bool(self.found)

    def _prepare(self) -> None:
        """Bounds, arrays, and a bound for every placement."""
        self.growth = self._growth(self._first_rate())
        self.plans = Plans(self.growth)
        for holders in self._placements():
            self.placements += 1
            self._push(self.plans.first_bound(holders), holders)
        self._all_bounded = True

    def _explore(self) -> None:
        """Dive, then take the lowest bound until none is below the best mapping."""
        dives = DIVES if len(self.found) < self.count else 0
        for _, _, item in heapq.nsmallest(dives, self._queue, key=lambda entry: entry[:2]):
            if isinstance(item, tuple):
                self._dive(self._open(item))
        while self._queue and self._queue[0][0] < self._cutoff() and not self._expired():
            self._working_on, _, item = heapq.heappop(self._queue)
            if isinstance(item, tuple):
                self._push_batch(self._open(item))
            else:
                self._work_on(item)
            self._working_on = float("inf")

    def _placements(self) -> Iterator[Holders]:
        if not missing_dims(self.constraints, self.original):
            yield from filter(self.growth.limits.allows, self.growth.hierarchy.placements())

    def _nothing_fits(self) -> InfeasibleError:
        if isinstance(self.objective, Capped):
            return unmet_limits(self.objective, self._least)
        if self.constraints.is_free:
            return diagnose(self.original, self.machine)
        conflict = smallest_conflict(self.constraints, self._has_mapping)
        if not conflict:
            return diagnose(self.original, self.machine)
        return conflict_error(self.original, self.constraints, conflict)

    def _least(self, objective: Objective) -> Cost:
        problem, machine, limit = self.original, self.machine, self.time_limit
        return ExactSearch(problem, machine, objective, self.tiling, self.space, self.constraints, limit).run()[1]

    def _has_mapping(self, constraints: Constraints) -> bool:
        problem, machine = self.original, self.machine
        if any(not violations(mapping, machine, constraints) for mapping in self._witnesses):
            return True
        search = ExactSearch(problem, machine, self.objective, self.tiling, self.space, constraints, enough=True)
        if not search.solve():
            return False
        self._witnesses.append(search.found[0].mapping)
        return True

    def _growth(self, exchange_rate: float | None) -> Growth:
        hierarchy = Hierarchy(self.problem, self.arch, self.space)
        # Constraints may ask for more trips, or instances, than anyone needs; and more instances may fill their last
        # blocks better.
        fewest = not wants_more(self.constraints) and not rounds_unevenly(self.arch, self.tiling)
        even = tuple(fewest and even_growth(self.problem, dim) for dim in self.problem.dim_names)
        ledger, footprints = Ledger.of(self.arch, exchange_rate, self.objective), Footprints(hierarchy)
        bounds = Bounds(hierarchy, footprints, lattice_of(hierarchy, self.tiling, even), ledger)
        costs = CrossingCosts(hierarchy, ledger, counts_blocks=not rounds_unevenly(self.arch, self.tiling))
        limits = SearchLimits(hierarchy, on_single_axes(self.constraints, self.machine))
        every = self.count > 1
        return Growth(
            hierarchy, footprints, bounds, costs, limits, self.objective, self.tiling, even, self.pruned, every
        )

    def _first_rate(self) -> float | None:
        """pJ per cycle for bounds on a product (`Ledger.exchange_rate`): any will do, a typical one does best."""
        if self.objective != EDP:
            return None
        if self.found:
            return self.found[0].cost.energy_pj / max(self.found[0].cost.latency_cycles, 1.0)
        innermost = self.arch.memories[-1]
        per_mac = self.arch.mac.energy_pj + 4 * self.arch.word_bits * innermost.read_energy_pj / innermost.access_bits
        return max(2 * per_mac, 1e-3) * self.arch.mac_instances * self.arch.mac.per_cycle

    def _start_from_smaller_space(self) -> None:
        """The best mappings of a smaller space, found much sooner: nothing worse need be looked at."""
        if self.space == "uneven":
            self._start_from(self.tiling, SPACES[0], self.count)
        elif self.tiling == "ragged":
            self._start_from(TILINGS[0], self.space, self.count)
        elif self.count > 1:
            self._start_from(self.tiling, self.space, 1)
            for best in tuple(self.found):
                self._look_around(best.mapping)

    def _look_around(self, mapping: Mapping) -> None:
        """Some mappings near one of the even space: most of the best ones are."""
        for near in neighbourhood(mapping, self.machine):
            if self.constraints.is_free or not violations(near, self.machine, self.constraints):
                self.evaluated += 1
                self._keep(near, evaluate(near, self.machine))

    def _start_from(self, tiling: Tiling, space: Space, count: int) -> None:
        """Start with the best mappings of another search."""
        problem, machine, limit = self.original, self.machine, self.time_limit
        first = ExactSearch(
            problem, machine, self.objective, tiling, space, self.constraints, limit, count, self.enough
        )
        first.solve()
        self.found = first.found
        self.evaluated += first.evaluated
        self.pruned.update(first.pruned)
        if first.interrupted:
            raise KeyboardInterrupt

    def _expired(self) -> bool:
        """Whether the time is up, and there is a mapping to be handed over."""
        if not self.found or self.enough or self.time_limit is None:
            return bool(self.found) and self.enough
        return time.perf_counter() - self._started >= self.time_limit

    def certificate(self, found: Found) -> Certificate:
        """What the search proves of one of the mappings found: no other one but those listed before it is better."""
        open_bound = min(self._queue[0][0] if self._queue else float("inf"), self._working_on)
        if not self._all_bounded:  # interrupted before every placement had a bound
            open_bound = 0.0
        return Certificate(
            objective=self.objective.name,
            tiling=self.tiling,
            value=found.value,
            lower_bound=found.value if open_bound >= found.value * (1 - RELATIVE_TOLERANCE) else open_bound,
            space_size=self._counted(),
            placements=self.placements,
            evaluated=self.evaluated,
            pruned=dict(sorted(self.pruned.items())),
            seconds=time.perf_counter() - self._started,
            space=self.space,
            constraints=self.constraints.describe(),
            interrupted=self.interrupted,
        )

    def _counted(self) -> int | None:
        """Mappings of the space; None where counting them takes longer than searching."""
        nested = sum(len(fanout.axes) > 1 for fanout in self.machine.fanouts) > 1
        if self.space == "uneven" and nested:
            return None
        return count_mappings(self.original, self.machine, self.tiling, self.space)

    def _cutoff(self) -> float:
        """Bounds from here on cannot lead to a mapping that is kept."""
        if len(self.found) < self.count:
            return float("inf")
        return self.found[-1].value * (1 - RELATIVE_TOLERANCE)

    def _push(self, bound: float, item: Holders | Batch) -> None:
        if bound < self._cutoff():
            heapq.heappush(self._queue, (bound, next(self._ticket), item))

    def _push_batch(self, batch: Batch) -> None:
        if len(batch):
            self._push(float(batch.bound[0]), batch)

    def _expand(self, batch: Batch) -> Iterator[Batch]:
        for grown in expand_loops(self.growth, batch, self._cutoff()):
            yield self._at_loops(grown)

    def _at_loops(self, batch: Batch) -> Batch:
        """The batch above the fanouts that come next."""
        while len(batch) and self.growth.hierarchy.at_fanout(batch.state):
            batch = pass_fanout(self.growth, batch, self._cutoff())
        return batch

    def _open(self, holders: Holders) -> Batch:
        return self._at_loops(self.plans.start(holders, self._cutoff()))

    def _undecided(self, batch: Batch) -> bool:
        """Whether nothing but the arrays of the rows is decided."""
        return not batch.path.blocks and not batch.path.gaps and bool(batch.rows.arrays)

    def _is_bounded_best(self, batch: Batch) -> bool:
        """Whether there are no better bounds for rows of which only the arrays are decided."""
        bounds = batch.bounds
        return bounds.settled or bounds.level == len(self.growth.bounds.lattice.for_groups) - 1

    def _pays_to_group(self, head: Batch, grown: list[Batch]) -> bool:
        """Whether rows of which only the arrays are decided grew to so many that tables for each group of arrays,
        which bound them better, are made in less time than it takes to look at them all."""
        if not self._undecided(head) or head.bounds.level >= 0:
            return False
        groups = sum(1 for _ in grouped(self.growth, head))
        return sum(len(batch) for batch in grown) > ROWS_PER_GROUP[self.space] * groups

    def _dive(self, batch: Batch) -> None:
        """Look for one good mapping, so that bounds have something to be compared with."""
        if self.tiling == "ragged" and self._undecided(batch):
            batch = batch.take(np.arange(min(1, len(batch))))
        while len(batch) and not batch.complete:
            batch = batch.take(np.arange(min(DIVE_WIDTH, len(batch))))
            grown = [b for b in self._expand(batch) if len(b)]
            if not grown:
                return
            batch = min(grown, key=lambda b: float(b.bound[0]))
        self._finish(batch.take(np.arange(min(1, len(batch)))))

    def _work_on(self, batch: Batch) -> None:
        """Grow the best rows of a batch by one step, or evaluate them where none is left."""
        self.growth.bounds.keep(batch.bounds)
        if batch.complete:
            self._finish(batch)
            return
        if self._steps_are_long and self._undecided(batch) and not self._is_bounded_best(batch):
            self._refine(batch)
            return
        head = self._head(batch, self._rows_at_once(batch))
        grown = self._measured(head)
        if self._pays_to_group(head, grown):
            self._group(head)
            return
        for batch in grown:
            self._push_batch(batch)

    @property
    def _steps_are_long(self) -> bool:
        """Whether rows grow to so many that tables for each group of arrays, which bound them better, always pay."""
        grows_much = self._made.get(0, 0.0) > ROWS_OF_LONG_STEPS
        return self.space == "uneven" or (self.tiling == "ragged" and grows_much)

    def _refine(self, batch: Batch) -> None:
        """Give better bounds to the best rows of a batch of arrays."""
        if batch.bounds.level < 0:
            self._group(self._head(batch, ROWS_AT_ONCE[self.tiling]))
        else:
            self._push_batch(finer(self.growth, self._head(batch, 8), self._cutoff()))

    def _group(self, batch: Batch) -> None:
        """Put the rows back in groups of alike arrays, with bounds by tables of each group."""
        groups = list(refined_groups(self.growth, list(grouped(self.growth, batch)), self._cutoff()))
        for group in groups:
            self._push_batch(group)
        best = min((group for group in groups if len(group)), key=lambda group: float(group.bound[0]), default=None)
        if best is not None and self._group_dives < DIVES:  # these bounds are a better guide than those before them
            self._group_dives += 1
            self._dive(best.take(np.arange(1)))

    def _head(self, batch: Batch, count: int) -> Batch:
        """The best rows of a batch; the others go back into the queue."""
        self._push_batch(batch.take(np.arange(min(count, len(batch)), len(batch))))
        return batch.take(np.arange(min(count, len(batch))))

    def _rows_at_once(self, batch: Batch) -> int:
        """As many rows as make about `LOOKED_AT_ONCE` others, by what rows like them have made."""
        depth = len(batch.path.blocks)
        if self.tiling == "ragged" and depth not in self._made:
            return TRIED_FIRST
        each = self._made.get(depth, 0.0)
        return min(ROWS_AT_ONCE[self.tiling], max(1, int(LOOKED_AT_ONCE / (each + 1))))

    def _measured(self, head: Batch) -> list[Batch]:
        """Grow rows, and remember how many others each of them made, left aside at once or not."""
        before = self.pruned.total()
        grown = list(self._expand(head))
        each = (self.pruned.total() - before + sum(len(batch) for batch in grown)) / len(head)
        depth = len(head.path.blocks)
        self._made[depth] = max(each, self._made.get(depth, each) * 0.8)
        return grown

    def _finish(self, batch: Batch) -> None:
        """Evaluate complete rows by the cost model, in the order of their bounds, while they may be better."""
        for row, bound in enumerate(batch.bound.tolist()):
            if bound >= self._cutoff():
                self.pruned["bound"] += len(batch) - row
                return
            columns = batch.costs[:, row].tobytes() + batch.steps[row].tobytes()
            if columns in self._known:
                continue
            for reduced in self._mappings(batch, row):
                mapping = self.reduction.restore(on_both_axes(reduced))
                if not self.constraints.is_free and violations(mapping, self.machine, self.constraints):
                    self.pruned["constraint"] += 1
                    continue
                self.evaluated += 1
                self._keep(mapping, evaluate(mapping, self.machine))
                if self._columns_tell_all(batch):
                    self._known.add(columns)

    def _columns_tell_all(self, batch: Batch) -> bool:
        """Whether complete rows with equal columns cost the same: these are exact, and nothing else counts. Fill times
        depend on the tiles too, and for energy alone there are no columns of ports."""
        ledger = self.growth.bounds.ledger
        every_port = len(ledger.ports) == len(ports_of(self.arch))
        steady = self.arch.latency == "steady"
        return self.tiling == "perfect" and every_port and steady and not self._has_exact_halo(batch)

    def _keep(self, mapping: Mapping, cost: Cost) -> None:
        """Add a mapping to those found, if it is one of the best, and differs from the others in cost."""
        value = cost.objective(self.objective)
        if not value < self._cutoff() or any(_same_cost(cost, other.cost) for other in self.found):
            return
        self.found.append(Found(value, mapping, cost))
        self.found.sort(key=lambda found: found.value)
        del self.found[self.count :]

    def _mappings(self, batch: Batch, row: int) -> Iterator[Mapping]:
        """The mapping of a complete row; all its loop orders, where an exact halo makes every order count."""
        mapping = build_mapping(
            batch.path,
            self.tiling,
            self.growth.even,
            [t[row].tolist() for t in batch.rows.tiles],
            [a[row].tolist() for a in batch.rows.arrays],
            [self.growth.orders[i] for i in batch.orders[row].tolist()],
            [self.growth.limits.spans(f) for f in range(len(self.growth.hierarchy.fanouts))],
        )
        yield from all_orders(mapping) if self._has_exact_halo(batch) else (mapping,)

    def _has_exact_halo(self, batch: Batch) -> bool:
        hierarchy = self.growth.hierarchy
        return any(
            hierarchy.memories[m].halo == "exact" and m != hierarchy.outermost
            for t, held in enumerate(batch.path.holders)
            if not self.problem.tensors[t].is_output
            for m in held
        )


def _same_cost(one: Cost, other: Cost) -> bool:
    return all(
        isclose(a, b, rel_tol=RELATIVE_TOLERANCE)
        for a, b in ((one.energy_pj, other.energy_pj), (one.latency_cycles, other.latency_cycles))
    )


def all_orders(mapping: Mapping) -> Iterator[Mapping]:
    """Every mapping that differs only in the order of temporal loops between the same nodes and spatial loops."""
    runs: list[list[tuple[Loop | Node, ...]]] = []
    for temporal, group in itertools.groupby(mapping.nest.items, key=_is_temporal):
        items = tuple(group)
        runs.append(list(itertools.permutations(items)) if temporal else [items])
    for chosen in itertools.product(*runs):
        yield Mapping(mapping.problem, LoopNest(tuple(itertools.chain.from_iterable(chosen))))


def _is_temporal(item: Loop | Node) -> bool:
    return isinstance(item, Loop) and not item.is_spatial


def search_exact(
    problem: Problem,
    arch: Architecture,
    objective: ObjectiveLike = "edp",
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: Constraints = FREE,
    time_limit: float | None = None,
) -> tuple[Mapping, Cost, Certificate]:
    """The proven best mapping, its cost and the proof; with a time limit (seconds), the best found and its gap.

    Raises InfeasibleError, with a diagnosis, when nothing fits.
    """
    return ExactSearch(problem, arch, parse_objective(objective), tiling, space, constraints, time_limit).run()
