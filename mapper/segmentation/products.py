"""The segmentation of least product of powers of energy and latency, such as the EDP of a whole network.

It lies at a corner of the convex hull of all segmentations' (energy, latency), and corners are least weighted sums
(`mapper/cascades/search.py`)."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

from ...cost_models import ENERGY, LATENCY, Objective
from ..cascades.oracle import objective_of
from ..cascades.regions import Line, least_value
from ..cascades.weights import weights_between, weights_of
from ..certificate import RELATIVE_TOLERANCE
from .group_costs import Progress
from .group_search import GroupSearch
from .question import Apart, NetworkAnswer, NetworkQuestion
from .searching import GroupSolvers


@dataclass
class ProductSearch:
    """One search.

    corners  that are found
    lines    what no segmentation weighs less than, by weights
    """

    question: NetworkQuestion
    solvers: GroupSolvers
    progress: Progress | None
    corners: list[NetworkAnswer] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def run(self) -> NetworkAnswer:
        """The best corner, and what is proven of it."""
        started = time.perf_counter()
        least = self._least(ENERGY)
        if not self._interrupted:
            self._between(least, self._least(LATENCY))
        best = min(self.corners, key=self._value)
        value = self._value(best)
        bound = min(value, least_value(self.lines, self.question.objective.value, math.inf, math.inf))
        proof = replace(
            best.certificate,
            objective=self.question.objective.name,
            value=value,
            lower_bound=value if bound >= value * (1 - RELATIVE_TOLERANCE) else bound,
            evaluated=sum(corner.searched for corner in self.corners),
            seconds=time.perf_counter() - started,
            interrupted=self._interrupted,
            constraints=tuple(dict.fromkeys(line for one in self.corners for line in one.certificate.constraints)),
        )
        return replace(
            best,
            question=self.question,
            certificate=proof,
            apart=self._apart(),
            searched=proof.evaluated,
            in_order=any(corner.in_order for corner in self.corners),
            all_pass=any(corner.all_pass for corner in self.corners),
        )

    @property
    def _interrupted(self) -> bool:
        return any(corner.certificate.interrupted for corner in self.corners)

    def _value(self, corner: NetworkAnswer) -> float:
        return self.question.objective.value(corner.energy_pj, corner.latency_cycles)

    def _least(self, objective: Objective) -> NetworkAnswer:
        weights = weights_of(objective)
        assert weights is not None
        corner = GroupSearch(replace(self.question, objective=objective), self.solvers, self.progress).run()
        self.corners.append(corner)
        self.lines.append((weights, corner.certificate.lower_bound))
        return corner

    def _between(self, left: NetworkAnswer, right: NetworkAnswer) -> None:
        """All corners between two of them that may be better than what is known."""
        best = min(map(self._value, self.corners)) * (1 - RELATIVE_TOLERANCE)
        weights = weights_between((left.energy_pj, left.latency_cycles), (right.energy_pj, right.latency_cycles))
        matters = self.question.objective.value(left.energy_pj, right.latency_cycles) < best
        if weights is None or not matters or self._interrupted:
            return
        found = self._least(objective_of(weights))
        on_line = weights.of(left.energy_pj, left.latency_cycles) * (1 - RELATIVE_TOLERANCE)
        if weights.of(found.energy_pj, found.latency_cycles) < on_line:
            self._between(left, found)
            self._between(found, right)

    def _apart(self) -> Apart | None:
        """The best with nothing fused among the corners: bounded below by what is proven of them."""
        found = [
            (corner.apart, weights)
            for corner, (weights, _) in zip(self.corners, self.lines, strict=True)
            if corner.apart is not None
        ]
        if not found:
            return None
        product = self.question.objective.value
        best = min((one for one, _ in found), key=lambda one: product(one.energy_pj, one.latency_cycles))
        lines = [(weights, one.lower_bound) for one, weights in found]
        value = product(best.energy_pj, best.latency_cycles)
        return replace(best, value=value, lower_bound=min(value, least_value(lines, product, math.inf, math.inf)))
