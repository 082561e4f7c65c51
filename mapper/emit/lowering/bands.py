"""Loops with nothing between them: their order is free in a program, and compilers and caches care for it.

What they stand around is done once for each of their steps in every order, so the same tiles are copied, and sums are
the same but for rounding. Of loops around points, innermost goes the one that leaves the most arrays where they are, or
steps through them word by word: compilers turn it into vector instructions. Buffers are packed along it. Of loops
around copies, those come first that take the longest steps through whole tensors, so that the others use what is left
of a line of the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ....ir import Operation
from .loop_program import Access, Affine, Array, Compute, Drain, Fill, For, LookUp, Statement

SHORTEST = 4
"""Iterations of a loop that is worth being innermost, and that a compiler is asked to turn into vector instructions."""
LEAST_PARALLEL_MACS = 20_000
"""Multiply-accumulates in a loop that is worth the start of threads, which takes microseconds."""


def with_better_bands(body: tuple[Statement, ...]) -> tuple[tuple[Statement, ...], dict[Array, Array]]:
    """The same statements with the loops around points in the order that is best for them; and what has become of
    buffers, which are packed along the innermost loop."""
    packed: dict[Array, Array] = {}
    found = tuple(_changed(statement, packed) for statement in body)
    return tuple(renamed(statement, packed) for statement in found), packed


def _changed(statement: Statement, packed: dict[Array, Array]) -> Statement:
    if not isinstance(statement, For):
        return statement
    loops, points = _band(statement)
    if points is None:
        inner: tuple[Statement, ...] = tuple(_changed(each, packed) for each in loops[-1].body)
        in_order = any(isinstance(each, LookUp) for each in loops[-1].body)
        for loop in reversed(loops if in_order else _longest_steps_first(loops)):
            inner = (replace(loop, body=inner),)
        return inner[0]
    ordered = _ordered(loops, points)
    for access in (points.target, *points.operands):
        _pack(access, ordered[-1], packed)
    result: Statement = points
    for loop in reversed(ordered):
        result = replace(loop, body=(result,))
    return result


def _band(loop: For) -> tuple[list[For], Compute | None]:
    """A loop and those in it, down to the points of an operation; None where something else stands between."""
    loops = [loop]
    while len(loops[-1].body) == 1:
        (inner,) = loops[-1].body
        if isinstance(inner, Compute):
            return loops, inner
        if not isinstance(inner, For):
            break
        loops.append(inner)
    return loops, None


def _longest_steps_first(loops: Sequence[For]) -> list[For]:
    """Loops around copies; those over the same dimension keep their order."""
    found = list(loops)
    length = {loop.variable: _steps_of(loop, loops[-1].body) for loop in loops}
    for end in range(len(found) - 1, 0, -1):
        for at in range(end):
            one, next_one = found[at], found[at + 1]
            if length[one.variable] < length[next_one.variable] and one.variable.dim != next_one.variable.dim:
                found[at], found[at + 1] = next_one, one
    return found


def _steps_of(loop: For, body: Sequence[Statement]) -> int:
    """Words from one step of a loop to the next, of all whole tensors that are copied or computed with inside."""
    found = 0
    for statement in body:
        match statement:
            case For():
                found += _steps_of(loop, statement.body)
            case Fill(source=array, at=at) | Drain(target=array, at=at) if not array.is_local:
                found += _stride(Access(array, at), loop)
            case Compute():
                accesses = (statement.target, *statement.operands)
                found += sum(_stride(access, loop) for access in accesses if not access.array.is_local)
    return found


def _ordered(loops: Sequence[For], points: Compute) -> list[For]:
    """The loops, with the best one innermost; loops over the same dimension keep their order."""
    last = {loop.variable.dim: loop for loop in loops}
    choices = [loop for loop in last.values() if loop.trips >= SHORTEST] or [loops[-1]]
    best = min(choices, key=lambda loop: (_scattered(loop, points), loop is not loops[-1]))
    return [loop for loop in loops if loop is not best] + [best]


def _scattered(loop: For, points: Compute) -> float:
    """How many arrays a loop steps through in jumps: written ones count twice. Buffers can be packed."""
    found = 0.0
    for access in (points.target, *points.operands):
        stride = _stride(access, loop)
        if stride > 1 and not (access.array.is_local and len(_axes(access, loop)) == 1):
            found += 2 if access is points.target else 1
    return found


def _axes(access: Access, loop: For) -> list[int]:
    """The axes of an array along which a loop steps."""
    return [axis for axis, part in enumerate(access.index) if any(v == loop.variable for v, _ in part.terms)]


def _stride(access: Access, loop: For) -> int:
    """Words from one step of a loop to the next."""
    array, found = access.array, 0
    for place, axis in enumerate(array.order):
        size = math.prod(array.shape[inner] for inner in array.order[place + 1 :])
        found += size * loop.step * sum(c for v, c in access.index[axis].terms if v == loop.variable)
    return abs(found)


def _pack(access: Access, loop: For, packed: dict[Array, Array]) -> None:
    """Let the axis that a loop steps along be the last one of a buffer; of several operations the first decides."""
    array, axes = access.array, _axes(access, loop)
    if array.is_local and len(axes) == 1 and array not in packed:
        order = (*(axis for axis in array.order if axis != axes[0]), axes[0])
        packed[array] = replace(array, order=order)


def renamed(statement: Statement, packed: Mapping[Array, Array]) -> Statement:
    """A statement on the buffers as they are packed."""
    changes: dict[str, Any] = {}
    for name in ("array", "buffer", "source", "target"):
        value = getattr(statement, name, None)
        if isinstance(value, Array) and value in packed:
            changes[name] = packed[value]
        elif isinstance(value, Access):
            changes[name] = _renamed_access(value, packed)
    if isinstance(statement, For):
        changes["body"] = tuple(renamed(each, packed) for each in statement.body)
    if isinstance(statement, Compute):
        changes["operands"] = tuple(_renamed_access(each, packed) for each in statement.operands)
    return replace(statement, **changes) if changes else statement


def _renamed_access(access: Access, packed: Mapping[Array, Array]) -> Access:
    return Access(packed.get(access.array, access.array), access.index)


def unrolled(body: Sequence[Statement], most: int) -> Iterator[For]:
    """Loops of known length right around the innermost ones, as many as have no more iterations together."""
    for statement in body:
        if not isinstance(statement, For):
            continue
        loops, points = _band(statement)
        if points is None:
            yield from unrolled(statement.body, most)
            continue
        iterations = 1
        for loop in reversed(loops[:-1]):
            iterations *= loop.trips
            if iterations > most or _is_open(loop.start, loop.stop):
                break
            yield loop


def threaded(body: Sequence[Statement]) -> Iterator[For]:
    """The outermost loops over instances of an array whose iterations threads can share: each works on one operation,
    writes other words of its output than all others, and has enough points in it."""
    for statement in body:
        if not isinstance(statement, For):
            continue
        operations = list(dict.fromkeys(points.operation for points in _points(statement.body)))
        is_shared = statement.axis and not isinstance(statement.body[0], Compute)
        if is_shared and len(operations) == 1 and writes_apart(statement, operations[0]):
            if _work(statement) >= LEAST_PARALLEL_MACS:
                yield statement
        else:
            yield from threaded(statement.body)


def writes_apart(loop: For, operation: Operation) -> bool:
    """Whether no two iterations of a loop write the same element of an array that outlives them.

    Buffers of operands that are filled inside are allocated inside; all else that is written are outputs.
    """
    return loop.variable.dim in operation.output.dims


def _points(body: Sequence[Statement]) -> Iterator[Compute]:
    for statement in body:
        if isinstance(statement, Compute):
            yield statement
        elif isinstance(statement, For):
            yield from _points(statement.body)


def _work(loop: For) -> int:
    """Points inside a loop."""
    inner = (_work(each) if isinstance(each, For) else isinstance(each, Compute) for each in loop.body)
    return loop.trips * sum(inner)


def _is_open(start: Affine, stop: Affine) -> bool:
    """Whether a loop's length is no number."""
    return bool((stop - start).terms)
