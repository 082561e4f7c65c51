"""A fused mapping as one self-contained C99 file: the tree, the operations one after the other, and a check of both."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...arch import Architecture
from ...ir import Cascade, Expression, FusedMapping, MappingError, Number, Operand, Operation
from .c_runtime import BUFFERS, CHECK, CLOCKS, HEAD, LEAST
from .c_schedule import CSchedule
from .c_text import affine_text, c_comment, c_names
from .c_tree_runtime import FUNCTIONS, TREE_MAIN
from .loop_program import Affine, Compute, Drain, Fill, Statement, Variable, Zero
from .tree_lowering import TreeProgram, buffers_of, loops_of, lower_tree
from .tree_program.points import is_exact

LARGEST = 4
"""Magnitude of the whole numbers that a program checks itself with, where all its results stay exact."""
EXACT_BITS = 53

_SPELLED = {
    "abs": "magnitude({})",
    "add": "({} + {})",
    "div": "({} / {})",
    "exp": "exp({})",
    "log": "log({})",
    "max": "larger({}, {})",
    "min": "smaller({}, {})",
    "mul": "({} * {})",
    "neg": "(-{})",
    "relu": "larger({}, 0)",
    "rsqrt": "(1 / sqrt({}))",
    "sigmoid": "(1 / (1 + exp(-{})))",
    "sqrt": "sqrt({})",
    "sub": "({} - {})",
    "tanh": "tanh({})",
}


def emit_c_tree(fused: FusedMapping, arch: Architecture) -> str:
    """The text of a C99 file with `run(inputs..., outputs...)`, which executes the tree on doubles, and a `main` that
    checks it against the operations done one after the other.

    Raises MappingError when a node or loop stands where the architecture has no place for it, and for trees whose
    programs cannot be written yet.
    """
    _check_maxima(fused.cascade)
    program = lower_tree(fused, arch)
    parts = [
        _header_lines(fused, arch),
        [HEAD.replace("#include <stdint.h>", "#include <math.h>\n#include <stdint.h>"), "typedef double element;"],
        [BUFFERS, LEAST, FUNCTIONS],
        c_comment("The tree. Loop variables are first indices of tiles; buffers begin at the tile that they hold."),
        CTree(program).function_lines(),
        [CHECK],
        c_comment("The same operations, one after the other: what the outputs of run() are compared with."),
        *(_direct_lines(fused.cascade, operation) for operation in fused.cascade),
        _constant_lines(program),
        [CLOCKS, TREE_MAIN],
    ]
    return "\n".join(line for part in parts for line in part)


def _check_maxima(cascade: Cascade) -> None:
    """Zeros around a tensor, and what is below all numbers where its maxima begin, cannot stand in one array yet."""
    for operation in cascade:
        tensor, readers = operation.output.name, cascade.consumers.get(operation.output.name, ())
        pads = [reader.pad(tensor, i) for reader in readers for i in range(len(operation.output.ranks))]
        if operation.reduction == "max" and any(any(pad) for pad in pads):
            raise MappingError(f"programs in C of zeros around maxima cannot be written yet: {tensor}")


class CTree(CSchedule):
    """Names for everything in `run`, and its text."""

    def __init__(self, program: TreeProgram) -> None:
        names = c_names()
        self.tree = program
        self.names: dict[Variable, str] = {}
        for loop in loops_of(program.body):
            name = names.unique(f"{loop.variable.dim}{loop.variable.number}")
            self.names[loop.variable] = name
            if loop.count:
                self.names[loop.count] = names.unique(f"{name}_count")
        arrays = (*program.inputs, *program.outputs)
        buffers = list(buffers_of(program.body))
        self.data = {a: names.unique(f"{a.tensor.name}_data") for a in arrays}
        self.array = {a: names.unique(a.tensor.name) for a in arrays}
        self.array |= {b: names.unique(f"{b.memory}_{b.tensor.name}") for b in buffers}
        deepest = max(len(a.shape) for a in (*arrays, *buffers))
        self.copy_index = [names.unique(f"i{axis}") for axis in range(deepest)]
        self.parallel = None
        self.unrolled = set()
        self.maxima = {op.output.name for op in program.cascade if op.reduction == "max"}

    def function_lines(self) -> Iterator[str]:
        program = self.tree
        given = [f"const element *restrict {self.data[a]}" for a in program.inputs]
        given += [f"element *restrict {self.data[a]}" for a in program.outputs]
        yield f"void run({', '.join(given)})"
        yield "{"
        for array in (*program.inputs, *program.outputs):
            yield from self.pointer_lines(array, "const " if array in program.inputs else "", self.data[array], "    ")
        yield from self.scope_lines(program.body, "    ")
        yield "}"

    def body_lines(self, body: tuple[Statement, ...], indent: str) -> Iterator[str]:
        for statement in body:
            if isinstance(statement, Compute):
                yield f"{indent}{self.combined(statement)}"
            else:
                yield from super().body_lines((statement,), indent)

    def combined(self, statement: Compute) -> str:
        """One point of an operation."""
        operation, target = statement.operation, self.access(statement.target)
        words = {
            t.name: self.access(access)
            for t, access in zip(operation.problem.operands, statement.operands, strict=True)
        }
        return _added(target, point_text(operation.expression, words), operation.output.name in self.maxima)

    def zero_lines(self, statement: Zero, indent: str) -> Iterator[str]:
        target = self.element(statement.array, self._copied(statement.extents))
        value = "LOWEST" if statement.array.tensor.name in self.maxima else "0"
        yield from self._box_lines(statement.array, statement.extents, f"{target} = {value};", indent)

    def copied_text(self, statement: Fill | Drain, inner: str, outer: str) -> str:
        if isinstance(statement, Drain):
            return _added(outer, inner, statement.buffer.tensor.name in self.maxima)
        return f"{inner} = {outer};"


def _added(target: str, value: str, is_maximum: bool) -> str:
    return f"{target} = larger({target}, {value});" if is_maximum else f"{target} += {value};"


def point_text(expression: Expression, words: dict[str, str]) -> str:
    """The expression in C, given the text of each tensor's word."""
    if isinstance(expression, Operand):
        return words[expression.tensor]
    if isinstance(expression, Number):
        return repr(float(expression.value))
    return _SPELLED[expression.function].format(*(point_text(part, words) for part in expression.arguments))


