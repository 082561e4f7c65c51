"""Exact search: best first over all placements, tiles, arrays and orders, until no bound is below the best mapping.

A mapping grows from the MAC outwards (`hierarchy.py`). Its steps are

- a node group: the tile of the next storage nodes, and the order of the loops below them (`loops.py`);
- a fanout: how many instances along each dimension (`fanouts.py`).

Rows that have taken the same steps, and that wait for the same boundaries, form a *batch* (`batch.py`). A row without
anything left to place is a mapping (`nest_builder.py`), and the cost model has the last word on it (`finishing.py`).

What a row has been charged is exact, with two exceptions that count as bounds: exact halos, until the mapping is
complete; and words shared over fanouts further out, until these have been passed, and windows among them have been
settled (`fanouts.py`). What it will still be charged is bounded from below by tables over all tiles (`bounds/`). So the
bound of a row is never above the cost of any mapping that grows from it.

The order of work decides the time that a search takes, never its result:

- Every placement gets a bound of its own before anything is decided in it.
- A quick dive into the most promising placements (`exploring.py`) carries a few rows through to mappings. The best
  mapping so far sets the cutoff (`found.py`): nothing with a bound at or above it is looked at again.
- One queue (`frontier.py`) holds the open batches by their bounds. The lowest is taken, and its best rows are grown.
- Where that takes long, arrays that are alike get tables of their own, whose bounds are better (`bounds/groups.py`).

With ragged tiles, loops and numbers of instances are not tried by which no mapping gains (`tilings.ragged_trips`).

The proof: whatever has been left aside had a bound at or above the cutoff of its time, and cutoffs only fall; or it
did not fit; or another row stood for it that costs no more in any column, so that everything grown from it costs no
more either. When the lowest bound in the queue reaches the cutoff, no open mapping is better by more than the
rounding of floats (`RELATIVE_TOLERANCE`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...arch import Architecture
from ...cost_models import EDP, Capped, Cost, Objective, ObjectiveLike, parse_objective
from ...ir import InfeasibleError, Mapping, Problem
from ..certificate import RELATIVE_TOLERANCE, Certificate
from ..constraints import Constraints
from ..constraints.conflicts import conflict_error, smallest_conflict
from ..constraints.violations import violations
from ..diagnosis import diagnose
from ..space import SPACES, Space
from ..space.size import count_mappings
from ..tilings import TILINGS, Tiling, linear_growth
from .bounds.bounds import Bounds, lattice_of
from .canonical import canonical_problem
from .context import SearchContext
from .cost_columns import BoundaryCosts, CostColumns, rounds_unequally
from .exploring import Exploring
from .fanouts import Plans
from .finishing import Finishing
from .footprints import Footprints
from .found import BestFound, FoundMapping
from .freed_memory import keep_freed_memory
from .frontier import Frontier
from .hierarchy import Hierarchy, Placement
from .limits import SearchLimits, missing_dims, named_dims, wants_more
from .single_axes import on_single_axes, with_single_axes
from .symmetry import mirror_of
from .unmet_limits import unmet_limits

FREE = Constraints()


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
    placements: int = 0
    interrupted: bool = False
    _all_bounded: bool = False
    _witnesses: list[Mapping] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.canonical = canonical_problem(self.original, self.machine, self.tiling, named_dims(self.constraints))
        self.problem, self.arch = self.canonical.problem, with_single_axes(self.canonical.arch)
        self.found = BestFound(self.objective, self.machine, self.count)
        self.frontier = Frontier(self.found)
        self._started = time.perf_counter()

    def run(self) -> tuple[Mapping, Cost, Certificate]:
        """The best mapping, its cost, and the proof."""
        if not self.solve():
            raise self._nothing_fits()
        best = self.found[0]
        return best.mapping, best.cost, self.certificate(best)

    def solve(self, proof: bool = True) -> bool:
        """Search; whether any mapping was found. The best ones, best first, are in `found`.

        proof  go on until nothing open can be better, instead of being content with a few dives
        """
        self._started = time.perf_counter()
        keep_freed_memory()
        try:
            self._start_from_smaller_space()
            exploring = self._prepared()
            if len(self.found) < self.count:
                exploring.dive_first()
            if proof:
                self._explore(exploring)
        except KeyboardInterrupt:
            if not self.found:
                raise
            self.interrupted = True
        return bool(self.found)

    def _prepared(self) -> Exploring:
        """Bounds, arrays, and a bound for every placement."""
        context = self._context(self._first_rate())
        plans = Plans(context)
        for placement in self._placements(context):
            self.placements += 1
            for outline in context.blocks.outlines(placement):
                self.frontier.push(plans.first_bound(*outline), outline)
        self._all_bounded = True
        finishing = Finishing(context, self.found, self.canonical, self.machine, self.constraints)
        return Exploring(context, plans, self.frontier, finishing)

    def _explore(self, exploring: Exploring) -> None:
        """Take the lowest bound until none is below the best mapping."""
        while self.frontier.is_open and not self._expired():
            exploring.work_on(self.frontier.take())
            self.frontier.done()

    def _placements(self, context: SearchContext) -> Iterator[Placement]:
        if not missing_dims(self.constraints, self.original):
            yield from filter(context.limits.allows, context.hierarchy.placements())

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

    def _context(self, exchange_rate: float | None) -> SearchContext:
        hierarchy = Hierarchy(self.problem, self.arch, self.space)
        # Constraints may ask for more trips, or instances, than anyone needs; more instances may fill their last blocks
        # better; and where several mappings are wanted, those that only cost more count too.
        every = self.count > 1
        fewest = not every and not wants_more(self.constraints) and not rounds_unequally(self.arch, self.tiling)
        even = tuple(fewest and linear_growth(self.problem, dim) for dim in self.problem.dim_names)
        cost_columns, footprints = CostColumns.of(self.arch, exchange_rate, self.objective), Footprints(hierarchy)
        bounds = Bounds(hierarchy, footprints, lattice_of(hierarchy, self.tiling, even), cost_columns)
        costs = BoundaryCosts(hierarchy, cost_columns, counts_blocks=not rounds_unequally(self.arch, self.tiling))
        limits = SearchLimits(hierarchy, on_single_axes(self.constraints, self.machine))
        mirror = mirror_of(self.problem, self.arch) if self.constraints.is_free else None
        return SearchContext(
            hierarchy, footprints, bounds, costs, limits, self.objective, self.tiling, even, self.pruned, every, mirror
        )

    def _first_rate(self) -> float | None:
        """pJ per cycle for bounds on a product (`CostColumns.exchange_rate`): any will do, a typical one does best."""
        if self.objective != EDP:
            return None
        if self.found:
            return self.found[0].cost.energy_pj / max(self.found[0].cost.latency_cycles, 1.0)
        innermost = self.arch.memories[-1]
        per_mac = self.arch.mac.energy_pj + 4 * self.arch.word_bits * innermost.read_energy_pj / innermost.access_bits
        return max(2 * per_mac, 1e-3) * self.arch.mac_instances * self.arch.mac.per_cycle

    def _start_from_smaller_space(self) -> None:
        """Good mappings of a smaller space, found much sooner: nothing worse need be looked at.

        The best uneven ones are often so much better than the best even ones that those need not be known for sure,
        unless time may run out: then what is handed over is to be no worse than they are.
        """
        if self.space == "uneven":
            self._start_from(self.tiling, SPACES[0], self.count, proof=self.time_limit is not None)
        elif self.tiling == "ragged":
            self._start_from(TILINGS[0], self.space, self.count)
        elif self.count > 1:
            self._start_from(self.tiling, self.space, 1)
            for best in tuple(self.found):
                self._look_around(best.mapping)

    def _look_around(self, mapping: Mapping) -> None:
        """Some mappings near one of the even space: most of the best ones are."""
        from ..heuristics.neighbourhood import neighbourhood  # here, since few searches need it

        for near in neighbourhood(mapping, self.machine):
            if self.constraints.is_free or not violations(near, self.machine, self.constraints):
                self.found.evaluate(near)

    def _start_from(self, tiling: Tiling, space: Space, count: int, proof: bool = True) -> None:
        """Start with the mappings of another search."""
        problem, machine, limit = self.original, self.machine, self.time_limit
        first = ExactSearch(
            problem, machine, self.objective, tiling, space, self.constraints, limit, count, self.enough
        )
        first.solve(proof)
        self.found.start_from(first.found)
        self.pruned.update(first.pruned)
        if first.interrupted:
            raise KeyboardInterrupt

    def _expired(self) -> bool:
        """Whether the time is up, and there is a mapping to be handed over."""
        if not self.found or self.enough or self.time_limit is None:
            return bool(self.found) and self.enough
        return time.perf_counter() - self._started >= self.time_limit

    def certificate(self, found: FoundMapping) -> Certificate:
        """What the search proves of one of the mappings found: no other one but those listed before it is better."""
        # Interrupted before every placement had a bound, nothing is known.
        open_bound = self.frontier.bound if self._all_bounded else 0.0
        return Certificate(
            objective=self.objective.name,
            tiling=self.tiling,
            value=found.value,
            lower_bound=found.value if open_bound >= found.value * (1 - RELATIVE_TOLERANCE) else open_bound,
            space_size=self._counted(),
            placements=self.placements,
            evaluated=self.found.evaluated,
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


def search_exact(
    problem: Problem,
    arch: Architecture,
    objective: ObjectiveLike = "edp",
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: Constraints = FREE,
    time_limit: float | None = None,
) -> tuple[Mapping, Cost, Certificate]:
    """The proven best mapping, its cost and the proof; with a time limit (seconds), the best found and its band.

    Raises InfeasibleError, with a diagnosis, when nothing fits.
    """
    return ExactSearch(problem, arch, parse_objective(objective), tiling, space, constraints, time_limit).run()
