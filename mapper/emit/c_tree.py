"""A fused mapping as one self-contained C99 file: the tree, the operations one after the other, and a check of both."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...arch import Architecture
from ...ir import Cascade, FusedMapping
from .bands import unrolled
from .c_direct import added, direct_lines, lying, point_text
from .c_runtime import BUFFERS, CHECK, CLOCKS, HEAD, LEAST
from .c_schedule import LARGEST_UNROLLED, SHORTEST_VECTOR, CSchedule, plus
from .c_text import c_comment, c_names
from .c_tree_runtime import FUNCTIONS, TREE_MAIN
from .exactness import largest_exact
from .loop_program import Array, Compute, Drain, Fill, For, Lowest, Statement, Variable
from .tree_lowering import TreeProgram, buffers_of, loops_of, lower_tree


def emit_c_tree(fused: FusedMapping, arch: Architecture) -> str:
    """The text of a C99 file with `run(inputs..., outputs...)`, which executes the tree on doubles, and a `main` that
    checks it against the operations done one after the other.

    Raises MappingError when a node or loop stands where the architecture has no place for it, and for trees whose
    programs cannot be written yet.
    """
    program = lower_tree(fused, arch)
    parts = [
        _header_lines(fused, arch),
        [HEAD.replace("#include <stdint.h>", "#include <math.h>\n#include <stdint.h>"), "typedef double element;"],
        [BUFFERS, LEAST, FUNCTIONS],
        c_comment("The tree. Loop variables are first indices of tiles; buffers begin at the tile that they hold."),
        CTree(program).function_lines(),
        [CHECK],
        c_comment("The same operations, one after the other: what the outputs of run() are compared with."),
        *(_direct_lines(fused.cascade, number) for number in range(len(fused.cascade.operations))),
        _constant_lines(program),
        [CLOCKS, TREE_MAIN],
    ]
    return "\n".join(line for part in parts for line in part)


class CTree(CSchedule):
    """Names for everything in `run`, and its text."""

    def __init__(self, program: TreeProgram) -> None:
        names = self.fresh = c_names()
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
        self.unrolled = {loop.variable for loop in unrolled(program.body, LARGEST_UNROLLED)}
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
            elif isinstance(statement, Lowest):
                yield from self.lowest_lines(statement, indent)
            else:
                yield from super().body_lines((statement,), indent)

    def loop_lines(self, loop: For, indent: str) -> Iterator[str]:
        """A loop; the innermost one of a sum as one that compilers turn into vector instructions."""
        statement = loop.body[0]
        if len(loop.body) > 1 or not isinstance(statement, Compute) or statement.operation.output.name in self.maxima:
            yield from super().loop_lines(loop, indent)
            return
        if loop.axis:
            yield from c_comment(f"parallel on {loop.axis}", indent)
        hint = loop.trips >= SHORTEST_VECTOR
        if any(v == loop.variable for part in statement.target.index for v, _ in part.terms):
            if hint:
                yield f"{indent}#pragma omp simd"
            yield f"{indent}{self.head(loop)}"
            yield f"{indent}    {self.combined(statement)}"
            return
        yield f"{indent}{{"
        yield f"{indent}    element sum = 0;"
        if hint:
            yield f"{indent}    #pragma omp simd reduction(+ : sum)"
        yield f"{indent}    {self.head(loop)}"
        yield f"{indent}        sum += {self.value(statement)};"
        yield f"{indent}    {self.access(statement.target)} += sum;"
        yield f"{indent}}}"

    def element(self, array: Array, index: list[str]) -> str:
        """An element; where a tensor has none, which is asked for around it, 0."""
        found = super().element(array, index)
        if not array.edges:
            return found
        inside = " && ".join(f"within({index[axis]}, {array.shape[axis]})" for axis in sorted(array.edges))
        return f"({inside} ? {found} : 0)"

    def combined(self, statement: Compute) -> str:
        """One point of an operation."""
        is_maximum = statement.operation.output.name in self.maxima
        return added(self.access(statement.target), self.value(statement), is_maximum)

    def value(self, statement: Compute) -> str:
        """What an operation makes of its operands at a point."""
        operands = zip(statement.operation.problem.operands, statement.operands, strict=True)
        words = {tensor.name: self.access(access) for tensor, access in operands}
        return point_text(statement.operation.expression, words)

    def lowest_lines(self, statement: Lowest, indent: str) -> Iterator[str]:
        """Loops over words where maxima begin."""
        index = self._copied(statement.extents)
        there = [plus(self.text(at), i) for at, i in zip(statement.at, index, strict=True)]
        action = f"{self.element(statement.array, there)} = LOWEST;"
        yield from self._box_lines(statement.array, statement.extents, action, indent)

    def copied_text(self, statement: Fill | Drain, inner: str, outer: str) -> str:
        if isinstance(statement, Drain):
            return added(outer, inner, statement.buffer.tensor.name in self.maxima)
        return f"{inner} = {outer};"


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


# ---- the check ---------------------------------------------------------------------------------------------


def _direct_lines(cascade: Cascade, number: int) -> Iterator[str]:
    """A function that computes one operation of the cascade in plain loops."""
    operation = cascade.operations[number]
    layout = {tensor.name: lying(cascade, operation, tensor.name) for tensor in operation.problem.tensors}
    return direct_lines(f"direct{number}", operation, layout)


def _constant_lines(program: TreeProgram) -> Iterator[str]:
    cascade = program.cascade
    number = {name: i for i, name in enumerate(cascade.tensors)}
    largest = largest_exact([(operation, {t: t for t in cascade.tensors}) for operation in cascade])
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