def _header_lines(fused: FusedMapping, arch: Architecture) -> Iterator[str]:
    yield from c_comment("A cascade of operations on one accelerator, as a tree in C99. Written by tilewright.")
    yield from c_comment("    cc -O3 -march=native tree.c -lm -o tree && ./tree")
    yield ""
    yield from c_comment(f"Cascade       {fused.cascade.name}")
    for line in str(fused.cascade).split("\n"):
        yield from c_comment(f"              {line}")
    yield from c_comment(f"Architecture  {arch.name}")
    yield from c_comment("Tree")
    for line in str(fused).split("\n"):
        yield from c_comment(f"    {line}")


# ---- the operations one after the other --------------------------------------------------------------------


def _direct_lines(cascade: Cascade, operation: Operation) -> Iterator[str]:
    """A function that computes one operation in plain loops."""
    problem, names = operation.problem, c_names()
    function = f"direct{cascade.operations.index(operation)}"
    data = {t.name: names.unique(t.name) for t in problem.tensors}
    loop = {dim: names.unique(dim) for dim in problem.dim_names}
    variables = {Variable(dim, 0): name for dim, name in loop.items()}
    parameters = [f"const element *restrict {data[t.name]}" for t in problem.operands]
    output = problem.output.name
    words = {}
    for tensor in problem.operands:
        before = [operation.pad(tensor.name, i)[0] for i in range(len(tensor.ranks))]
        index, inside = _place(cascade, operation, tensor.name, before, variables)
        word = f"{data[tensor.name]}[{index}]"
        words[tensor.name] = f"({inside} ? {word} : 0)" if inside else word
    target = f"{data[output]}[{_place(cascade, operation, output, [0] * len(problem.output.ranks), variables)[0]}]"
    is_maximum = operation.reduction == "max"
    yield from c_comment(str(operation))
    yield f"static void {function}({', '.join([*parameters, f'element *restrict {data[output]}'])})"
    yield "{"
    yield f"    for (int64_t at = 0; at < {math.prod(cascade.extents(output))}; at++)"
    yield f"        {data[output]}[at] = {'LOWEST' if is_maximum else '0'};"
    indent = "    "
    for dim, size in problem.dims:
        yield f"{indent}for (int64_t {loop[dim]} = 0; {loop[dim]} < {size}; {loop[dim]}++)"
        indent += "    "
    yield f"{indent}{_added(target, point_text(operation.expression, words), is_maximum)}"
    yield "}"
    yield ""


