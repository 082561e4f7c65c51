"""Operations in plain loops, as C99: what emitted programs compare their outputs with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ....ir import Cascade, Expression, Number, Operand, Operation
from ..lowering.loop_program import Affine, Variable
from .text import affine_text, c_comment, c_names

_SPELLED = {
    "abs": "magnitude({})",
    "add": "({} + {})",
    "ceil": "ceil({})",
    "div": "({} / {})",
    "equal": "(element)({} == {})",
    "erf": "erf({})",
    "exp": "exp({})",
    "floor": "floor({})",
    "floored_mod": "floored_mod({}, {})",
    "fmod": "fmod({}, {})",
    "less": "(element)({} < {})",
    "log": "log({})",
    "max": "larger({}, {})",
    "min": "smaller({}, {})",
    "mul": "({} * {})",
    "neg": "(-{})",
    "not": "(element)({} == 0)",
    "pow": "pow({}, {})",
    "relu": "larger({}, 0)",
    "rint": "rint({})",
    "rsqrt": "(1 / sqrt({}))",
    "select": "({} != 0 ? {} : {})",
    "sigmoid": "(1 / (1 + exp(-{})))",
    "single": "((element)(float)({}))",
    "sqrt": "sqrt({})",
    "sub": "({} - {})",
    "sin": "sin({})",
    "cos": "cos({})",
    "tanh": "tanh({})",
    "trunc": "trunc({})",
    "quotient": "quotient({}, {})",
    "whole_fmod": "whole_fmod({}, {})",
    "whole_power": "whole_power({}, {}, {}, {})",
    "whole_product": "whole_product({}, {}, {}, {})",
    "whole_remainder": "whole_remainder({}, {})",
    "wrapped": "wrapped({}, {}, {})",
}


# Those that ir/expression.py does not list are no functions of cascades: models apply them to complete words.


def added(target: str, value: str, is_maximum: bool) -> str:
    """One more point of a sum or of a maximum."""
    return f"{target} = larger({target}, {value});" if is_maximum else f"{target} += {value};"


def number_text(value: float) -> str:
    """A number in C; infinite ones by their names."""
    if math.isinf(value):
        return "INFINITY" if value > 0 else "LOWEST"
    return f"(element){float(value)!r}"


def point_text(expression: Expression, words: Mapping[str, str]) -> str:
    """The expression in C, given the text of each tensor's word."""
    if isinstance(expression, Operand):
        return words[expression.tensor]
    if isinstance(expression, Number):
        return number_text(expression.value)
    return _SPELLED[expression.function].format(*(point_text(part, words) for part in expression.arguments))


@dataclass(frozen=True)
class Lying:
    """How a tensor lies in memory: positions of every axis, slowest first, and zeros that are read before the first
    and after the last."""

    extents: tuple[int, ...]
    before: tuple[int, ...]
    is_padded: tuple[bool, ...]


def lying(cascade: Cascade, operation: Operation, tensor: str) -> Lying:
    """How a tensor of a cascade lies for an operation, with the zeros that the operation reads around it."""
    extents = cascade.extents(tensor)
    pads = [(0, 0) if tensor == operation.output.name else operation.pad(tensor, i) for i in range(len(extents))]
    return Lying(extents, tuple(low for low, _ in pads), tuple(map(any, pads)))


def direct_lines(
    function: str,
    operation: Operation,
    layout: Mapping[str, Lying],
    step: str | None = None,
    steps: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[str]:
    """A function that computes one operation in plain loops, from its operands into its output.

    step   the dimension of which it computes one position at a time, in an iteration: its last parameter
    steps  of tensors that have generations, how many steps make them; these lie one after the other
    """
    problem, names = operation.problem, c_names()
    names.unique("step")
    data = {t.name: names.unique(t.name) for t in problem.tensors}
    loop = {dim: names.unique(dim) for dim in problem.dim_names}
    variables = {Variable(dim, 0): name for dim, name in loop.items()}
    parameters = [f"const element *restrict {data[t.name]}" for t in problem.operands]
    output = problem.output.name
    words = {}
    for tensor in problem.operands:
        index, inside = _place(operation, tensor.name, layout[tensor.name], variables)
        index = _in_generation(operation, tensor.name, layout[tensor.name], index, loop, steps)
        word = f"{data[tensor.name]}[{index}]"
        words[tensor.name] = f"({inside} ? {word} : 0)" if inside else word
    place = _place(operation, output, layout[output], variables)[0]
    words[output] = f"{data[output]}[{_in_generation(operation, output, layout[output], place, loop, steps)}]"
    iterates, elements = operation.iterates, math.prod(layout[output].extents)
    target = f"{data[output]}[{place} + {elements} * ({loop[iterates]} + 1)]" if iterates else words[output]
    given = [*parameters, f"element *restrict {data[output]}", *(["int64_t step"] if step else [])]
    begin = -math.inf if operation.reduction == "max" else operation.start or 0
    yield from c_comment(str(operation))
    yield f"static void {function}({', '.join(given)})"
    yield "{"
    indent = "    "
    if step:
        yield f"{indent}if (step == 0)"
        indent += "    "
    yield f"{indent}for (int64_t at = 0; at < {elements}; at++)"
    yield f"{indent}    {data[output]}[at] = {number_text(begin) if begin else '0'};"
    indent = "    "
    for dim, size in problem.dims:
        begun, end = ("step", "step + 1") if dim == step else ("0", str(size))
        yield f"{indent}for (int64_t {loop[dim]} = {begun}; {loop[dim]} < {end}; {loop[dim]}++)"
        indent += "    "
    value = point_text(operation.expression, words)
    yield f"{indent}{f'{target} = {value};' if iterates else added(target, value, operation.reduction == 'max')}"
    yield "}"
    yield ""


def _in_generation(
    operation: Operation,
    tensor: str,
    layout: Lying,
    index: str,
    loop: Mapping[str, str],
    steps: Mapping[str, int],
) -> str:
    """Where a word is of the generation that an operation reads; of its own output, the one before."""
    read = operation.generation(tensor)
    if read is None or tensor not in steps:
        return index
    after = read.after and tensor != operation.output.name
    number = str(steps[tensor]) if read.dim is None else f"({loop[read.dim]} + 1)" if after else loop[read.dim]
    return f"{index} + {math.prod(layout.extents)} * {number}"


def _place(operation: Operation, tensor: str, layout: Lying, variables: Mapping[Variable, str]) -> tuple[str, str]:
    """Where a word of a tensor is in memory, and whether it is there at all: nothing, if it always is."""
    ranks = operation.problem.tensor(tensor).ranks
    found, stride, inside = Affine(), 1, []
    for i, extent in reversed(list(enumerate(layout.extents))):
        position = Affine.of(-layout.before[i])
        for dim, coefficient in ranks[i]:
            position += Affine.of(Variable(dim, 0)).times(coefficient)
        found += position.times(stride)
        stride *= extent
        if layout.is_padded[i]:
            text = affine_text(position, dict(variables))
            inside.append(f"{text} >= 0 && {text} < {extent}")
    return affine_text(found, dict(variables)), " && ".join(inside)
