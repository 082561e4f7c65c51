"""The certificate of a search over trees, or the error where it found nothing.

Bounds are those of weighted sums: along each line nothing weighs less than so much, so nothing below all of them has a
lower objective than their least (`mapper/pareto/`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ....cost_models import Capped, Objective
from ....cost_models.least_cost import LeastCost, least_cost_of_cascade
from ....ir import InfeasibleError, TilewrightError, UndecidedError
from ...answer import Answer
from ...certificate import Certificate, PartProof
from ...diagnosis import unmet_limits
from ...kernel.tolerance import or_value, reaches
from ...pareto.front import Point
from ...pareto.regions import Line, front_gap
from ...pareto.supported import least_on_lines
from ...pareto.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from ...progress import SearchProgress
from ..question import check_searchable
from ..tree_searches import Corner
from .weighted_sums import WeightedSums

PLAIN = "trees without shared loops along windows"
DIVIDED = "trees in which tiles of shared loops, and all below them, divide"
PLAIN_DIVIDED = f"{DIVIDED}, and without shared loops along windows"
"""Parts of the space, as certificates name them."""


@dataclass
class Proofs(WeightedSums):
    """The lower bounds that the weighted sums of one question prove.

    interrupted  whether the search was
    """

    interrupted: bool = False
    _is_complete: bool = False

    def __post_init__(self) -> None:
        self._started = time.perf_counter()
        check_searchable(self.question)
        super().__post_init__()

    @cached_property
    def from_the_start(self) -> LeastCost:
        """The lower bound on every tree that is known before any search."""
        question = self.question
        return least_cost_of_cascade(question.cascade, question.arch, [tensor for tensor, _ in question.stays])

    @property
    def seconds(self) -> float:
        """For which it has been searched."""
        return time.perf_counter() - self._started

    def answer_about(self, best: Corner, objective: Objective) -> Answer:
        """A mapping, and what this search proves of it."""
        value = objective.value(best.energy, best.latency)
        divided = or_value(self._bound(objective, value, self.bounds), value)
        least = min(self._least_ragged(objective, value), divided)
        parts = tuple(part for part in self._parts(objective, value, divided) if part.lower_bound > least)
        return Answer(best.mapping, best.cost, self._certificate(objective, value, least, parts))

    def progress(self) -> SearchProgress:
        """Tell how far the search has come."""
        objective, fuse = self.question.objective, self.question.fuse
        value = min([objective.value(corner.energy, corner.latency) for corner in self.corners], default=math.inf)
        bound = min(self._bound(objective, value, self.bounds), self._least_ragged(objective, value))
        what = "with nothing fused" if fuse == "none" else f"of {self.question.cascade.name}"
        doing = f"trees {what}: {self.solver.searches:,} mappings of operations searched"
        return SearchProgress(doing=doing, objective=objective.name, value=value, bound=bound)

    def _least_ragged(self, objective: Objective, value: float) -> float:
        """Return a lower bound on the objective of trees whose tiles below shared loops need not divide."""
        if not self.has_ragged_loops:
            return value
        return or_value(self._on_lines(objective, value, self.ragged_bounds), value)

    def _parts(self, objective: Objective, value: float, divided: float) -> Iterator[PartProof]:
        """Return the proofs about classes of trees that were searched separately.

        divided  what no tree has a lower objective than in which tiles below shared loops divide
        """
        yield PartProof(DIVIDED, divided)
        if self.plain_bounds:
            plain = or_value(self._bound(objective, value, [*self.bounds, *self.plain_bounds]), value)
            yield PartProof(PLAIN_DIVIDED if self.has_ragged_loops else PLAIN, plain)

    def _certificate(
        self, objective: Objective, value: float, bound: float, parts: tuple[PartProof, ...]
    ) -> Certificate:
        question = self.question
        return Certificate(
            objective=objective.name,
            tiling=question.tiling,
            value=value,
            lower_bound=bound,
            space_size=None,
            placements=0,
            evaluated=self.solver.searches,
            pruned=dict(sorted(self.pruned.items())),
            seconds=self.seconds,
            space=question.space,
            interrupted=self.interrupted,
            parts=parts,
        )

    def _bound(self, objective: Objective, value: float, bounds: Sequence[tuple[Weights, float]]) -> float:
        """The objective of no mapping is lower.

        value  of the best one that is found
        bounds  what no mapping weighs less than, by weights
        """
        return value if self._is_complete else self._on_lines(objective, value, bounds)

    def _on_lines(self, objective: Objective, value: float, bounds: Sequence[tuple[Weights, float]]) -> float:
        """Return the same proof from weighted sums and the bound known before any search."""
        return least_on_lines(objective, self._lines_of(bounds), value)

    def gap_of_front(self, points: Sequence[Point]) -> float:
        """Return how far below a front a missing tree could lie, as in `Points`.

        points  of the front, from the least energy to the least latency
        """
        divided = 0.0 if self._is_complete else front_gap(points, self._lines_of(self.bounds))
        return max(divided, front_gap(points, self._lines_of(self.ragged_bounds)) if self.has_ragged_loops else 0.0)

    def _lines_of(self, bounds: Sequence[Line]) -> list[Line]:
        """Bounds, and what is known before any search."""
        least = self.from_the_start
        return [*bounds, (ENERGY_ALONE, least.energy_pj), (LATENCY_ALONE, least.latency_cycles)]

    def _nothing_within(self, objective: Capped) -> TilewrightError:
        """Return the error that no mapping keeps the limits, or that the means ran out before this was known."""
        divided = self._bound(objective, math.inf, self.bounds)
        if min(divided, self._least_ragged(objective, math.inf)) == math.inf:
            return unmet_limits(objective, self._lowest)
        return self._undecided()

    def _lowest(self, one: Objective) -> tuple[float, bool]:
        """Return the lower bound by an objective without limits, and whether a supported point attains it."""
        found = min(one.value(c.energy, c.latency) for c in self.corners)
        bound = min(self._bound(one, found, self.bounds), self._least_ragged(one, found))
        return (found, True) if reaches(bound, found) else (bound, False)

    def _nothing_found(self) -> TilewrightError:
        name = self.question.cascade.name
        if self.out_of_means:
            return self._undecided()
        if not self._is_ruled_out:
            return UndecidedError(
                "no mapping was found in which partial sums have room, and it is not proven that there is none",
                where=name,
                hint=f"give memories of {self.question.arch.name} more room, or let partial sums be as wide as words",
            )
        return InfeasibleError(
            f"no mapping of its operations fits on {self.question.arch.name}",
            where=name,
            hint="search the operations one by one: the error says which memory is too small for which",
        )

    @property
    def _is_ruled_out(self) -> bool:
        """Whether bounds say that nothing fits."""
        kinds = [self.bounds, *([self.ragged_bounds] if self.has_ragged_loops else [])]
        return all(any(bound == math.inf for _, bound in bounds) for bounds in kinds)

    def _undecided(self) -> UndecidedError:
        return UndecidedError(
            "no mapping was found, and none was ruled out, before time or memory ran out",
            where=self.question.cascade.name,
            hint="raise the time limit or the memory limit",
        )