def _place(
    cascade: Cascade, operation: Operation, tensor: str, before: list[int], variables: dict[Variable, str]
) -> tuple[str, str]:
    """Where a word of a tensor is in memory, and whether it is there at all: nothing, if it always is."""
    found, stride, inside = Affine(), 1, []
    ranks = operation.problem.tensor(tensor).ranks
    for i, extent in reversed(list(enumerate(cascade.extents(tensor)))):
        position = Affine.of(-before[i])
        for dim, coefficient in ranks[i]:
            position += Affine.of(Variable(dim, 0)).times(coefficient)
        found += position.times(stride)
        stride *= extent
        if any(operation.pad(tensor, i)) and tensor != operation.output.name:
            text = affine_text(position, variables)
            inside.append(f"{text} >= 0 && {text} < {extent}")
    return affine_text(found, variables), " && ".join(inside)


# ---- the check ---------------------------------------------------------------------------------------------


def _constant_lines(program: TreeProgram) -> Iterator[str]:
    cascade = program.cascade
    number = {name: i for i, name in enumerate(cascade.tensors)}
    largest = _largest(cascade)
    elements = ", ".join(f"INT64_C({math.prod(cascade.extents(name))})" for name in cascade.tensors)
    outputs = [array.tensor.name for array in program.outputs]
    yield f"#define TENSORS {len(number)}"
    yield f"#define OUTPUTS {len(outputs)}"
    yield f"#define EXACT {int(largest > 0)}"
    yield f"#define LARGEST {largest or 1}"
    yield f"static const int64_t ELEMENTS[TENSORS] = {{{elements}}};"
    yield f"static const int IS_INPUT[TENSORS] = {{{', '.join(str(int(t not in cascade.producers)) for t in number)}}};"
    yield f"static const int OUTPUT[OUTPUTS] = {{{', '.join(str(number[name]) for name in outputs)}}};"
    given = [f"array[{number[a.tensor.name]}]" for a in program.inputs]
    given += [f"found[{i}]" for i in range(len(outputs))]
    yield f"#define RUN(array, found) run({', '.join(f'({one[:5]}){one[5:]}' for one in given)})"
    calls = []
    for i, operation in enumerate(cascade):
        tensors = (*operation.problem.operands, operation.output)
        calls.append(f"direct{i}({', '.join(f'(array)[{number[t.name]}]' for t in tensors)})")
    yield f"#define DIRECT(array) ({', '.join(calls)})"


def _largest(cascade: Cascade) -> int:
    """The largest magnitude of inputs with which all results are exact; 0 where there is none."""
    if not all(is_exact(operation) for operation in cascade):
        return 0
    for magnitude in range(LARGEST, 0, -1):
        known = {name: float(magnitude) for name in cascade.tensors if name not in cascade.producers}
        for operation in cascade:
            terms = math.prod(operation.problem.sizes[dim] for dim in operation.reduced_dims)
            summed = terms if operation.reduction == "sum" else 1
            known[operation.output.name] = summed * _magnitude(operation.expression, known)
        if max(known.values()) < 2**EXACT_BITS:
            return magnitude
    return 0


def _magnitude(expression: Expression, known: dict[str, float]) -> float:
    """What no value of an expression, or of a part of it, exceeds."""
    if isinstance(expression, Operand):
        return known[expression.tensor]
    if isinstance(expression, Number):
        return abs(float(expression.value))
    parts = [_magnitude(part, known) for part in expression.arguments]
    if expression.function == "mul":
        return max(math.prod(parts), *parts)
    return sum(parts) if expression.function in ("add", "sub") else max(parts)
