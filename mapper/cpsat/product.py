"""Solving for energy x latency, exactly.

The solver multiplies whole numbers of 64 bits. Where the product may be larger, it minimizes the product of coarser
figures, rounded down: nothing is lost, but different products may look alike. Solutions that look as good as the best
one are then taken one by one, with their exact products; each forbids all that are no better in both figures, until
none is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ortools.sat.python import cp_model

from ...cost_models import evaluate
from ...ir import Loop, LoopNest, Mapping, Node
from ..kernel.tolerance import RELATIVE_TOLERANCE
from .loops import MOST, LoopVariables, Var, highest
from .solver import RELAXATIONS, Solver, single_threaded


@dataclass(frozen=True)
class Solution:
    """A solution, a product that its own does not exceed, a bound for all solutions, and whether they are equal.

    Products are in whole units of energy x latency. values: None if there is no solution.
    """

    values: cp_model.CpSolver | None
    value: int
    bound: int
    proven: bool


def least_product(solver: Solver, most: int = MOST) -> Solution:
    """Minimize energy x latency; `most` bounds the products that the solver works with."""
    energy, latency = solver.costs.energy.count, solver.costs.latency.count
    scouts = [solver.least(figure, turns=1) for figure in (latency, energy)]
    found = [scout.values for scout in scouts if scout.values is not None]
    if not found:
        first = solver.any()
        if first is None:
            return Solution(None, 0, 0, proven=True)
        found = [first]
    limit, known = min(((_upper_bound(solver, values), values) for values in found), key=lambda pair: pair[0])
    least_latency, least_energy = (scout.bound for scout in scouts)
    for figure, other in ((energy, least_latency), (latency, least_energy)):
        if other:
            solver.model.add(figure <= limit // other)
    sides = tuple(min(highest(f), limit // max(1, o)) for f, o in ((energy, least_latency), (latency, least_energy)))
    steps = _steps(limit, sides, most)
    coarse = [
        _coarse(solver, figure, side // step, step)
        for figure, side, step in zip((energy, latency), sides, steps, strict=True)
    ]
    product = solver.model.new_int_var(0, limit // math.prod(steps), "")
    solver.model.add_multiplication_equality(product, coarse)
    best = Solution(known, limit, least_energy * least_latency, proven=False)
    return _closed(solver, product, math.prod(steps), best)


def _upper_bound(solver: Solver, values: cp_model.CpSolver) -> int:
    """A product, in whole units, that is not below that of a solution."""
    unit = solver.costs.energy.unit * solver.costs.latency.unit
    edp = evaluate(mapping_of(solver.loops, values), solver.arch).edp
    return math.ceil(Fraction(edp * (1 + RELATIVE_TOLERANCE)) / unit)


def _steps(limit: int, sides: tuple[int, ...], most: int) -> tuple[int, int]:
    """By how much to divide two figures of at most `sides`, so that their product is at most `limit` / `most`."""
    first, second = sides
    steps = [1, 1]
    while limit // math.prod(steps) >= most:
        steps[first // steps[0] < second // steps[1]] *= 2
    return steps[0], steps[1]


def _coarse(solver: Solver, figure: Var, highest_value: int, step: int) -> Var:
    """A variable that is at least the figure / step, rounded down."""
    if step == 1:
        return figure
    coarse = solver.model.new_int_var(0, highest_value, "")
    solver.model.add(step * coarse + (step - 1) >= figure)
    return coarse


def _closed(solver: Solver, product: Var, step: int, best: Solution) -> Solution:
    """Minimize the product (in steps) until the best solution is proven, or the time is up."""
    while True:
        outcome = solver.least(product)
        bound = max(best.bound, min(outcome.bound * step, best.value))
        if outcome.values is None:
            return Solution(best.values, best.value, best.value if outcome.proven else bound, outcome.proven)
        energy, latency = _figures(solver, outcome.values, exact=step == 1)
        if energy * latency <= best.value:
            best = Solution(outcome.values, energy * latency, bound, proven=False)
        if not outcome.proven:
            return best
        if step == 1 or outcome.bound * step >= best.value:
            return Solution(best.values, best.value, best.value, proven=True)
        # From now on, solutions must be better in one of the two.
        model = solver.model
        better = [model.new_bool_var(""), model.new_bool_var("")]
        model.add(solver.costs.energy.count <= energy - 1).only_enforce_if(better[0])
        model.add(solver.costs.latency.count <= latency - 1).only_enforce_if(better[1])
        model.add_bool_or(better)
        solver.model.add(product <= (best.value - 1) // step)


def _figures(solver: Solver, values: cp_model.CpSolver, *, exact: bool) -> tuple[int, int]:
    """Energy and latency of a solution in whole units; where the solver may have left slack, without it."""
    figures = (solver.costs.energy.count, solver.costs.latency.count)
    if exact:
        energy, latency = (values.value(figure) for figure in figures)
        return energy, latency
    fixed = solver.model.clone()
    decisions = [*solver.loops.exponents.values()]
    decisions += [y for options in solver.loops.patterns for _, y in options]
    decisions += [y for classes in solver.loops.orders.values() for y, _ in classes]
    for decision in decisions:
        fixed.add(fixed.get_int_var_from_proto_index(decision.index) == values.value(decision))
    least = []
    for figure in figures:
        again = single_threaded(RELAXATIONS[0])
        fixed.minimize(fixed.get_int_var_from_proto_index(figure.index))
        status = again.solve(fixed)
        assert status == cp_model.OPTIMAL, again.status_name(status)
        least.append(again.value(figure))
    return least[0], least[1]


def mapping_of(loops: LoopVariables, values: cp_model.CpSolver) -> Mapping:
    """The mapping that a solution stands for."""
    kept = [next(pattern for pattern, y in options if values.boolean_value(y)) for options in loops.patterns]
    memory_at = {s: m for m, s in enumerate(loops.places.node)}
    items: list[Loop | Node] = []
    for s, slot in enumerate(loops.places.slots):
        dims = loops.dims
        if slot.memory is not None:
            tensors = zip(loops.problem.tensors, kept, strict=True)
            items += [Node(slot.memory.name, t.name) for t, pattern in tensors if memory_at[s] in pattern]
        if not slot.is_spatial:
            dims = _outside_in(loops, values, s)
        trips = {dim: _trips(loops, values, dim, s) for dim in dims}
        items += [Loop(dim, count, slot.axis) for dim, count in trips.items() if count > 1]
    return Mapping(loops.problem, LoopNest(tuple(items)))


def _outside_in(loops: LoopVariables, values: cp_model.CpSolver, slot: int) -> tuple[str, ...]:
    chosen = next((each for y, each in loops.orders.get(slot, ()) if values.boolean_value(y)), None)
    inner = chosen.order if chosen else ()
    return (*(dim for dim in loops.dims if dim not in inner), *reversed(inner))


def _trips(loops: LoopVariables, values: cp_model.CpSolver, dim: str, slot: int) -> int:
    return math.prod(prime ** values.value(loops.exponents[dim, prime, slot]) for prime in loops.primes[dim])
