"""The plan of the least product of energy and latency: EDP, or energy x latency^2.

Both are sums over layers and conversions, so plans are points of energy and latency. A product is least at a corner of
their convex hull, and every corner is the best plan for some weighted sum (`planning.py`). Sums are planned one after
the other, each along a line that leaves most open below it, until nothing below no line is better than the best plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...arch import Architecture
from ...cost_models import Objective, parse_objective
from ...ir import TilewrightError
from ...workloads.graph import NetworkGraph
from ..means import UNLIMITED, Means
from ..pareto.regions import Line, least_value, opening
from ..pareto.supported import PRODUCTS, sums_into
from ..pareto.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from .layer_searches import LayerSearches, Search
from .planning import LayoutPlan, PlanProduct, plan_sum

MOST_SUMS = 24
"""Weighted sums that are planned for one product, at most."""


def plan_layouts(
    graph: NetworkGraph,
    arch: Architecture,
    objective: Objective,
    search: Search,
    only: Sequence[str] = (),
    means: Means = UNLIMITED,
) -> LayoutPlan:
    """The best layouts in the outermost memory of all tensors of a network.

    search  finds the best mapping of a layer on a machine with stated layouts, or open ones
    only    layouts that tensors may have, such as NCHW and NHWC; none: all that are known for them
    means   of all searches together: where their time is up, the best plan of what is known is taken

    Raises TilewrightError where the outermost memory has no lines, and for objectives that are neither weighted sums of
    energy and latency nor products of the two.
    """
    if arch.memories[0].line_bits is None:
        raise TilewrightError(
            f"{arch.memories[0].name} has no lines, so where words lie makes no difference",
            where=arch.name,
            hint=f'give it lines: line: 64 B in its file, or --set "{arch.memories[0].name}.line=64 B"',
        )
    costs = LayerSearches(arch, search)
    if objective.name not in PRODUCTS:
        return plan_sum(graph, costs, objective, only, means)

    def plan_of(weights: Weights) -> LayoutPlan:
        return plan_sum(graph, costs, _objective_of(weights), only, means.share())

    return _plan_product(objective, plan_of, costs, means)


def _plan_product(
    objective: Objective, plan_of: Callable[[Weights], LayoutPlan], costs: LayerSearches, means: Means
) -> LayoutPlan:
    """The plan of the least product, and what no plan has less of.

    plan_of  the plan of a weighted sum, made in a part of the time that is left
    """
    plans: list[LayoutPlan] = []
    lines: list[Line] = []

    def value(plan: LayoutPlan) -> float:
        return objective.value(plan.energy_pj, plan.latency_cycles)

    def solve(weights: Weights) -> None:
        plans.append(plan_of(weights))
        lines.append((weights, plans[-1].bound))

    for alone in (ENERGY_ALONE, LATENCY_ALONE):
        solve(alone)
    while len(lines) < MOST_SUMS and not means.expired:
        found = opening(lines, objective.value, min(map(value, plans)))
        if found is None:
            break
        points = [(plan.energy_pj, plan.latency_cycles) for plan in plans]
        weights = next(sums_into(found, points, lines, objective), None)
        if weights is None:
            break
        solve(_as_written(weights))
    best = min(plans, key=value)
    least = min(value(best), least_value(lines, objective.value, math.inf, math.inf))
    return replace(best, product=PlanProduct(objective.name, value(best), least, costs.searched))


def _as_written(weights: Weights) -> Weights:
    """Weights with few digits, as a formula has them."""
    return Weights(1.0, float(f"{weights.latency:.6g}"))


def _objective_of(weights: Weights) -> Objective:
    if weights == LATENCY_ALONE:
        return parse_objective("latency")
    return parse_objective(f"energy + {weights.latency:.6g} * latency" if weights.latency else "energy")
