"""Solving the model: one objective, the product of two, and back from variables to a mapping."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction

from ortools.sat.python import cp_model

from ...arch import Architecture
from ...cost_models import Cost, Objective, evaluate
from ...ir import Loop, LoopNest, Mapping, Node, Problem, TilewrightError
from ..diagnosis import diagnose
from .costs import Amount, Costs
from .loops import MOST, Loops, Var, highest
from .words import refuse_exact_halos

TOLERANCE = 1e-9
"""Relative difference between the solver's whole numbers and floats that are sums of the same figures."""


def solve(
    problem: Problem, arch: Architecture, objective: Objective, time_limit: float | None
) -> tuple[Mapping, Cost, float]:
    refuse_exact_halos(problem, arch)
    loops = Loops(problem, arch)
    costs = Costs(loops)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    import os
    if os.environ.get("LOG"): solver.parameters.log_search_progress = True
    for kv in filter(None, os.environ.get("PARAMS", "").split(",")):
        k, v = kv.split("=")
        setattr(solver.parameters, k, type(getattr(solver.parameters, k))(int(v)))
    if objective == "edp":
        e, l = costs.energy, costs.latency
        pe = loops.model.new_int_var(0, MOST*2, "")
        print("emax", highest(e.count), "lmax", highest(l.count))
        loops.model.add_multiplication_equality(pe, [e.count, l.count])
        loops.model.minimize(pe)
        unit = e.unit * l.unit
    else:
        amount = costs.energy if objective == "energy" else costs.latency
        loops.model.minimize(amount.count)
        unit = amount.unit
    t0 = time.perf_counter()
    status = solver.solve(loops.model)
    print("status", solver.status_name(status), "solve", round(time.perf_counter() - t0, 2), "nvars", len(loops.model.proto.variables), len(loops.model.proto.constraints))
    value = float(Fraction(round(solver.objective_value)) * unit)
    mapping = mapping_of(loops, solver)
    cost = evaluate(mapping, arch)
    print(value, cost.objective(objective))
    return mapping, cost, float(Fraction(round(solver.best_objective_bound)) * unit)


def mapping_of(loops: Loops, solver: cp_model.CpSolver) -> Mapping:
    """The mapping that the solver's values stand for."""
    kept = [next(p for p, y in options if solver.boolean_value(y)) for options in loops.patterns]
    memory_at = {s: m for m, s in enumerate(loops.places.node)}
    items: list[Loop | Node] = []
    for s, slot in enumerate(loops.places.slots):
        dims = loops.dims
        if slot.memory is not None:
            items += [
                Node(slot.memory.name, tensor.name)
                for tensor, pattern in zip(loops.problem.tensors, kept, strict=True)
                if memory_at[s] in pattern
            ]
            dims = _outside_in(loops, solver, s)
        trips = {dim: _trips(loops, solver, dim, s) for dim in dims}
        items += [Loop(dim, count, slot.axis) for dim, count in trips.items() if count > 1]
    return Mapping(loops.problem, LoopNest(tuple(items)))


def _outside_in(loops: Loops, solver: cp_model.CpSolver, slot: int) -> tuple[str, ...]:
    chosen = next((each for y, each in loops.orders.get(slot, ()) if solver.boolean_value(y)), None)
    inner = chosen.order if chosen else ()
    return (*(dim for dim in loops.dims if dim not in inner), *reversed(inner))


def _trips(loops: Loops, solver: cp_model.CpSolver, dim: str, slot: int) -> int:
    return math.prod(p ** solver.value(loops.exponents[dim, p, slot]) for p in loops.primes[dim])
