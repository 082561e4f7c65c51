"""Operations in plain loops, as C99: what emitted programs compare their outputs with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ....ir import Cascade, Expression, Operation
from ....ir.expression import unbracketed
from ....ir.iteration import components, iterative_dims
from ..lowering.loop_program import Affine, Variable
from ..parts.exactness import expression_text
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
    "acos": "acos({})",
    "acosh": "acosh({})",
    "asin": "asin({})",
    "asinh": "asinh({})",
    "atan": "atan({})",
    "atanh": "atanh({})",
    "cosh": "cosh({})",
    "sinh": "sinh({})",
    "tan": "tan({})",
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
    return f"{target} = larger({target}, {value});" if is_maximum else f"{target} += {unbracketed(value)};"


def number_text(value: float) -> str:
    """A number in C; infinite ones by their names."""
    if math.isinf(value):
        return "INFINITY" if value > 0 else "LOWEST"
    return f"(element){float(value)!r}"


def point_text(expression: Expression, words: Mapping[str, str]) -> str:
    """The expression in C, given the text of each tensor's word."""
    return expression_text(expression, words, _SPELLED, number_text)


@dataclass(frozen=True)
class Lying:
    """How a tensor lies in memory: positions of every axis, zeros that are read before the first and after the last,
    and the axes from the slowest to the fastest, where they do not stand in this order."""

    extents: tuple[int, ...]
    before: tuple[int, ...]
    is_padded: tuple[bool, ...]
    order: tuple[int, ...] | None = None


def lying(
    cascade: Cascade, operation: Operation, tensor: str, orders: Mapping[str, tuple[int, ...]] = MappingProxyType({})
) -> Lying:
    """How a tensor of a cascade lies for an operation, with the zeros that the operation reads around it.

    orders  of tensors, their axes from the slowest to the fastest, if these do not stand so
    """
    extents = cascade.extents(tensor)
    pads = [(0, 0) if tensor == operation.output.name else operation.pad(tensor, i) for i in range(len(extents))]
    return Lying(extents, tuple(low for low, _ in pads), tuple(map(any, pads)), orders.get(tensor))


def direct_lines(
    function: str,
    operation: Operation,
    layout: Mapping[str, Lying],
    step: str | None = None,
    steps: Mapping[str, int] = MappingProxyType({}),
    totals: bool = False,
) -> Iterator[str]:
    """A function that computes one operation in plain loops, from its operands into its output.

    step   the dimension of which it computes one position at a time, in an iteration: its last parameter
    steps  of tensors that have generations, how many steps make them; these lie one after the other
    totals  whether each word of a sum is summed up before the next one; else loops stand in the order of dimensions
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
    if totals:
        yield from _total_lines(operation, loop, words[output], point_text(operation.expression, words))
        yield "}"
        yield ""
        return
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


def _total_lines(operation: Operation, loop: Mapping[str, str], target: str, value: str) -> Iterator[str]:
    """Loops over the output around loops over all else."""
    problem, indent = operation.problem, "    "
    heads = {dim: f"for (int64_t {loop[dim]} = 0; {loop[dim]} < {size}; {loop[dim]}++)" for dim, size in problem.dims}
    for dim in problem.dim_names:
        if dim in problem.output.dims:
            yield f"{indent}{heads[dim]}"
            indent += "    "
    yield f"{indent}{{"
    yield f"{indent}    element total = 0;"
    inner = f"{indent}    "
    for dim in operation.reduced_dims:
        yield f"{inner}{heads[dim]}"
        inner += "    "
    yield f"{inner}total += {unbracketed(value)};"
    yield f"{indent}    {target} = total;"
    yield f"{indent}}}"


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
    for i in reversed(range(len(layout.extents)) if layout.order is None else layout.order):
        extent = layout.extents[i]
        position = Affine.of(-layout.before[i])
        for dim, coefficient in ranks[i]:
            position += Affine.of(Variable(dim, 0)).times(coefficient)
        found += position.times(stride)
        stride *= extent
        if layout.is_padded[i]:
            text = affine_text(position, dict(variables))
            inside.append(f"{text} >= 0 && {text} < {extent}")
    return affine_text(found, dict(variables)), " && ".join(inside)


def generations_of(cascade: Cascade, tensor: str) -> int:
    """How many generations of a tensor lie one after the other, the one before the first step included; 1: it has
    none."""
    producer = cascade.producers.get(tensor)
    if producer is None or not producer.iterates:
        return 1
    return producer.problem.sizes[producer.iterates] + 1


def cascade_lines(cascade: Cascade, orders: Mapping[str, tuple[int, ...]], totals: bool) -> Iterator[str]:
    """A function for each operation, and `direct(array)`, which computes all tensors, in their order in the cascade.

    orders  of tensors, their axes from the slowest to the fastest, if these do not stand so
    totals  of a single sum, whether each word is summed up before the next one
    """
    number = {name: i for i, name in enumerate(cascade.tensors)}
    steps = {name: generations_of(cascade, name) - 1 for name in number if generations_of(cascade, name) > 1}
    calls: list[str] = []
    for together in components(cascade.operations):
        iterates = any(operation.iterates for operation in together)
        dims = iterative_dims(together) if iterates else {}
        indent = "    "
        if iterates:
            size = together[0].problem.sizes[dims[together[0].name]]
            calls.append(f"    for (int64_t step = 0; step < {size}; step++) {{")
            indent += "    "
        for operation in together:
            function = f"direct{cascade.operations.index(operation)}"
            every = operation.problem.tensors
            layout = {tensor.name: lying(cascade, operation, tensor.name, orders) for tensor in every}
            yield from direct_lines(function, operation, layout, dims.get(operation.name), steps, totals)
            tensors = (*operation.problem.operands, operation.output)
            given = [*(f"array[{number[tensor.name]}]" for tensor in tensors), *(["step"] if iterates else [])]
            calls.append(f"{indent}{function}({', '.join(given)});")
        if iterates:
            calls.append("    }")
    yield "static void direct(element *const array[])"
    yield "{"
    yield from calls
    yield "}"
    yield ""
