"""From the solver's values to a mapping."""

from __future__ import annotations

import math

from ortools.sat.python import cp_model

from ...ir import Loop, LoopNest, Mapping, Node
from .loops import LoopVariables


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
