"""One contraction over labelled axes, as numpy source text: a matrix product where that pays, else an einsum."""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....ir import MappingError

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Factor:
    """An array expression and the labels of its axes."""

    text: str
    axes: Axes


def contraction(factors: Sequence[Factor], output: Axes, trips: Sequence[int]) -> tuple[list[str], str]:
    """Statements, and an expression whose axes are `output`.

    trips  length of the axis of each label
    """
    if len(factors) == 2 and (classes := _classes(factors[0].axes, factors[1].axes, output)):
        sizes = [math.prod(trips[axis] for axis in found) for found in classes]
        _, rows, columns, depth = sizes
        # In multiplications of an einsum, a matrix product costs 300, and 1.5 for each word copied into a matrix.
        if rows * columns * depth > 300 + 1.5 * (rows * depth + depth * columns + rows * columns):
            return _product(factors, classes, output, trips)
    return [], _einsum(factors, output)


def _classes(left: Axes, right: Axes, output: Axes) -> tuple[Axes, Axes, Axes, Axes] | None:
    """Labels of batch, rows, columns and depth of a matrix product; None if a label is summed over in one operand."""
    batch = tuple(a for a in output if a in left and a in right)
    rows = tuple(a for a in output if a in left and a not in right)
    columns = tuple(a for a in output if a in right and a not in left)
    depth = tuple(a for a in left if a in right and a not in output)
    complete = {*left, *right} == {*batch, *rows, *columns, *depth}
    return (batch, rows, columns, depth) if complete else None


def _product(
    factors: Sequence[Factor], classes: tuple[Axes, Axes, Axes, Axes], output: Axes, trips: Sequence[int]
) -> tuple[list[str], str]:
    batch, rows, columns, depth = classes
    left = _matrix(factors[0], (batch, rows, depth), trips)
    right = _matrix(factors[1], (batch, depth, columns), trips)
    product = "(left @ right)"
    order = (*batch, *rows, *columns)
    if len(order) != 2 or batch:
        product += f".reshape({_tuple(trips[a] for a in order)})"
    if order != output:
        product += f".transpose({_tuple(order.index(a) for a in output)})"
    return [f"left = {left}", f"right = {right}"], product


def _matrix(factor: Factor, groups: tuple[Axes, Axes, Axes], trips: Sequence[int]) -> str:
    """The factor with its axes ordered and joined: (batch, one axis, one axis), or a plain matrix without batch."""
    order = tuple(a for group in groups for a in group)
    text = factor.text
    if order != factor.axes:
        text += f".transpose({_tuple(factor.axes.index(a) for a in order)})"
    shape = [math.prod(trips[a] for a in group) for group in (groups if groups[0] else groups[1:])]
    if len(order) != len(shape):
        text += f".reshape({_tuple(shape)})"
    return text


def _einsum(factors: Sequence[Factor], output: Axes) -> str:
    used = sorted({a for factor in factors for a in factor.axes})
    if len(used) > len(string.ascii_letters):
        raise MappingError(f"a program for {len(used)} inner loops cannot be written; numpy names at most 52")
    letter = dict(zip(used, string.ascii_letters, strict=False))
    spelled = ",".join("".join(letter[a] for a in factor.axes) for factor in factors)
    result = "".join(letter[a] for a in output)
    return f'np.einsum("{spelled}->{result}", {", ".join(factor.text for factor in factors)})'


def _tuple(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
