"""The strategy as a whole: solve, rebuild the mapping, and have the cost model confirm it."""

from __future__ import annotations

from ...arch import Architecture
from ...cost_models import EDP, ENERGY, Cost, Objective, evaluate
from ...ir import Mapping, Problem
from ..diagnosis import diagnose, shortage_error
from ..kernel.tolerance import RELATIVE_TOLERANCE
from ..means import OutOfMeans
from ..simplest import unsearched_mappings
from .costs import Amount
from .product import Solution, least_product, mapping_of
from .solver import Solver


def solve(problem: Problem, arch: Architecture, objective: Objective) -> tuple[Mapping, Cost, float]:
    """The best mapping of the even space with perfect tiling, its cost, and the proven bound; where the means of the
    call under way end before one is found, one that needs no search."""
    try:
        return _solved(problem, arch, objective)
    except OutOfMeans:
        if shortage_error(problem, arch) is not None:
            raise diagnose(problem, arch) from None
    found = ((one, evaluate(one, arch)) for one in unsearched_mappings(problem, arch))
    mapping, cost = min(found, key=lambda one: one[1].objective(objective))
    return mapping, cost, 0.0


def _solved(problem: Problem, arch: Architecture, objective: Objective) -> tuple[Mapping, Cost, float]:
    """By the solver."""
    solver = Solver(problem, arch)
    energy, latency = solver.costs.energy, solver.costs.latency
    if objective == EDP:
        unit, found = energy.unit * latency.unit, least_product(solver)
    else:
        amount = energy if objective == ENERGY else latency
        unit, found = amount.unit, _least(solver, amount)
    if found.values is None:
        raise diagnose(problem, arch)
    mapping = mapping_of(solver.loops, found.values)
    cost = evaluate(mapping, arch)
    value = cost.objective(objective)
    # The cost model gives the mapping what the model claims: just that at an optimum, at most that elsewhere.
    claimed, bound = (float(figure * unit) for figure in (found.value, found.bound))
    slack = RELATIVE_TOLERANCE * abs(claimed)
    if not bound - slack <= value <= claimed + slack:
        raise RuntimeError(f"internal error: the model has {claimed!r}, at least {bound!r}, the cost model {value!r}")
    return mapping, cost, value if found.proven else min(value, float(found.bound * unit))


def _least(solver: Solver, amount: Amount) -> Solution:
    outcome = solver.least(amount.count)
    values = outcome.values if outcome.values or outcome.proven else solver.any()
    return Solution(values, values.value(amount.count) if values else 0, outcome.bound, outcome.proven)
