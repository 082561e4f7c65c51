"""When each buffer of a scalar program is in use: it begins as late as it can, leaves as soon as it can, and has a
place of its own while it is live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...memory_plan import LiveBuffer
from .loop_program import (
    Allocate,
    Array,
    Begin,
    Compute,
    Drain,
    Fill,
    Finish,
    For,
    MoveUp,
    PerfectNest,
    RegisterTile,
    Statement,
    Zero,
)


def tightened(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The same statements; each buffer begins just before the first that uses it, and leaves just after the last.

    A tree's nodes stand above all branches, of which some may not use them: their addresses are others' until then.
    """
    found = [replace(each, body=tightened(each.body)) if isinstance(each, For) else each for each in body]
    for at in reversed(range(len(found))):
        if isinstance(found[at], (Allocate, Zero, Begin, Fill)) and _is_local(found[at]):
            _sink(found, at)
    for at, each in enumerate(found):
        if isinstance(each, Drain):
            _rise(found, at)
    return tuple(found)


def _is_local(statement: Statement) -> bool:
    return not isinstance(statement, (Zero, Begin)) or statement.array.is_local


def _sink(body: list[Statement], at: int) -> None:
    """Move a statement down to the first that has an array in common with it."""
    while at + 1 < len(body) and not _meet(body[at], body[at + 1]):
        body[at], body[at + 1] = body[at + 1], body[at]
        at += 1


def _rise(body: list[Statement], at: int) -> None:
    """Move a statement up to the last that has an array in common with it."""
    while at > 0 and not _meet(body[at - 1], body[at]):
        body[at], body[at - 1] = body[at - 1], body[at]
        at -= 1


def _meet(one: Statement, other: Statement) -> bool:
    """Whether one of two statements writes what the other one uses; what both read may be read in any order."""
    written, theirs = set(_written(one)), set(_written(other))
    return bool(written & set(arrays_of(other)) or theirs & set(arrays_of(one)))


def _written(statement: Statement) -> Iterator[Array]:
    match statement:
        case For(body=body):
            for each in body:
                yield from _written(each)
        case Allocate(buffer=array) | Zero(array=array) | Fill(buffer=array):
            yield array
        case Finish(array=array, target=Array() as target):
            yield from (array, target)  # as a drain
        case Finish(array=array) | Begin(array=array) | MoveUp(array=array):
            yield array
        case Drain(target=array, buffer=buffer):
            yield from (array, buffer)  # what has left is not written again
        case Compute(target=target):
            yield target.array
        case PerfectNest(target=target) | RegisterTile(nest=PerfectNest(target=target)):
            yield target.array


def arrays_of(statement: Statement) -> Iterator[Array]:
    """All arrays that a statement reads or writes, those inside a loop too."""
    match statement:
        case For(body=body):
            for each in body:
                yield from arrays_of(each)
        case Finish(array=array, target=Array() as target):
            yield from (array, target)
        case (
            Allocate(buffer=array) | Zero(array=array) | Begin(array=array) | Finish(array=array) | MoveUp(array=array)
        ):
            yield array
        case Fill(buffer=buffer, source=array) | Drain(buffer=buffer, target=array):
            yield from (buffer, array)
        case Compute(target=target, operands=operands):
            yield from (access.array for access in (target, *operands))
        case PerfectNest() | RegisterTile():
            yield from statement.arrays


def live_buffers(body: tuple[Statement, ...]) -> dict[Array, LiveBuffer]:
    """Every buffer with the statements from the first to the last that use it, numbered as they stand in the text; its
    size is in elements."""
    found: dict[Array, LiveBuffer] = {}
    _number(body, 0, found)
    return found


def _number(body: tuple[Statement, ...], moment: int, found: dict[Array, LiveBuffer]) -> int:
    """Add the buffers that begin in a body; return the number behind its last statement."""
    spans: list[tuple[int, int]] = []
    for statement in body:
        end = _number(statement.body, moment, found) if isinstance(statement, For) else moment + 1
        spans.append((moment, end))
        moment = end
    for statement in body:
        if isinstance(statement, Allocate):
            array = statement.buffer
            used = [span for each, span in zip(body, spans, strict=True) if array in set(arrays_of(each))]
            name = f"{array.memory}.{array.tensor.name}.{array.position}"
            found[array] = LiveBuffer(name, used[0][0], used[-1][1], array.elements)
    return moment
