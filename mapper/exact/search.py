"""The exact search of one operation, begun with searches whose best mappings are incumbents and soon found.

These ask for less (a smaller space, or a relaxation whose bound holds here too), or for another problem whose mappings
can be cut to this one. What they find prunes all that costs more; the proof is that of `from_scratch.py`.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ...arch import Architecture, Memory
from ...cost_models import LATENCY, Cost, ObjectiveLike, parse_objective
from ...cost_models.layouts import packed
from ...ir import InfeasibleError, Loop, LoopNest, Mapping, Node, Problem, ceil_div
from ..certificate import Certificate
from ..constraints import Constraints
from ..effort import EFFORT, Effort
from ..garbage import collecting_rarely
from ..kernel.tolerance import reaches
from ..means import DEFAULT_MEMORY_LIMIT, Means, OutOfMeans
from ..progress import SearchProgress
from ..space import SPACES, Space
from ..tilings import TILINGS, Tiling, factors, rounded_up
from .counting.lines import never_fills_lines
from .exploring.open_items import OpenItem
from .from_scratch import FREE, SearchFromScratch
from .growing.placements import OpenPlacement
from .question.surroundings import ALONE


@dataclass
class ExactSearch(SearchFromScratch):
    """An exact search of one operation, which looks for incumbents in searches ahead of it."""

    _first: ExactSearch | None = field(default=None, init=False)
    _cheaper: tuple[float, str, float] | None = field(default=None, init=False)

    def _solve(self, proof: bool) -> None:
        if self._has_to_explore(proof):
            super()._solve(proof)

    def _has_to_explore(self, proof: bool) -> bool:
        """Search ahead, and tell whether anything may be better than what that has found."""
        self._start_from_full_lines()
        if not self._start_from_lasting_visits(proof) or (proof and self._is_settled):
            return False
        may_be_in_vain = not self.reduced.visit.perfect.all() and self.count == 1 and self.ceiling < math.inf
        if proof and may_be_in_vain and self._is_soon_done():
            return False
        self._start_from_innermost_halos()
        self._start_from_smaller_space()
        return True

    def progress(self) -> SearchProgress:
        """Tell how far the search has come; while a smaller space is searched first, with the best mapping there."""
        own = super().progress()
        if self._first is not None:
            ahead = self._first.progress()
            least = min(own.value, ahead.value)
            return replace(ahead, value=least, bound=min(self.open_bound, least), cheaper=None)
        if self._cheaper is not None and reaches(own.value, self._cheaper[0]):
            own = replace(own, cheaper=self._cheaper[1:])
        return own

    def _search_ahead(self, first: ExactSearch, proof: bool = True, relaxed_by: float | None = None) -> None:
        """Run another search first: what it finds is counted as it is here, and prunes all that costs more.

        relaxed_by  of a relaxation, in which every mapping costs less by so much at least: what it proves holds here
                    too; None: of a smaller space, or of a machine on which no mapping costs less
        """
        self._first = first if relaxed_by is None else None
        if first.solve(proof) and relaxed_by is not None and proof:
            self.floor = max(self.floor, min(first.open_bound, first.found[0].value) + relaxed_by)
        self._first = None
        if first.original is self.original:
            self.found.start_from(first.found)
        elif first.found:
            self._evaluate(cut_to(self.original, first.found[0].mapping))
        self.pruned.update(first.pruned)
        if first.interrupted:
            raise KeyboardInterrupt

    @property
    def _may_start_elsewhere(self) -> bool:
        """Tell whether the best mapping alone is asked for, of a whole operation, and no good one is known."""
        return self.count == 1 and not self.enough and self.surroundings is ALONE and self.ceiling == math.inf

    def _start_from_full_lines(self) -> None:
        """Search a relaxation first in which lines are always full: its best mapping is found much sooner, costs little
        more with its lines, and is the best one if it costs no more. Where energy counts and no mapping fills all
        lines, that would never prove anything, and is left out."""
        if not self.reduced.has_lines or not self._may_start_elsewhere:
            return
        if self.objective == LATENCY or not never_fills_lines(self.original, self.machine):
            first = replace(self, machine=packed(self.machine), means=self.means.share(self.effort.share))
            self._search_ahead(first, relaxed_by=0.0)

    def _start_from_innermost_halos(self) -> None:
        """Search the machine first whose memories keep overlaps along innermost movers alone: its best mapping is
        proven much sooner, and costs no more where memories keep all of a halo."""
        windows = any(len(rank) > 1 for tensor in self.original.tensors for rank in tensor.ranks)
        machine = with_innermost_halos(self.machine) if windows and self._may_start_elsewhere else self.machine
        if machine != self.machine:
            self._search_ahead(replace(self, machine=machine, means=self.means.share(self.effort.share)))

    def _start_from_lasting_visits(self, proof: bool) -> bool:
        """Search all visits but short ones first, where there are short ones: columns tell what these cost, so that the
        best mapping is known much sooner. Return False where none is below the ceiling."""
        around = self.surroundings
        if not around.short:
            return True
        lasting = replace(around, short={}, short_least=0.0)
        first = replace(self, surroundings=lasting, ceiling=self.ceiling - around.short_least)
        self._search_ahead(first, proof, relaxed_by=around.short_least)
        if not first.is_finished:
            raise OutOfMeans
        return bool(first.found)

    def _start_from_smaller_space(self) -> None:
        """Search a smaller space first: its best mappings are incumbents, found much sooner.

        The best uneven ones are often so much better than the best even ones that those need not be known for sure,
        unless time may run out: then what is handed over is to be no worse than they are.
        """
        if self.space == "uneven":
            self._start_from(self.tiling, SPACES[0], self.count, proof=self.means.limits_time)
        elif not self.reduced.visit.perfect.all():
            self._start_from(TILINGS[0], self.space, self.count)
            self._start_from_larger_sizes()
        elif self.count > 1:
            self._start_from(self.tiling, self.space, 1)
            for best in tuple(self.found):
                self._look_around(best.mapping)

    def _start_from(self, tiling: Tiling, space: Space, count: int, proof: bool = True) -> None:
        """Start with the mappings of a smaller space, whose search may take some of the time."""
        means, started = self.means.share(self.effort.share), time.perf_counter()
        first = replace(self, tiling=tiling, space=space, means=means, count=count, ceiling=self.found.wanted_below)
        self._search_ahead(first, proof)
        if first.found and first.is_finished and (tiling, space) != (self.tiling, self.space):
            asked = f"tiling {tiling}" if tiling != self.tiling else f"space {space}"
            self._cheaper = first.found[0].value, asked, time.perf_counter() - started

    def _start_from_larger_sizes(self) -> None:
        """Search tiles that divide larger sizes first, where few divide large ones that are asked for: cut to these,
        the best mapping is an incumbent, found long before most that have shorter last tiles."""
        sizes = {dim: rounded_up(size, self.effort.some) for dim, size in self.original.dims}
        belong_to_sizes = self.original.has_zeros or self.original.pads
        if sizes == self.original.sizes or not self._may_start_elsewhere or belong_to_sizes:
            return
        larger, means = replace(self.original, dims=tuple(sizes.items())), self.means.share(self.effort.share)
        first = replace(self, original=larger, tiling=TILINGS[0], means=means, known=None)
        with suppress(InfeasibleError):
            self._search_ahead(first)

    def _look_around(self, mapping: Mapping) -> None:
        """Evaluate mappings near one of the even space: most of the best ones are."""
        from ..heuristics.neighbourhood import neighbourhood  # here, since few searches need it

        for near in neighbourhood(mapping, self.machine):
            self.means.check()
            self._evaluate(near)

    @property
    def _is_settled(self) -> bool:
        """Tell whether the incumbent is known to be the best mapping before any other was looked at."""
        return bool(self.found) and reaches(self.floor, self.found[0].value)

    def _is_soon_done(self) -> bool:
        """Tell whether a few steps show that no mapping is below the ceiling, as most often, or find the best: then no
        smaller space need be searched. Else the search goes on from there once a smaller space has been searched."""
        self._begun = self._prepared()
        grows = self._tiles <= self.effort.first_cells
        for _ in range(self.effort.few):
            if not self.frontier.is_open or not (grows or self._decides_placements):
                break
            self.best_first.step()
        return not self.frontier.is_open and self.is_finished

    @property
    def _decides_placements(self) -> bool:
        """Tell whether a placement has the lowest bound."""
        lowest = self.frontier.lowest
        return isinstance(lowest, OpenItem) and isinstance(lowest.item, OpenPlacement)

    @property
    def _tiles(self) -> int:
        """Count the tiles of the problem, about."""
        reduced = self.reduced
        sizes = (size for _, size in reduced.problem.dims)
        return math.prod(len(factors(n, kind, True)) for n, kind in zip(sizes, reduced.visit.tilings, strict=True))


def cut_to(problem: Problem, mapping: Mapping) -> Mapping:
    """A mapping of a problem with larger sizes, as one of smaller sizes: loops that would go beyond them end sooner."""
    left, kept = dict(problem.sizes), list[Loop | Node]()
    for item in reversed(mapping.nest.items):
        if isinstance(item, Loop):
            trips = min(item.trips, left[item.dim])
            left[item.dim] = ceil_div(left[item.dim], trips)
            item = replace(item, trips=trips)
        if not isinstance(item, Loop) or item.trips > 1:
            kept.append(item)
    return Mapping(problem, LoopNest(tuple(reversed(kept))))


def with_innermost_halos(arch: Architecture) -> Architecture:
    """Return the machine with `halo: innermost` in place of `halo: exact`, on which no mapping costs less."""
    levels = tuple(
        level.model_copy(update={"halo": "innermost"}) if isinstance(level, Memory) and level.halo == "exact" else level
        for level in arch.levels
    )
    return arch.model_copy(update={"levels": levels})


@collecting_rarely
def search_exact(
    problem: Problem,
    arch: Architecture,
    objective: ObjectiveLike = "edp",
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: Constraints = FREE,
    time_limit: float | None = None,
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
    effort: Effort = EFFORT,
) -> tuple[Mapping, Cost, Certificate]:
    """Return the proven best mapping, its cost and the certificate; where the time (seconds) or the memory (bytes) runs
    out, the best mapping found and its gap.

    Raises InfeasibleError, with a diagnosis, when nothing fits; UndecidedError when time or memory run out before
    anything is found.
    """
    means = Means.from_now(time_limit, memory_limit)
    search = ExactSearch(problem, arch, parse_objective(objective), tiling, space, constraints, means, effort=effort)
    return search.run()
