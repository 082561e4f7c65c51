"""With which whole numbers every result of some operations is exact, in whatever order sums are added."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from ....ir import Call, Expression, MappingError, Number, Operand, Operation, did_you_mean
from ....ir.errors import shown

Element = Literal["float", "double", "int32"]

BITS: dict[str, int] = {"float": 24, "double": 53, "int32": 31}
"""Of each kind of element, the bits of whole numbers that it holds exactly."""


def check_element(element: object) -> None:
    """MappingError, with the nearest known one, for another kind."""
    known = get_args(Element)
    if not isinstance(element, str) or element not in known:
        message = f"unknown kind of element {shown(element)}, expected {' or '.join(known)}"
        raise MappingError(message, hint=did_you_mean(str(element), known))


LARGEST = 4
"""Magnitude of the whole numbers that a program checks itself with, where all its results stay exact."""
_EXACT = {"abs", "add", "max", "min", "mul", "neg", "relu", "sub"}
"""Functions of whole numbers that are whole numbers."""

Renamed = tuple[Operation, Mapping[str, str]]
"""An operation, and what each of its tensors is called among all operations."""


def largest_exact(operations: Sequence[Renamed], element: Element = "double") -> int:
    """The largest magnitude of inputs with which all results are exact, up to LARGEST; 0 where there is none.

    operations  in an order in which they can be done
    element     of all arrays
    """
    if not all(is_exact(operation) for operation, _ in operations):
        return 0
    steps = max((op.problem.sizes[op.iterates] for op, _ in operations if op.iterates), default=0)
    again = steps + len(operations) if steps else 1  # after as many rounds, all steps are in it
    for magnitude in range(LARGEST, 0, -1):
        known: dict[str, float] = {}
        for operation, names in [*operations] * again:
            terms = math.prod(operation.problem.sizes[dim] for dim in operation.reduced_dims)
            summed = terms if operation.reduction == "sum" else 1
            here = {tensor.name: known.get(names[tensor.name], magnitude) for tensor in operation.problem.operands}
            output, start = names[operation.output.name], abs(operation.start or 0)
            here[operation.output.name] = known.get(output, start if math.isfinite(start) else magnitude)
            known[output] = max(here[operation.output.name], summed * _magnitude(operation.expression, here))
        if max(known.values()) < 2 ** BITS[element]:
            return magnitude
    return 0


def _magnitude(expression: Expression, known: Mapping[str, float]) -> float:
    """What no value of an expression, or of a part of it, exceeds."""
    if isinstance(expression, Operand):
        return known[expression.tensor]
    if isinstance(expression, Number):
        return abs(float(expression.value))
    parts = [_magnitude(part, known) for part in expression.arguments]
    if expression.function == "mul":
        return max(math.prod(parts), *parts)
    return sum(parts) if expression.function in ("add", "sub") else max(parts)


def is_exact(operation: Operation) -> bool:
    """Whether results of whole numbers are whole numbers."""
    parts = list(parts_of(operation.expression))
    functions = {part.function for part in parts if isinstance(part, Call)}
    numbers = [part.value for part in parts if isinstance(part, Number)]
    numbers += [operation.start] if operation.start is not None and math.isfinite(operation.start) else []
    return functions <= _EXACT and all(number == int(number) for number in numbers)


def expression_text(
    expression: Expression, words: Mapping[str, str], functions: Mapping[str, str], number: Callable[[float], str]
) -> str:
    """The expression in a language.

    words      the text of each tensor's word
    functions  the text of each function, with braces for its arguments
    number     writes a number
    """
    if isinstance(expression, Operand):
        return words[expression.tensor]
    if isinstance(expression, Number):
        return number(expression.value)
    arguments = (expression_text(part, words, functions, number) for part in expression.arguments)
    return functions[expression.function].format(*arguments)


def parts_of(expression: Expression) -> Iterator[Expression]:
    """The expression, and all expressions in it."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from parts_of(argument)
