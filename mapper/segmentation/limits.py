"""The best segmentation within limits on energy or latency of the whole run, or by a formula in the two.

It need not lie at a corner of the convex hull of all segmentations' (energy, latency). Corners are looked for first
(`corners.py`): one of them keeps the limits, and what lies below the line through two of them does not. Then those ways
are looked at that lie between (`front_ways.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ...cost_models import Capped
from ...ir import InfeasibleError, TilewrightError, UndecidedError
from ..kernel.tolerance import reaches
from ..pareto.regions import least_weight
from ..pareto.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from .corners import Corners
from .front_ways import FrontWays, Usable, region_of_interest
from .lazy_path import CheapestWay, Edge
from .question import Apart, NetworkAnswer, NetworkQuestion
from .searching import GroupSolvers
from .segments import Forbidden, Segments


@dataclass
class LimitedSearch:
    """One search."""

    question: NetworkQuestion
    solvers: GroupSolvers

    def run(self) -> NetworkAnswer:
        """The best segmentation, and what is proven of it.

        Raises InfeasibleError where no segmentation keeps the limits, UndecidedError where that is not known in time.
        """
        corners = Corners(self.question, self.solvers)
        corners.explore()
        value = corners.value(corners.best)
        bound = corners.bound(corners.lines, value)
        ways = None if bound >= value else self._ways(corners, value, bound)
        if ways is not None:
            ways.search()
            bound = ways.bound
        if ways is not None and ways.edges:
            return self._answer(corners, ways)
        if value == math.inf:
            raise self._nothing_within(corners, bound)
        return corners.answer(bound)

    def _ways(self, corners: Corners, value: float, bound: float) -> FrontWays | None:
        """The search for what lies between corners; None where there is no way to look for it."""
        if corners.interrupted or corners.steps is None or corners.steps.is_wild or corners.steps.ahead.memories:
            return None
        weights = self._closest(corners, value)
        most = None if weights is None else region_of_interest(corners, weights, value)
        if weights is None or most is None or math.inf in most:
            return None
        return FrontWays(corners, weights, value, bound)

    def _closest(self, corners: Corners, value: float) -> Weights | None:
        """The sum by which the least is open: of what is of interest, the least part lies above its line."""
        found: list[tuple[float, Weights]] = []
        for weights, _ in corners.lines:
            most = region_of_interest(corners, weights, value)
            if most is not None and 0 < most.weight < math.inf:
                found.append((1 - least_weight(corners.lines, weights) / most.weight, weights))
        return min(found, key=lambda one: one[0], default=(0.0, None))[1]

    def _answer(self, corners: Corners, ways: FrontWays) -> NetworkAnswer:
        """The best way of known trees whose tiles have addresses."""
        steps = ways.steps

        def next_best(forbidden: Forbidden, may_stay: bool) -> tuple[float, list[Edge]]:
            return ways.best_of(lambda edge: may_stay or edge.keeps_nothing, forbidden)

        way = CheapestWay(tuple(ways.edges), ways.value, min(ways.bound, ways.value))
        found = Segments(steps, way, corners.means, next_best)
        searched = sum(corner.searched for corner in corners.found) + ways.searches.searched
        proof = corners.certificate(found.way.value, found.way.bound, searched)
        if any(group.times > 1 for group in steps.groups):  # at corners that is no restriction: sums are least so
            told = (*proof.constraints, "what is done several times has one mapping")
            proof = replace(proof, constraints=tuple(dict.fromkeys(told)))
        return NetworkAnswer(
            self.question,
            found.segments,
            self._apart(corners, ways),
            replace(proof, interrupted=proof.interrupted or ways.interrupted),
            len(steps.groups),
            searched,
            found.staying,
            self._passing(corners, ways) if any(not one.is_weight for one in found.staying) else None,
            steps.in_order,
            steps.all_pass,
        )

    def _passing(self, corners: Corners, ways: FrontWays) -> Apart | None:
        """The best known way where nothing stays between groups."""
        return corners.best_of(corners.passing, _whole(ways, lambda edge: edge.keeps_nothing))

    def _apart(self, corners: Corners, ways: FrontWays) -> Apart | None:
        """Return the best known path with nothing fused. A softmax is several operations in one group, so its cost
        without fusing is known at supported points alone."""
        findings = [one for kinds in corners.searched for kind in kinds for one in kind.findings]
        if any(one.answer is not None and one.answer.unfused for one in findings):
            return corners.best_of(corners.apart)
        alone = {edge.step.group for edge in ways.steps.alone()}
        found = _whole(ways, lambda edge: edge.keeps_nothing and edge.step.group in alone)
        return corners.best_of(corners.apart, found)

    def _nothing_within(self, corners: Corners, bound: float) -> TilewrightError:
        """Return the error for limits that no segmentation keeps, with the least value of each; or for limits of which
        that is not known."""
        objective = self.question.objective
        assert isinstance(objective, Capped)
        figures = []
        for what, unit, limit, alone in (
            ("energy", "pJ", objective.max_energy_pj, ENERGY_ALONE),
            ("latency", "cycles", objective.max_latency_cycles, LATENCY_ALONE),
        ):
            if limit < math.inf:
                found = min(alone.of(one.energy_pj, one.latency_cycles) for one in corners.found)
                least = least_weight(corners.lines, alone)
                is_proven = reaches(least, found)
                open_still = "" if is_proven else f" so far, and at least {least:.10g}"
                figures.append(f"the least {what} is {found:.10g} {unit}{open_still}")
        both, told = "both limits" if len(figures) > 1 else "the limit", ", ".join(figures)
        where = f"objective {objective}"
        if bound == math.inf:
            return InfeasibleError(f"no segmentation keeps {both}: {told}", where=where, hint="raise the limit")
        message = f"no segmentation was found that keeps {both}, and it is not proven that there is none: {told}"
        return UndecidedError(message, where=where, hint="raise the time limits, or the limit of the objective")


def _whole(ways: FrontWays, usable: Usable) -> list[Apart]:
    """Return the cost of the best known path through some steps alone; None where there is no such path."""
    value, edges = ways.best_of(usable)
    if not edges:
        return []
    return [Apart(*ways.steps.totals(edges), value, 0.0)]
