"""Corners of the convex hull of all segmentations' (energy, latency): each the least of a weighted sum.

They are supported points (`mapper/pareto/`). No segmentation lies below the *line* of a sum that has been searched.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ...cost_models import ENERGY, LATENCY, Objective
from ..certificate import Certificate
from ..kernel.tolerance import cutoff_of, or_value
from ..means import Means
from ..pareto.front import Point
from ..pareto.regions import Line
from ..pareto.supported import least_on_lines, supported_between
from ..pareto.weights import Weights, objective_of, weights_of
from .kinds import GroupKind
from .question import Apart, NetworkAnswer, NetworkQuestion
from .searching import GroupSolvers
from .steps import NetworkSteps
from .weight_choice import least_of_sum


@dataclass
class Corners:
    """The supported points of one network that may matter for the objective of one question.

    found     what searches came to
    lines     what no segmentation weighs less than, by weights: one for each
    searched  the kinds of groups of each, with what is known of them by these weights: in the order of those of `steps`
    steps     of the network; None where each corner has weights of its own on chip
    """

    question: NetworkQuestion
    solvers: GroupSolvers
    found: list[NetworkAnswer] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    searched: list[Sequence[GroupKind]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.means = Means.from_now(self.question.total_s, self.question.limits.memory_bytes)
        chosen = any(one.are_chosen for one in self.question.weights_in)
        self.steps = None if chosen else NetworkSteps(self.question, self.means)

    def explore(self) -> None:
        """Find all corners that may be better than those known: first the ends of the hull."""
        least = self._least(ENERGY)
        if not self.interrupted and self._is_wanted(least.energy_pj, 0.0):
            supported_between(least, self._least(LATENCY), _point, self._least_sum, self._is_looked_for)

    @property
    def interrupted(self) -> bool:
        return any(corner.certificate.interrupted for corner in self.found)

    @property
    def best(self) -> NetworkAnswer:
        """The supported point with the least objective."""
        return min(self.found, key=self.value)

    def value(self, corner: NetworkAnswer) -> float:
        """The objective of a corner; infinite where it does not keep limits."""
        return self.question.objective.value(corner.energy_pj, corner.latency_cycles)

    def bound(self, lines: list[Line], value: float) -> float:
        """Return a lower bound on the objective of all points on or above some lines; infinite where none of them keeps
        the limits.

        value  of interest is what is less than this
        """
        return or_value(least_on_lines(self.question.objective, lines, value), value)

    @property
    def apart(self) -> list[tuple[Apart, Weights]]:
        """With nothing fused, by the weights that each is least in."""
        return [(one.apart, weights) for one, (weights, _) in self._pairs if one.apart is not None]

    @property
    def passing(self) -> list[tuple[Apart, Weights]]:
        """The supported points among plans in which nothing stays between groups."""
        return [(one.passing, weights) for one, (weights, _) in self._pairs if one.passing is not None]

    @property
    def _pairs(self) -> list[tuple[NetworkAnswer, Line]]:
        return list(zip(self.found, self.lines, strict=True))

    def best_of(self, known: list[tuple[Apart, Weights]], others: Iterable[Apart] = ()) -> Apart | None:
        """The best of some, and of others, bounded below by what is proven of the first; None where none keeps the
        limits."""
        objective = self.question.objective
        every = [*(one for one, _ in known), *others]
        values = [objective.value(one.energy_pj, one.latency_cycles) for one in every]
        value = min(values, default=math.inf)
        if value == math.inf:
            return None
        bound = self.bound([(weights, one.lower_bound) for one, weights in known], value)
        return replace(every[values.index(value)], value=value, lower_bound=bound)

    def answer(self, bound: float | None = None) -> NetworkAnswer:
        """The best corner as the answer to the question.

        bound  nothing has less of the objective; None: what lies below no line has not, which is enough for products
        """
        best, searched = self.best, sum(corner.searched for corner in self.found)
        value = self.value(best)
        bound = self.bound(self.lines, value) if bound is None else bound
        return replace(
            best,
            question=self.question,
            certificate=self.certificate(value, bound, searched),
            apart=self.best_of(self.apart),
            passing=None if best.passing is None else self.best_of(self.passing),
            searched=searched,
            in_order=any(one.in_order for one in self.found),
            all_pass=any(one.all_pass for one in self.found),
        )

    def certificate(self, value: float, bound: float, searched: int) -> Certificate:
        """Return the certificate of a segmentation from all searches together."""
        told = dict.fromkeys(line for one in self.found for line in one.certificate.constraints)
        return replace(
            self.found[0].certificate,
            objective=self.question.objective.name,
            value=value,
            lower_bound=bound,
            evaluated=searched,
            seconds=time.perf_counter() - self.started,
            interrupted=self.interrupted,
            constraints=tuple(told),
            parts=(),
        )

    def _least(self, objective: Objective) -> NetworkAnswer:
        """The least of a weighted sum, in a part of the time."""
        weights = weights_of(objective)
        assert weights is not None
        share = self.means.share()
        asked = replace(self.question, objective=objective, total_s=share.seconds_left if share.limits_time else None)
        steps = None if self.steps is None else self.steps.by(objective)
        corner = least_of_sum(asked, self.solvers, steps)
        self.found.append(corner)
        self.lines.append((weights, corner.certificate.lower_bound))
        if steps is not None:
            self.searched.append(steps.kinds)
        return corner

    def _least_sum(self, weights: Weights) -> NetworkAnswer:
        return self._least(objective_of(weights))

    def _is_looked_for(self, energy_pj: float, latency_cycles: float) -> bool:
        return self._is_wanted(energy_pj, latency_cycles) and self._has_time

    def _is_wanted(self, energy_pj: float, latency_cycles: float) -> bool:
        """Whether a point of this energy and latency would be better than the incumbent."""
        best = cutoff_of(min(map(self.value, self.found)))
        return self.question.objective.value(energy_pj, latency_cycles) < best

    @property
    def _has_time(self) -> bool:
        total = self.question.total_s
        return not self.interrupted and (total is None or self.means.seconds_left > 0.1 * total)


def _point(corner: NetworkAnswer) -> Point:
    return corner.energy_pj, corner.latency_cycles
