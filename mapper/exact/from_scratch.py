"""Exact search: best first over all placements, tiles, arrays and orders, until no bound is below the best mapping.

A mapping grows from the MAC outwards (`question/hierarchy.py`). Its steps are

- a node group: the tile of the next storage nodes, and the order of the loops below them (`growing/loops.py`);
- a fanout: how many instances along each dimension (`growing/fanouts.py`).

Rows that have taken the same steps, and that wait for the same boundaries, form a *batch* (`growing/batch.py`). A row
without anything left to place is a mapping (`growing/nest_builder.py`), and the cost model has the last word on it
(`exploring/finishing.py`).

What a row has been charged is exact, with two exceptions that count as bounds: exact halos, until the mapping is
complete; and words shared over fanouts further out, until these have been passed, and windows among them have been
settled (`growing/fanouts.py`). What it will still be charged is bounded from below by tables over all tiles
(`bounds/`). So the bound of a row is never above the cost of any mapping that grows from it.

The order of work decides the time that a search takes, never its result:

- Placements (`growing/placements.py`) and arrays (`growing/array_choices.py`) are decided step by step, the lowest
  bound first.
- A quick dive into the most promising placements (`exploring/exploring.py`) carries a few rows through to mappings. The
  best mapping so far sets the cutoff (`exploring/found.py`): nothing with a bound at or above it is looked at again.
- One queue holds all that is open by its bound (`mapper/kernel/`). The lowest is taken, and its best rows are grown.
- Where that takes long, arrays that are alike get tables of their own, whose bounds are better (`bounds/groups.py`). In
  the even space with perfect tiles it begins again for these where rows have grown to many meanwhile
  (`exploring/own_tables.py`).
- In the even space with ragged tiles it begins again then, and every choice of arrays gets tables of its own before
  anything grows from it: for any arrays, tables let each dimension grow by all instances at once, and each tensor be
  shared by all of them, of which an array does one or the other. All that grows from a row keeps its arrays, so tables
  that hold for these alone bound it. One choice is grown to the end before the next, while its tables are there.
  Whether that pays is asked of a few choices (`exploring/own_tables.py`), and where memory runs out it always does.

With ragged tiles, loops and numbers of instances are not tried by which no mapping gains (`tilings.ragged_trips`).

The proof: whatever has been left aside had a bound at or above the cutoff of its time, and cutoffs only fall; or it did
not fit; or, in the uneven space, another row dominated it that costs no more in any column (`growing/known_rows.py`),
so that everything grown from it costs no more either. When the lowest bound in the queue reaches the cutoff, no open
mapping is better by more than the rounding of floats (`kernel/tolerance.py`).
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...arch import Architecture
from ...cost_models import Capped, Cost, Objective
from ...cost_models.least_cost import least_cost
from ...cost_models.padding import counted
from ...ir import (
    InfeasibleError,
    Mapping,
    Problem,
    TilewrightError,
    UndecidedError,
)
from ...ir.units import plural
from ..certificate import Certificate, Ended, OpenPart
from ..constraints import Constraints
from ..constraints.conflicts import conflict_error, smallest_conflict
from ..constraints.fixed_tiles import fixed_tiles_error
from ..constraints.violations import violations
from ..diagnosis import diagnose, shortage_error, unmet_limits
from ..effort import EFFORT, Effort
from ..kernel.best_first import BestFirst
from ..kernel.frontier import Frontier
from ..kernel.tolerance import or_value, reaches
from ..means import Means, OutOfMeans
from ..progress import SearchProgress, answering
from ..simplest import simplest_mapping, unsearched_mappings
from ..space import Space
from ..space.regions import placements
from ..space.size import count_mappings
from ..tilings import Tiling
from .exploring.exploring import Exploring
from .exploring.finishing import Finishing
from .exploring.found import BestFound, FoundMapping
from .exploring.standing import open_part
from .growing.array_choices import ArrayPlans
from .growing.context import SearchContext
from .growing.placements import Placements
from .growing.preparing import prepare
from .question.limits import missing_dims
from .question.reduced import ReducedQuestion
from .question.surroundings import ALONE, Surroundings

FREE = Constraints()

SECONDS_TO_DIAGNOSE = 1.0
"""Time to work out why nothing fits, besides as much as the search took: it is known then that nothing does."""


@dataclass
class SearchFromScratch:
    """A search from scratch finds the best mapping and proves it, or raises an InfeasibleError that diagnoses why no
    mapping of the space fits.

    means   where they run out, the best mapping so far is taken, with the bound proven by then; an interrupt (Ctrl-C)
            does the same
    count   how many mappings to keep: the best ones that differ in energy or latency
    enough  stop at the first mapping
    surroundings  of a mapping that is a branch of a tree
    ceiling  mappings from this value on are not wanted
    effort  how the search goes about its work
    known   a mapping to begin with
    floor   no mapping that has not been looked at has a lower value: as is known before, or from the start
    """

    original: Problem
    machine: Architecture
    objective: Objective
    tiling: Tiling
    space: Space = "even"
    constraints: Constraints = FREE
    means: Means = field(default_factory=Means)
    count: int = 1
    enough: bool = False
    surroundings: Surroundings = ALONE
    ceiling: float = math.inf
    effort: Effort = EFFORT
    known: Mapping | None = None
    pruned: Counter[str] = field(default_factory=Counter, init=False)
    interrupted: bool = field(default=False, init=False)
    out_of_time: bool = field(default=False, init=False)
    floor: float = field(default=0.0, init=False)
    _witnesses: list[Mapping] = field(default_factory=list, init=False)
    _by_arrays: bool = field(default=False, init=False)
    _begun: Exploring | None = field(default=None, init=False)
    _context: SearchContext | None = field(default=None, init=False)
    _floor_part: OpenPart | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._started = time.perf_counter()
        self.reduced = ReducedQuestion(
            self.original, self.machine, self.tiling, self.space, self.constraints, self.surroundings
        )
        if self.surroundings is ALONE:
            self.floor = least_cost(self.original, self.machine).value(self.objective)
        self.found = BestFound(
            self.objective, self.machine, self.count, surroundings=self.surroundings, ceiling=self.ceiling
        )
        self.best_first = self._loop()

    def run(self) -> tuple[Mapping, Cost, Certificate]:
        """Return the best mapping, its cost, and the certificate."""
        asked = counted(self.original, self.machine)
        # What a tile of operands with zeros takes is a mean: that one word takes least is known of others alone.
        too_small = None if self.original.has_zeros else shortage_error(self.original, self.machine)
        too_small = too_small or fixed_tiles_error(asked, self.machine, self.constraints, self.space)
        if too_small is not None:
            raise too_small
        if not self.solve():
            raise self._nothing_found()
        best = self.found[0]
        return best.mapping, best.cost, self.certificate(best)

    def solve(self, proof: bool = True) -> bool:
        """Search, keep the best mappings, best first, in `found`, and tell whether there is any.

        proof  go on until nothing open can be better, instead of being content with a few dives
        """
        try:
            with answering(self.progress):
                if self.known is not None:
                    self.found.evaluate(self.known)
                self._solve(proof)
        except OutOfMeans:
            self.out_of_time = True
        except KeyboardInterrupt:
            self.interrupted = True
        if not self.found and (self.out_of_time or self.interrupted):
            self._fall_back()
        if self.interrupted and not self.found:
            raise KeyboardInterrupt
        return bool(self.found)

    def _solve(self, proof: bool) -> None:
        self._explore_from_scratch(proof)
        if proof and self._has_let_go:  # fewer rows are open at once with better bounds on arrays from the start
            self.effort = replace(self.effort, rows_before_groups=0)
            self._nothing_open()
            self._explore_from_scratch(proof)

    def progress(self) -> SearchProgress:
        """Tell how far the search has come."""
        value = self.found[0].value if self.found else math.inf
        doing = f"{self.tiling} tilings, {self.space} space: {plural(self.found.evaluated, 'mapping')} evaluated"
        return SearchProgress(0, 0, doing, self.objective.name, value, min(self.open_bound, value))

    def look(self) -> bool:
        """Keep the best of a few mappings that need no search, and tell whether there is any."""
        from ..heuristics.greedy import greedy_mappings  # here, since few searches need it

        around = self.surroundings
        for mapping in greedy_mappings(self.original, self.machine, around.homes, around.cut):
            with suppress(TilewrightError):
                self._evaluate(mapping)
        return bool(self.found)

    def _fall_back(self) -> None:
        """Evaluate mappings that need no search, where none was found: any mapping is better than none."""
        if self.surroundings is not ALONE:
            return
        for mapping in unsearched_mappings(self.original, self.machine):
            with suppress(TilewrightError):
                self._evaluate(mapping)

    def _evaluate(self, mapping: Mapping) -> None:
        """Keep a mapping that no exploring has found, where constraints allow it."""
        if self.constraints.is_free or not violations(mapping, self.machine, self.constraints):
            self.found.evaluate(mapping)

    def _prepared(self) -> Exploring:
        """Make the bounds, arrays and placements of a search in which nothing is decided."""
        known = self.found[0].cost if self.found else None
        several = self.count > 1 or bool(self.surroundings.short)  # columns do not say what those cost
        context = prepare(self.reduced, self.objective, known, several, self.means, self.effort, self.pruned)
        self._context = context
        finishing = Finishing(context, self.found, self.reduced.canonical, self.machine, self.constraints)
        exploring = Exploring(context, Placements(context), ArrayPlans(context), self.best_first, finishing)
        if not missing_dims(self.constraints, self.original):
            exploring.start()
        return exploring

    def _explore_from_scratch(self, proof: bool) -> None:
        if not proof and len(self.found) >= self.count:  # the smaller space had enough
            return
        exploring, self._begun = self._begun or self._prepared(), None
        if len(self.found) < self.count and not (proof and self.ceiling < math.inf):
            self.best_first.add(exploring.dive_first())
        if proof:
            self._explore(exploring)

    @property
    def _has_let_go(self) -> bool:
        """Tell whether all that is left is what there was no memory for, while tables for alike arrays, which bound it
        better, were not made from the start."""
        if self.out_of_time or self.enough or self.reduced.counted == "perfect" or not self.effort.rows_before_groups:
            return False
        return self.frontier.let_go < self.found.cutoff

    def _explore(self, exploring: Exploring | None) -> None:
        """Take the lowest bound until none is below the incumbent; where other tables pay, begin again with them."""
        while exploring is not None:
            begins_again = self._explore_until_tables_pay(exploring)
            exploring = None if begins_again is None else begins_again(self._nothing_open())

    def _explore_until_tables_pay(self, exploring: Exploring) -> Callable[[BestFirst[Mapping]], Exploring] | None:
        """Return how the search begins again with other tables; None once it has come to its end."""
        while self.frontier.is_open:
            if self.found and (self.enough or self.means.expired):
                self.out_of_time = not self.enough
                return None
            self.best_first.step()
            if self._may_have_own_tables(exploring.context) and exploring.own_tables.pay():
                self._by_arrays = True
                return exploring.by_arrays
            if self._may_group(exploring) and exploring.own_tables.pay_in_groups():
                return exploring.by_groups
        return None

    def _may_group(self, exploring: Exploring) -> bool:
        """Tell whether the search may begin again with tables for groups of alike arrays: in the even space with
        perfect tiles, where they have not been made yet."""
        if self.space == "uneven" or self.reduced.counted != "perfect" or exploring.grouping_pays:
            return False
        return bool(exploring.context.hierarchy.fanouts) and self.frontier.is_open

    def _may_have_own_tables(self, context: SearchContext) -> bool:
        """Tell whether choices of arrays may get tables of their own. Of many arrays inside each other there are too
        many choices, and in the uneven space too many states to make tables for; with lines, what every tile leaves
        empty of them goes into each table, and takes longer to look up than rows take to grow. A search that has begun
        again so, and for lack of memory once more, goes another way then."""
        if self.space == "uneven" or self.reduced.counted == "perfect" or self._by_arrays or context.many_arrays:
            return False
        return bool(context.hierarchy.fanouts) and not self.reduced.has_lines and self.frontier.is_open

    def _nothing_open(self) -> BestFirst[Mapping]:
        """Begin again with nothing open; incumbents and the bound proven so far are kept."""
        if self.found and self.open_bound > self.floor:
            self._floor_part = self._open_part(self.found[0])
        self.floor = max(self.floor, self.open_bound)
        self.best_first = self._loop()
        return self.best_first

    def _loop(self) -> BestFirst[Mapping]:
        return BestFirst(self.found, means=self.means, most=self.effort.share * self.means.memory_limit)

    @property
    def frontier(self) -> Frontier[Mapping]:
        """Return what is open."""
        return self.best_first.frontier

    def _open_part(self, best: FoundMapping) -> OpenPart | None:
        """Describe what has the lowest open bound, in a small part of the time that the search took."""
        if self._context is None or not self.frontier.begun or self.floor > self.frontier.bound:
            return self._floor_part
        out_of_memory = not self.means.expired and self.frontier.let_go < self.found.cutoff
        ended: Ended = "interrupt" if self.interrupted else "memory" if out_of_memory else "time"
        seconds = 0.05 * (time.perf_counter() - self._started)
        return open_part(self._context, self.frontier, best, ended, Means.from_now(seconds, self.means.memory_limit))

    def _nothing_found(self) -> TilewrightError:
        """Return the error that says why there is no mapping, or that the means ran out before this was known."""
        if self.is_finished:
            return self._nothing_fits()
        return UndecidedError(
            "no mapping was found, and none was ruled out, before time or memory ran out",
            where=self.original.name,
            hint="raise the time limit or the memory limit, or ask for less: fewer constraints, no limits",
        )

    def _nothing_fits(self) -> InfeasibleError:
        """Return the error that says why nothing fits, worked out in about the time that the search took."""
        seconds = SECONDS_TO_DIAGNOSE
        seconds += min(time.perf_counter() - self._started, self.means.seconds_left)
        own = Means.of_its_own(seconds, self.means.memory_limit)
        if isinstance(self.objective, Capped):
            return unmet_limits(self.objective, lambda objective: self._least(objective, own))
        if self.constraints.is_free:
            return diagnose(self.original, self.machine)
        # That shortages were ruled out says that the simplest mapping fits.
        self._witnesses = [] if self.original.has_zeros else [simplest_mapping(self.original, self.machine)]
        conflict = smallest_conflict(self.constraints, lambda fewer: self._has_mapping(fewer, own))
        if not conflict:
            return diagnose(self.original, self.machine)
        return conflict_error(self.original, self.constraints, conflict)

    def _least(self, objective: Objective, means: Means) -> tuple[float, bool]:
        """Return the lower bound of another objective, and whether some mapping reaches it."""
        search = replace(self, objective=objective, count=1, ceiling=math.inf, means=means)
        try:
            certificate = search.run()[2]
        except UndecidedError:
            return search.open_bound, False
        return certificate.lower_bound, certificate.proven

    def _has_mapping(self, constraints: Constraints, means: Means) -> bool:
        if any(not violations(mapping, self.machine, constraints) for mapping in self._witnesses):
            return True
        if fixed_tiles_error(self.original, self.machine, constraints, self.space) is not None:
            return False
        search = replace(self, constraints=constraints, count=1, enough=True, ceiling=math.inf, means=means)
        if not search.solve():
            if not search.is_finished:
                raise OutOfMeans
            return False
        self._witnesses.append(search.found[0].mapping)
        return True

    @property
    def is_finished(self) -> bool:
        """Tell whether it was known that nothing is better than what is found before time or memory ran out."""
        return not self.out_of_time and self.frontier.let_go >= self.found.cutoff

    @property
    def open_bound(self) -> float:
        """Return the lower bound of all that has not been looked at."""
        return max(self.floor, self.frontier.bound + self.surroundings.short_least if self.frontier.begun else 0.0)

    def certificate(self, found: FoundMapping) -> Certificate:
        """Return what the search proves of one of the mappings found: only those listed before it are better."""
        open_bound = self.open_bound
        return Certificate(
            objective=self.objective.name,
            tiling=self.tiling,
            value=found.value,
            lower_bound=or_value(open_bound, found.value),
            space_size=self._counted,
            placements=self._placements,
            evaluated=self.found.evaluated,
            pruned=dict(sorted(self.pruned.items())),
            seconds=time.perf_counter() - self._started,
            space=self.space,
            constraints=self.constraints.describe(),
            interrupted=self.interrupted,
            open_part=None if reaches(open_bound, found.value) else self._open_part(found),
        )

    @property
    def _placements(self) -> int:
        """Count the choices of memories for all tensors that constraints leave."""
        roles = {tensor.name: tensor.role for tensor in self.original.tensors}
        keeps = {memory.name: memory.keeps for memory in self.machine.memories}
        fixed = sum(keeps[memory][roles[tensor]] == "may" for memory, tensor in self.constraints.keeps)
        return int(placements(self.original, self.machine) // 2**fixed)

    @cached_property
    def _counted(self) -> int | None:
        """Count the mappings of the space; None where counting them takes longer than searching, and 20 ms."""
        elapsed = time.perf_counter() - self._started
        seconds = max(0.02, min(elapsed, self.means.seconds_left))
        means = Means.from_now(seconds, self.means.memory_limit // 2)
        try:
            return count_mappings(self.original, self.machine, self.tiling, self.space, means)
        except OutOfMeans:
            return None
