"""A fused mapping as a scalar program (`loop_program.py`), which `tree_lowering.py` makes; and how to walk one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....ir import Cascade, Place
from .loop_program import Allocate, Array, For, Statement


@dataclass(frozen=True)
class TreeProgram:
    """The whole program.

    inputs, outputs  arrays of the caller: tensors that no operation writes, and those that none reads
    body     loops, one or more in a body, around copies and points
    places   where in the tree the node of each buffer stands
    """

    cascade: Cascade
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    body: tuple[Statement, ...]
    places: Mapping[Array, Place]


@dataclass(frozen=True)
class WholeLying:
    """How a tensor that stays on chip lies there: as it was made, without zeros around it.

    made   positions of each axis
    first  of each axis, the position in the cascade's tensor of the first of these
    edges  axes along which readers may ask for positions that were not made, which are zeros
    """

    made: tuple[int, ...]
    first: tuple[int, ...]
    edges: frozenset[int] = frozenset()


def loops_of(body: tuple[Statement, ...]) -> Iterator[For]:
    """All loops, each before those inside it."""
    for statement in body:
        if isinstance(statement, For):
            yield statement
            yield from loops_of(statement.body)


def buffers_of(body: tuple[Statement, ...]) -> Iterator[Array]:
    """All arrays of the program's own, in the order in which they begin."""
    for statement in body:
        if isinstance(statement, Allocate):
            yield statement.buffer
        elif isinstance(statement, For):
            yield from buffers_of(statement.body)


def statements_of(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, loops before what is inside them."""
    for statement in body:
        yield statement
        if isinstance(statement, For):
            yield from statements_of(statement.body)
