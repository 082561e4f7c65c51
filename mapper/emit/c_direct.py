"""Operations in plain loops, as C99: what emitted programs compare their outputs with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...ir import Cascade, Expression, Number, Operand, Operation
from .c_text import affine_text, c_comment, c_names
from .loop_program import Affine, Variable

_SPELLED = {
    "abs": "magnitude({})",
    "add": "({} + {})",
    "ceil": "ceil({})",
    "div": "({} / {})",
    "erf": "erf({})",
    "exp": "exp({})",
    "floor": "floor({})",
    "log": "log({})",
    "max": "larger({}, {})",
    "min": "smaller({}, {})",
    "mul": "({} * {})",
    "neg": "(-{})",
    "pow": "pow({}, {})",
    "relu": "larger({}, 0)",
    "rint": "rint({})",
    "rsqrt": "(1 / sqrt({}))",
    "sigmoid": "(1 / (1 + exp(-{})))",
    "single": "((element)(float)({}))",
    "sqrt": "sqrt({})",
    "sub": "({} - {})",
    "tanh": "tanh({})",
    "trunc": "trunc({})",
}


# ceil, floor, pow, rint, single and trunc are no functions of cascades: models apply them to words that are complete.


def added(target: str, value: str, is_maximum: bool) -> str:
    """One more point of a sum or of a maximum."""
    return f"{target} = larger({target}, {value});" if is_maximum else f"{target} += {value};"


def point_text(expression: Expression, words: Mapping[str, str]) -> str:
    """The expression in C, given the text of each tensor's word."""
    if isinstance(expression, Operand):
        return words[expression.tensor]
    if isinstance(expression, Number):
        return f"(element){float(expression.value)!r}"
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


def direct_lines(function: str, operation: Operation, layout: Mapping[str, Lying]) -> Iterator[str]:
    """A function that computes one operation in plain loops, from its operands into its output."""
    problem, names = operation.problem, c_names()
    data = {t.name: names.unique(t.name) for t in problem.tensors}
    loop = {dim: names.unique(dim) for dim in problem.dim_names}
    variables = {Variable(dim, 0): name for dim, name in loop.items()}
    parameters = [f"const element *restrict {data[t.name]}" for t in problem.operands]
    output = problem.output.name
    words = {}
    for tensor in problem.operands:
        index, inside = _place(operation, tensor.name, layout[tensor.name], variables)
        word = f"{data[tensor.name]}[{index}]"
        words[tensor.name] = f"({inside} ? {word} : 0)" if inside else word
    target = f"{data[output]}[{_place(operation, output, layout[output], variables)[0]}]"
    is_maximum = operation.reduction == "max"
    yield from c_comment(str(operation))
    yield f"static void {function}({', '.join([*parameters, f'element *restrict {data[output]}'])})"
    yield "{"
    yield f"    for (int64_t at = 0; at < {math.prod(layout[output].extents)}; at++)"
    yield f"        {data[output]}[at] = {'LOWEST' if is_maximum else '0'};"
    indent = "    "
    for dim, size in problem.dims:
        yield f"{indent}for (int64_t {loop[dim]} = 0; {loop[dim]} < {size}; {loop[dim]}++)"
        indent += "    "
    yield f"{indent}{added(target, point_text(operation.expression, words), is_maximum)}"
    yield "}"
    yield ""


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
