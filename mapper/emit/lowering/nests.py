"""Which statements of a program are nests of one operation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .lifetimes import arrays_of
from .loop_program import (
    Access,
    Affine,
    Allocate,
    Begin,
    Compute,
    Drain,
    Finish,
    For,
    PerfectNest,
    Statement,
    Variable,
    Zero,
)


def with_nests(body: Sequence[Statement]) -> tuple[Statement, ...]:
    """The same statements, with nests where there are such."""
    found: list[Statement | None] = []
    for statement in body:
        if isinstance(statement, For):
            found.append(_nest_of(statement) or replace(statement, body=with_nests(statement.body)))
        else:
            found.append(statement)
    for at, one in enumerate(found):
        if isinstance(one, PerfectNest):
            found[at] = _finished(found, at, _begun(found, at, one))
    return tuple(one for one in found if one is not None)


def _nest_of(loop: For) -> PerfectNest | None:
    """The nest that a loop begins, if it is one."""
    loops: list[For] = []
    outside: int | None = None
    drain: Drain | None = None
    body: tuple[Statement, ...] = (loop,)
    while True:
        match body:
            case (For() as inner,):
                pass
            case (Allocate(), Zero(at=()) | Begin() as begin, For() as inner, Drain() as drain) if outside is None:
                if drain.buffer != begin.array:
                    return None
                outside = len(loops)
            case (Compute() as points,):
                return _as_nest(loops, len(loops) if outside is None else outside, drain, points)
            case _:
                return None
        if inner.end is not None:
            return None
        loops.append(inner)
        body = inner.body


def _as_nest(loops: Sequence[For], outside: int, drain: Drain | None, points: Compute) -> PerfectNest | None:
    operation, target = points.operation, points.target
    if operation.iterates or operation.start is not None or operation.reads_before(operation.output.name):
        return None
    if drain is not None:
        if drain.buffer != target.array:
            return None
        target = Access(drain.target, tuple(a + b for a, b in zip(drain.at, target.index, strict=True)))
    extents: dict[str, int] = {}
    begins: dict[str, Affine] = {}
    last: dict[str, For] = {}
    tile: dict[str, int] = {}
    for number, loop in enumerate(loops):
        dim, length = loop.variable.dim, loop.stop - loop.start
        if dim not in extents:
            if length.terms:
                return None
            extents[dim], begins[dim], tile[dim] = length.constant, loop.start, length.constant
        if number < outside:
            tile[dim] = loop.step
        last[dim] = loop
    variables = {dim: loop.variable for dim, loop in last.items()}
    accesses = (target, *points.operands)
    if any(loop.step != 1 for loop in last.values()) or not all(_is_plain(one, loops, variables) for one in accesses):
        return None
    outer = tuple((loop.variable.dim, loop.step) for loop in loops[:outside])
    made = operation.output.dims
    lane = next((loop.variable.dim for loop in loops if loop.axis and loop.variable.dim in made), None)
    return PerfectNest(operation, target, points.operands, outer, tile, extents, begins, variables, lane)


def _is_plain(access: Access, loops: Sequence[For], variables: Mapping[str, Variable]) -> bool:
    """Whether an access names of some loops the innermost ones alone, and an array that has every word there."""
    further = {loop.variable for loop in loops} - set(variables.values())
    named = {variable for part in access.index for variable, _ in part.terms}
    return not named & further and not access.array.edges and set(access.array.steps) <= {1}


def _begun(body: list[Statement | None], at: int, nest: PerfectNest) -> PerfectNest:
    """The nest with what its words begin with, where that stands before it and is of its words alone."""
    array = nest.target.array
    whole, first = tuple(map(Affine.of, array.shape)), (Affine(),) * len(array.shape)
    if math.prod(nest.extents[dim] for dim in nest.written) != array.elements:
        return nest
    for other in reversed(range(at)):
        match body[other]:
            case Zero(same, extents, place) if same == array:
                if extents == whole and place in ((), first) and nest.operation.reduction != "max":
                    body[other] = None
                    return replace(nest, begin=0.0)
                return nest
            case Begin(same, place, extents, value) if same == array:
                if extents == whole and place == first and value == -math.inf:
                    body[other] = None
                    return replace(nest, begin=value)
                return nest
            case None:
                pass
            case statement if array in set(arrays_of(statement)):
                return nest
    return nest


def _finished(body: list[Statement | None], at: int, nest: PerfectNest) -> PerfectNest:
    """The nest with what is done with its words at last, where it makes all of them."""
    array = nest.target.array
    whole, first = tuple(map(Affine.of, array.shape)), (Affine(),) * len(array.shape)
    for other in range(at + 1, len(body)) if nest.begin is not None else ():
        match body[other]:
            case Finish(same, place, extents, position, target=None) as finish if same == array:
                if extents == whole and place == first and position == first:
                    body[other] = None
                    return replace(nest, finish=finish)
                return nest
            case statement if statement is not None and array in set(arrays_of(statement)):
                return nest
    return nest
